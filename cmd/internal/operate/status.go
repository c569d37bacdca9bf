package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/kept"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/relay/position"
)

// status is one run of the command.
type status struct{ common }

// shown is a destination as status and cursor print it.
type shown struct {
	Destination string   `json:"destination"`
	Election    string   `json:"election"` // zookeeper, or static
	Configured  bool     `json:"configured"`
	Owner       string   `json:"owner,omitempty"` // ip:port
	Epoch       int64    `json:"epoch,omitempty"`
	Leaving     bool     `json:"leaving,omitempty"` // the owner was asked to let go
	Standbys    []string `json:"standbys,omitempty"`
	LazyNodes   []string `json:"lazyNodes,omitempty"` // they know it, and will not take over
	Lazy        bool     `json:"lazy,omitempty"`      // by this configuration

	Paused *zookeeper.Pause `json:"paused,omitempty"`
	Kept   *kept.Kept       `json:"kept,omitempty"` // by the source, where it is paused
	stored
	Skip      *position.Skip `json:"skip,omitempty"`      // an order that was not carried out yet
	SkipError string         `json:"skipError,omitempty"` // why the order cannot be read
	Record    *recorded      `json:"record,omitempty"`    // of exactly-once
}

// stored is a position as JSON.
type stored struct {
	File       string          `json:"file,omitempty"`
	Offset     uint64          `json:"offset,omitempty"`
	GTIDs      string          `json:"gtids,omitempty"`
	Time       *time.Time      `json:"time,omitempty"` // of the transaction that ends there
	ServerID   uint32          `json:"serverId,omitempty"`
	ServerUUID string          `json:"serverUuid,omitempty"`
	Source     string          `json:"source,omitempty"`   // as the cursor names it
	Foreign    bool            `json:"foreign,omitempty"`  // Canal or another tool wrote it
	Delivery   string          `json:"delivery,omitempty"` // of who wrote the cursor: exactly-once, or at least once when empty
	Routing    string          `json:"routing,omitempty"`  // hash of the routing in force
	Prepared   []position.XA   `json:"prepared,omitempty"` // undecided XA transactions
	Past       []position.Past `json:"past,omitempty"`     // earlier positions, newest first
	Error      string          `json:"error,omitempty"`    // why the position cannot be told

	saved position.Saved
}

func (p *Program) statusCommand() *cobra.Command {
	s := &status{common{Program: p}}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every destination: who owns it, who stands by, and its position",
		Long: `Show every destination of the ZooKeeper tree, whether this configuration names
it or not: its owner, its standbys, the stored position and the time of the last
transaction before it. Without ZooKeeper the positions come from meta.dat, and
nobody knows who is at work. With exactly-once RECORD is what readers have, as the
position topic says, and which of the two the next term goes on from.`,
		Example: "  canal-relay status --conf conf\n  canal-relay status --conf conf --destination example --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	s.flags(cmd, "show this destination only")
	return cmd
}

func (s *status) run(ctx context.Context) error {
	node, err := s.load(ctx)
	if err != nil {
		return err
	}
	var chosen []string
	if s.destination != "" {
		chosen = []string{s.destination}
	}
	all, err := s.look(ctx, node, chosen...)
	if err != nil {
		return exit.Failed(err)
	}
	for i := range all {
		all[i].Past = nil // cursor show has them
		if to := node.Instance(all[i].Destination); all[i].Paused != nil && to != nil {
			k := kept.Of(ctx, to, all[i].saved.Position)
			all[i].Kept = &k
		}
	}
	if s.json {
		return s.printJSON(all)
	}
	return s.print(all)
}

// look asks ZooKeeper, or reads meta.dat, for some destinations or for all, and
// Kafka for those of exactly-once.
func (c *common) look(ctx context.Context, node *config.Node, destinations ...string) ([]shown, error) {
	ask := c.lookElected
	if node.ZooKeeper == "" {
		ask = lookStatic
	}
	all, err := ask(ctx, node, destinations)
	if err == nil {
		records(ctx, node, all)
	}
	return all, err
}

func (c *common) lookElected(ctx context.Context, node *config.Node, destinations []string) ([]shown, error) {
	ctx, cancel := ask(ctx)
	defer cancel()
	seen, err := zookeeper.Survey(ctx, c.ZooKeeper(node).Config, destinations...)
	if err != nil {
		return nil, err
	}
	all := make([]shown, len(seen))
	for i, d := range seen {
		if len(destinations) > 0 && node.Instance(d.Name) == nil && d.Owner.Epoch == 0 && len(d.Nodes) == 0 && errors.Is(d.Err, position.ErrNone) {
			return nil, fmt.Errorf("neither the tree at %s nor the configuration knows a destination %q", node.ZooKeeper, d.Name)
		}
		all[i] = shown{Destination: d.Name, Election: "zookeeper", Configured: node.Instance(d.Name) != nil, Owner: d.Owner.Address,
			Epoch: d.Owner.Epoch, Leaving: d.Owner.Leaving, Standbys: d.Standbys(), LazyNodes: d.Lazy, Lazy: lazy(node, d.Name), Paused: d.Pause, stored: store(d.Saved, d.State, d.Err)}
		all[i].Skip = d.Order
		if d.OrderErr != nil {
			all[i].SkipError = d.OrderErr.Error()
		}
		if d.Owner.Epoch != 0 && d.Owner.Address == "" {
			all[i].Owner = "unknown: the running node cannot be read"
		}
	}
	for _, name := range names(node) { // those that no node has shown yet
		known := func(d shown) bool { return d.Destination == name }
		if len(destinations) == 0 && !slices.ContainsFunc(all, known) {
			all = append(all, shown{Destination: name, Election: "zookeeper", Configured: true, Lazy: lazy(node, name)})
		}
	}
	return all, nil
}

func lazy(node *config.Node, name string) bool {
	i := node.Instance(name)
	return i != nil && i.Lazy
}

func lookStatic(ctx context.Context, node *config.Node, destinations []string) ([]shown, error) {
	if len(destinations) == 0 {
		destinations = names(node)
	}
	var all []shown
	for _, d := range destinations {
		i, err := Choose(node, d)
		if err != nil {
			return nil, err
		}
		f := position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, "")
		saved, err := f.Load(ctx)
		all = append(all, shown{Destination: i.Name, Election: "static", Configured: true, Lazy: i.Lazy, stored: store(saved, f.State(), err)})
	}
	return all, nil
}

func store(saved position.Saved, state position.State, err error) stored {
	p := saved.Position
	s := stored{File: p.File, Offset: p.Offset, GTIDs: p.GTIDs, ServerID: p.ServerID, ServerUUID: p.ServerUUID,
		Foreign: saved.Foreign, Delivery: saved.Delivery, Routing: saved.Routing, Prepared: p.Prepared, Past: state.Past, saved: saved}
	if !p.Time.IsZero() {
		at := p.Time.UTC()
		s.Time = &at
	}
	if p.Host != "" {
		s.Source = fmt.Sprintf("%s:%d", p.Host, p.Port)
	}
	if err != nil && !errors.Is(err, position.ErrNone) {
		s.Error = err.Error()
	}
	return s
}

// shortGTIDs is how much of a GTID set a line has room for.
const shortGTIDs = 60

// String is the position in words.
func (s stored) String() string {
	gtids := s.GTIDs
	if len(gtids) > shortGTIDs {
		gtids = gtids[:shortGTIDs] + "…"
	}
	switch {
	case s.Error != "":
		return s.Error
	case s.File == "" && gtids == "":
		return "none"
	case s.File == "":
		return gtids
	case gtids == "":
		return fmt.Sprintf("%s:%d", s.File, s.Offset)
	}
	return fmt.Sprintf("%s:%d, %s", s.File, s.Offset, gtids)
}

func (s stored) when() string {
	if s.Time == nil {
		return "-"
	}
	return s.Time.Format(time.RFC3339)
}

func (s *status) print(all []shown) error {
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	recorded := slices.ContainsFunc(all, func(d shown) bool { return d.Record != nil })
	head := "DESTINATION\tOWNER\tSTANDBYS\tTIME\tPOSITION"
	if recorded {
		head += "\tRECORD"
	}
	fmt.Fprintln(w, head)
	var notes []string
	for _, d := range all {
		owner := d.Owner
		switch {
		case d.Election == "static":
			owner = "static"
		case owner == "":
			owner = "none"
		case d.Leaving:
			owner += " (asked to let go)"
		}
		if d.Lazy {
			owner += " (lazy here)"
		}
		if d.Paused != nil {
			owner += " (" + d.Paused.String() + ")"
			if d.Kept != nil {
				notes = append(notes, d.Destination+": "+d.Kept.String())
			}
		}
		standbys := strings.Join(d.Standbys, ",")
		if standbys == "" {
			standbys = "none"
		}
		if len(d.LazyNodes) > 0 {
			standbys += " (lazy: " + strings.Join(d.LazyNodes, ",") + ")"
		}
		record := ""
		switch {
		case d.Record != nil && d.Record.Decides != "":
			record = fmt.Sprintf("\t%s (%s decides)", d.Record, d.Record.Decides)
		case d.Record != nil:
			record = "\t" + d.Record.String()
		case recorded:
			record = "\t-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s%s\n", d.Destination, owner, standbys, d.when(), d.stored, record)
	}
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
	return w.Flush()
}
