package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/operate/target"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/relay/position"
)

// cursorSet is one run of the command.
type cursorSet struct {
	common
	reason  string
	release bool
	resend  bool
	timeout time.Duration
}

// moved is what it did.
type moved struct {
	Destination string `json:"destination"`
	Old         stored `json:"old"`
	New         stored `json:"new"`
	Reason      string `json:"reason"`
	Released    string `json:"released,omitempty"` // ip:port of the owner that was asked to let go
	Means       string `json:"means"`
}

func (p *Program) cursorSetCommand() *cobra.Command {
	c := &cursorSet{common: common{Program: p}}
	cmd := &cobra.Command{
		Use:   "set TARGET",
		Short: "Move the stored position of a destination",
		Long: `Move the stored position. TARGET is one of

  FILE:OFFSET   the end of the transaction at or before it
  a GTID set    in the server's own text form: what was executed before
  earliest      the beginning of the oldest binlog file that the source has
  latest        the end of the source's binlog
  a time        2026-11-30T09:00:00Z, or without a zone in that of this machine:
                before the first transaction from then on
  record        with exactly-once: where readers are, as the position topic says

The source must hold it. The position is written only if nobody has moved it
meanwhile and no node owns the destination; with --release the owner is asked to
let go first, and no other node starts before the position is set. Without
ZooKeeper nobody can be asked: a node that runs finds out when it next saves, ends
its term and starts again at the new position. Old and new position and the reason
are kept: see cursor show.

Back sends changes again; forward leaves changes out.

With exactly-once the position record decides where the next term goes on: it is
moved with the cursor, and whoever wrote it is fenced, also a node that another
ZooKeeper elected: "cursor set record" takes a destination over from there. Going
back must be meant: --resend.`,
		Example: `  canal-relay cursor set --conf conf --destination example latest --release --reason "rebuilt from a dump"
  canal-relay cursor set --conf conf binlog.000004:157 --reason "broken row"
  canal-relay cursor set --conf conf 2026-11-30T09:00:00Z --release --reason "replay the morning"
  canal-relay cursor set --conf conf record --release --reason "ZooKeeper was set up anew"`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.FixedCompletions([]string{"earliest", "latest", "record"}, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.flags(cmd, oneDestination)
	cmd.ValidArgs = []string{"earliest", "latest", "record"}
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for those who look later (required)")
	cmd.Flags().BoolVar(&c.release, "release", false, "ask the owner to let go first")
	cmd.Flags().BoolVar(&c.resend, "resend", false, "with exactly-once: go there although readers have what follows, or it cannot be told")
	cmd.Flags().DurationVar(&c.timeout, "timeout", 30*time.Second, "how long to wait for the owner to let go")
	return cmd
}

func (c *cursorSet) run(ctx context.Context, text string) error {
	to, err := target.Parse(text)
	switch {
	case err != nil:
		return exit.Usage(err)
	case strings.TrimSpace(c.reason) == "":
		return exit.Usage(errors.New("--reason: say why, for those who look later"))
	case c.timeout <= 0:
		return exit.Usage(fmt.Errorf("--timeout %v: choose more than 0", c.timeout))
	}
	node, i, err := c.one(ctx)
	if err != nil {
		return err
	}
	if c.release && node.ZooKeeper == "" {
		return exit.Failed(fmt.Errorf("release %s: %w", i.Name, ha.ErrStatic))
	}
	if to.Record && i.ExactlyOnce == nil {
		return exit.Usage(fmt.Errorf("%s delivers at least once: there is no record", i.Name))
	}
	var p position.Position // zero: wherever readers are by then
	if to.Record {
		err = c.recorded(ctx, i)
	} else {
		p, err = to.Locate(ctx, i.ForTail().Source, c.log())
	}
	if err != nil {
		return exit.Failed(fmt.Errorf("%s as a position of %s: %w", text, i.Name, err))
	}
	set := c.set
	if i.ExactlyOnce != nil {
		set = c.setOnce
	}
	made, err := set(ctx, node, i, p)
	if errors.Is(err, zookeeper.ErrOwned) && !c.release {
		err = fmt.Errorf("%w: stop it, or let it be asked with --release", err)
	}
	if err != nil {
		return exit.Failed(err)
	}
	return c.tell(i, made)
}

func (c *cursorSet) tell(i *config.Instance, made change) error {
	show := func(p position.Position) stored { return store(position.Saved{Position: p}, position.State{}, nil) }
	done := moved{Destination: i.Name, Old: show(made.was), New: show(made.is), Reason: c.reason, Released: made.from.Address, Means: meaning(made.was, made.is)}
	if c.json {
		return c.printJSON(done)
	}
	fmt.Fprintf(c.Stdout, "%s: was %s\n%s: is  %s\n", i.Name, done.Old, i.Name, done.New)
	if done.Released != "" {
		fmt.Fprintf(c.Stdout, "%s: %s has let go\n", i.Name, done.Released)
	}
	_, err := fmt.Fprintf(c.Stdout, "%s: %s\n", i.Name, done.Means)
	return err
}

// change is what was done.
type change struct {
	was, is position.Position
	from    zookeeper.Owner // who was asked to let go
}

// set writes the position to where nodes look for it.
func (c *cursorSet) set(ctx context.Context, node *config.Node, i *config.Instance, p position.Position) (change, error) {
	if node.ZooKeeper == "" {
		old, err := position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, "").Set(ctx, p, c.reason)
		return change{was: old, is: p}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	m, err := zookeeper.SetCursor(ctx, c.ZooKeeper(node).Config, i.Name,
		zookeeper.Move{To: p, Reason: c.reason, GTIDOn: i.Relay.GTID, Release: c.release})
	return change{was: m.Old, is: p, from: m.From}, err
}

// meaning says what a move does to the changes between the two positions.
func meaning(old, to position.Position) string {
	ahead, comparable := to.Covers(old)
	back, _ := old.Covers(to)
	switch {
	case old.IsZero():
		return "there was no position before"
	case !comparable:
		return "the two positions cannot be compared"
	case ahead && back:
		return "that is where it was"
	case ahead:
		return "forward: the changes between the two are not sent"
	}
	return "back: the changes between the two are sent again"
}
