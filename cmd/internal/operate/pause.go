package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/kept"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
)

// errNoPause is why a pause is refused without ZooKeeper.
var errNoPause = errors.New("a pause is kept in ZooKeeper, and there is none (canal.zkServers is empty): stop the node instead")

// pause is one run of pause or resume.
type pause struct {
	common
	reason string
}

// paused is what it did.
type paused struct {
	Destination string           `json:"destination"`
	Owner       string           `json:"owner,omitempty"`  // ip:port; empty when nobody owns it
	Before      *zookeeper.Pause `json:"before,omitempty"` // the pause that was in force
	Paused      *zookeeper.Pause `json:"paused,omitempty"`
	Kept        *kept.Kept       `json:"kept,omitempty"` // by the source, where it rests
}

func (p *Program) pauseCommand() *cobra.Command {
	c := &pause{common: common{Program: p}}
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Let a destination rest: its owner stops reading and keeps it",
		Long: `Let a destination rest. Its owner sends what it has read, saves the position,
and stops reading; it keeps the destination, and so does whoever takes over
from it, until canal-relay resume. A position that the source has purged
meanwhile cannot be gone on from: pause, status and the page say for how long
the source keeps it at the least.`,
		Example: "  canal-relay pause --conf conf --destination example --reason 'Kafka is being moved'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), &zookeeper.Pause{Since: time.Now().UTC().Truncate(time.Second), Reason: c.reason})
		},
	}
	c.flags(cmd, oneDestination)
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, for whoever looks at the page or at status")
	return cmd
}

func (p *Program) resumeCommand() *cobra.Command {
	c := &pause{common: common{Program: p}}
	cmd := &cobra.Command{
		Use:     "resume",
		Short:   "End the pause of a destination",
		Long:    "End the pause of a destination: its owner goes on where it had stopped.",
		Example: "  canal-relay resume --conf conf --destination example",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), nil) },
	}
	c.flags(cmd, oneDestination)
	return cmd
}

func (c *pause) run(ctx context.Context, to *zookeeper.Pause) error {
	node, i, err := c.one(ctx)
	if err != nil {
		return err
	}
	if node.ZooKeeper == "" {
		return exit.Failed(fmt.Errorf("pause %s: %w", i.Name, errNoPause))
	}
	ctx, cancel := ask(ctx)
	defer cancel()
	before, owner, err := zookeeper.SetPause(ctx, c.ZooKeeper(node).Config, i.Name, to)
	if err != nil {
		return exit.Failed(err)
	}
	done := paused{Destination: i.Name, Owner: owner.Address, Before: before, Paused: to}
	if to != nil {
		done.Kept = c.kept(ctx, node, i)
	}
	if c.json {
		return c.printJSON(done)
	}
	_, err = fmt.Fprintln(c.Stdout, done)
	return err
}

// kept asks the source of a destination about the stored position.
func (c *common) kept(ctx context.Context, node *config.Node, i *config.Instance) *kept.Kept {
	saved, err := zookeeper.Peek(ctx, c.ZooKeeper(node).Config, i.Name)
	if err != nil {
		return &kept.Kept{Error: err.Error()}
	}
	k := kept.Of(ctx, i, saved.Position)
	return &k
}

// String is what was done in words.
func (d paused) String() string {
	if d.Kept != nil {
		return d.done() + "\n" + d.Kept.String()
	}
	return d.done()
}

func (d paused) done() string {
	owner := d.Owner
	if owner == "" {
		owner = "whoever will own it"
	}
	switch {
	case d.Paused != nil && d.Before != nil:
		return fmt.Sprintf("%s was %s; now %s", d.Destination, d.Before, d.Paused)
	case d.Paused != nil:
		return fmt.Sprintf("%s is %s; %s does not read it until canal-relay resume", d.Destination, d.Paused, owner)
	case d.Before != nil:
		return fmt.Sprintf("%s was %s; %s goes on", d.Destination, d.Before, owner)
	}
	return d.Destination + " was not paused"
}
