// Package operate is what an operator does beside the nodes: the commands that
// look at destinations, explain them, hand them over and move their positions.
package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
)

// askTimeout bounds what is asked of one server.
const askTimeout = 10 * time.Second

// Program is what the commands share with the other ones.
type Program struct {
	Env            func(string) (string, bool) // environment variables
	Stdout, Stderr io.Writer
	ZooKeeper      func(*config.Node) zookeeper.Config // how nodes reach it
}

// Commands returns the commands. Their errors wrap exit.Error.
func Commands(p *Program) []*cobra.Command {
	return []*cobra.Command{p.statusCommand(), p.releaseCommand(), p.pauseCommand(), p.resumeCommand(), p.cursorCommand(), p.explainCommand()}
}

// common are the flags that every command has.
type common struct {
	*Program
	dir, destination string
	json             bool
}

func (c *common) flags(cmd *cobra.Command, destination string) {
	flags.Conf(cmd, &c.dir)
	flags.Destination(cmd, c.Env, &c.dir, &c.destination, destination)
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON instead of text")
}

const oneDestination = flags.OneDestination

func (c *common) load(ctx context.Context) (*config.Node, error) {
	node, _, err := scan.LoadOne(ctx, c.dir, c.Env, c.destination)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return node, nil
}

// one loads the configuration and chooses one destination.
func (c *common) one(ctx context.Context) (*config.Node, *config.Instance, error) {
	node, err := c.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	i, err := Choose(node, c.destination)
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	return node, i, nil
}

func (c *common) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (c *common) printJSON(v any) error {
	enc := json.NewEncoder(c.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Choose finds the destination that is meant.
func Choose(node *config.Node, name string) (*config.Instance, error) {
	if name == "" {
		if len(node.Instances) == 1 {
			return &node.Instances[0], nil
		}
		return nil, fmt.Errorf("there are %d destinations (%s): name one with --destination", len(node.Instances), strings.Join(names(node), ", "))
	}
	if i := node.Instance(name); i != nil {
		return i, nil
	}
	return nil, fmt.Errorf("there is no destination %q: choose one of %s", name, strings.Join(names(node), ", "))
}

func names(node *config.Node) []string {
	all := make([]string, len(node.Instances))
	for i := range node.Instances {
		all[i] = node.Instances[i].Name
	}
	return all
}

func ask(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, askTimeout)
}
