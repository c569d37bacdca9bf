package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/relay/position"
)

// orderTimeout bounds writing an order.
const orderTimeout = 20 * time.Second

// ordered is an order that was given.
type ordered struct {
	Destination string         `json:"destination"`
	Skip        position.Skip  `json:"skip"`
	Replaced    *position.Skip `json:"replaced,omitempty"` // an earlier one that was not carried out
}

func (p *Program) cursorSkipCommand() *cobra.Command {
	c := &common{Program: p}
	var reason string
	cmd := &cobra.Command{
		Use:   "skip AT",
		Short: "Order the next term to leave one event or transaction out, once",
		Long: `Order the next term of a destination to leave out what AT names, as the error of
the failed term does:

  FILE:OFFSET        one event: the rows, or the statement, at that place
  a GTID             a whole transaction of a source with GTIDs
  FILE:OFFSET@UUID   a whole transaction, as the header r-pos names it

A term that has failed is tried again within a minute. What is left out is logged
and counted, and stands with the reason among the last positions (cursor show);
then the order is forgotten. Everything else is sent. A statement that is left out
is not followed either: its table is taken as the source describes it.`,
		Example: `  canal-relay cursor skip binlog.000004:157 --conf conf --destination example --reason "ticket 4711"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.orderSkip(cmd.Context(), position.Skip{At: args[0], Reason: reason, Who: who(), When: time.Now().UTC().Truncate(time.Second)})
		},
	}
	c.flags(cmd, oneDestination)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who look later (required)")
	return cmd
}

func (c *common) orderSkip(ctx context.Context, s position.Skip) error {
	if s.Reason == "" {
		return exit.Usage(errors.New("--reason: say why, for those who look later"))
	}
	if err := s.Validate(); err != nil {
		return exit.Usage(err)
	}
	node, i, err := c.one(ctx)
	if err != nil {
		return err
	}
	if node.ZooKeeper == "" {
		return exit.Failed(errors.New("orders are kept in ZooKeeper, and canal.zkServers is blank: go on behind it with cursor set"))
	}
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	old, err := zookeeper.OrderSkip(ctx, c.ZooKeeper(node).Config, i.Name, s)
	if err != nil {
		return exit.Failed(err)
	}
	if c.json {
		return c.printJSON(ordered{i.Name, s, old})
	}
	if old != nil {
		fmt.Fprintf(c.Stdout, "%s: in the place of %s, which was not carried out\n", i.Name, old.At)
	}
	_, err = fmt.Fprintf(c.Stdout, "%s: the next term leaves out %s\n", i.Name, s.At)
	return err
}

// who gives the order, as far as the system tells.
func who() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
