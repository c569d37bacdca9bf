package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/exit"
)

func (p *Program) cursorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cursor",
		Short:   "Show, export or set the stored position of a destination, or leave something out",
		Example: "  canal-relay cursor show --conf conf --destination example",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Usage(errors.New("cursor: choose show, export, set or skip"))
		},
	}
	cmd.AddCommand(p.cursorShowCommand(), p.cursorExportCommand(), p.cursorSetCommand(), p.cursorSkipCommand())
	return cmd
}

func (p *Program) cursorShowCommand() *cobra.Command {
	c := &common{Program: p}
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show the stored position, what stands beside it, and the last positions",
		Example: "  canal-relay cursor show --conf conf --destination example",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.cursor(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(d)
			}
			return c.printCursor(d)
		},
	}
	c.flags(cmd, oneDestination)
	return cmd
}

// exported is a position for another tool to read, or to be kept.
type exported struct {
	Destination string `json:"destination"`
	stored
	Cursor json.RawMessage `json:"cursor"` // as Canal stores it
}

func (p *Program) cursorExportCommand() *cobra.Command {
	c := &common{Program: p}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print the stored position as JSON",
		Long: `Print the stored position as one JSON object, with the text of Canal's cursor in
it. The exit code is 1 when there is no position.`,
		Example: "  canal-relay cursor export --conf conf --destination example > example.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.cursor(cmd.Context())
			switch {
			case err != nil:
				return err
			case d.Error != "":
				return exit.Failed(errors.New(d.Error))
			case d.saved.IsZero():
				return exit.Failed(fmt.Errorf("destination %s: no position stored", d.Destination))
			}
			d.Past = nil
			return c.printJSON(exported{d.Destination, d.stored, d.saved.AppendCanal(nil)})
		},
	}
	c.flags(cmd, oneDestination)
	return cmd
}

// cursor looks at one destination.
func (c *common) cursor(ctx context.Context) (shown, error) {
	node, i, err := c.one(ctx)
	if err != nil {
		return shown{}, err
	}
	all, err := c.look(ctx, node, i.Name)
	if err != nil {
		return shown{}, exit.Failed(err)
	}
	return all[0], nil
}

func (c *common) printCursor(d shown) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	line("destination", "%s", d.Destination)
	switch {
	case d.Election == "static":
		line("owner", "static")
	case d.Owner == "":
		line("owner", "none")
	default:
		line("owner", "%s, epoch %d", d.Owner, d.Epoch)
	}
	switch {
	case d.Error != "":
		line("position", "cannot be read: %s", d.Error)
	case d.saved.IsZero():
		line("position", "none")
	default:
		if d.File != "" {
			line("position", "%s:%d", d.File, d.Offset)
		}
		if d.GTIDs != "" {
			line("GTIDs", "%s", d.GTIDs)
		}
		line("time", "%s", d.when())
		line("source", "%s", strings.TrimSpace(d.Source+" "+d.ServerUUID))
		if d.Foreign {
			line("written by", "Canal or another tool")
		} else if d.Delivery != "" {
			line("written by", "%s", d.Delivery)
		}
	}
	if d.Record != nil {
		line("record", "%s", d.Record)
		line("decides", "%s", d.Record.meaning())
	}
	for _, x := range d.Prepared {
		line("prepared", "%s since %s:%d", x.XID, x.File, x.Start)
	}
	switch {
	case d.Skip != nil:
		line("to leave out", "%s, as %s ordered at %s: %s", d.Skip.At, d.Skip.Who, d.Skip.When.UTC().Format(time.RFC3339), d.Skip.Reason)
	case d.SkipError != "":
		line("to leave out", "cannot be read: %s", d.SkipError)
	}
	for i, past := range d.Past {
		if i == 0 {
			fmt.Fprintln(w, "\nSTORED\tPOSITION\tREASON")
		}
		at := stored{File: past.File, Offset: past.Offset, GTIDs: past.GTIDs}
		line(past.At.UTC().Format(time.RFC3339), "%s\t%s", at, past.Reason)
	}
	return w.Flush()
}
