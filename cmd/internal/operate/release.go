package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
)

// release is one run of the command.
type release struct {
	common
	timeout time.Duration
}

// released is what it did.
type released struct {
	Destination string  `json:"destination"`
	From        string  `json:"from"` // ip:port
	To          string  `json:"to"`
	Seconds     float64 `json:"seconds"` // from the request until the other node owned it
}

func (p *Program) releaseCommand() *cobra.Command {
	r := &release{common: common{Program: p}}
	cmd := &cobra.Command{
		Use:   "release",
		Short: "Ask the owner of a destination to hand it over",
		Long: `Ask the owner of a destination to let go: it sends what it has read, saves its
position and gives the destination up. Wait until another node owns it, and tell
which one and how long it took. Nothing is lost and nothing sent twice. It is
refused when no other node stands by, and without ZooKeeper.`,
		Example: "  canal-relay release --conf conf --destination example",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	r.flags(cmd, oneDestination)
	cmd.Flags().DurationVar(&r.timeout, "timeout", 30*time.Second, "how long to wait for the next owner")
	return cmd
}

func (r *release) run(ctx context.Context) error {
	if r.timeout <= 0 {
		return exit.Usage(fmt.Errorf("--timeout %v: choose more than 0", r.timeout))
	}
	node, i, err := r.one(ctx)
	if err != nil {
		return err
	}
	if node.ZooKeeper == "" {
		return exit.Failed(fmt.Errorf("release %s: %w", i.Name, ha.ErrStatic))
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	began := time.Now()
	from, to, err := zookeeper.Release(ctx, r.ZooKeeper(node).Config, i.Name)
	if err != nil {
		return exit.Failed(err)
	}
	took := time.Since(began)
	done := released{Destination: i.Name, From: from.Address, To: to.Address, Seconds: took.Round(time.Millisecond).Seconds()}
	if r.json {
		err = r.printJSON(done)
	} else {
		_, err = fmt.Fprintf(r.Stdout, "%s: %s has taken over from %s after %v\n", i.Name, done.To, done.From, took.Round(time.Millisecond))
	}
	if err == nil && to.Address == from.Address {
		return exit.Failed(fmt.Errorf("release %s: %s took it back, since no other node did", i.Name, to.Address))
	}
	return err
}
