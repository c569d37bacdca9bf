// Package inforce is the command that prints the settings in force, and where each
// of them comes from.
package inforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
)

// Command returns the command config. Env looks up environment variables.
func Command(env func(string) (string, bool), stdout io.Writer) *cobra.Command {
	c := &command{env: env, out: stdout}
	cmd := &cobra.Command{
		Use:   "config [KEY...]",
		Short: "Print the settings in force, and where each comes from",
		Long: `Print the settings in force: those of the node, then those of each destination.
FROM is the file and line, environment, admin (Canal Admin), secret file, or
default. A secret is shown as ***.

A key of the node (canal.properties) is looked for in the environment, then in
the file; the older name of a kafka.* key outdoes the newer one, and the
environment changes a kafka.* key that stands in the file, but adds none. A key
of a destination is looked for in the environment, then in its
instance.properties, then in canal.properties; one that is there and blank hides
the one in canal.properties. With Canal Admin the canal.properties beside the
node outdoes that of the console, and both outdo the destinations'. Variables
bear the name of the key, dots included. No server is asked but Canal Admin.`,
		Example: "  canal-relay config --conf conf\n  canal-relay config --conf conf --set\n  canal-relay config --conf conf --destination example --json canal.mq.topic",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	flags.Conf(cmd, &c.dir)
	flags.Destination(cmd, env, &c.dir, &c.destination, "show this destination only, without the node")
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var names []string
		for _, k := range keys.All() {
			if k.Verdict == keys.Honoured && !strings.Contains(k.Name, "*") {
				names = append(names, k.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Flags().BoolVar(&c.set, "set", false, "show only what is set, no defaults")
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON instead of text")
	return cmd
}

// command is one run.
type command struct {
	env              func(string) (string, bool)
	out              io.Writer
	dir, destination string
	set, json        bool
}

func (c *command) run(ctx context.Context, names []string) error {
	all, err := scan.Values(ctx, c.dir, c.env)
	if err != nil && !errors.As(err, new(config.Problems)) {
		return exit.Usage(err)
	}
	if err == nil && c.destination != "" && !slices.ContainsFunc(all, func(v config.Value) bool { return v.Destination == c.destination }) {
		return exit.Usage(fmt.Errorf("there is no destination %q", c.destination))
	}
	for _, key := range names {
		if err == nil && !slices.ContainsFunc(all, func(v config.Value) bool { return v.Key == key }) {
			return exit.Usage(fmt.Errorf("%s is no key that means anything here; canal-relay check says what becomes of each key", key))
		}
	}
	chosen := []config.Value{}
	for _, v := range all {
		if (c.destination == "" || v.Destination == c.destination) && !(c.set && v.From == config.FromDefault) && (len(names) == 0 || slices.Contains(names, v.Key)) {
			chosen = append(chosen, v)
		}
	}
	if printed := c.print(chosen); printed != nil {
		return exit.Failed(printed)
	}
	if err != nil {
		return exit.Usage(err)
	}
	return nil
}

func (c *command) print(all []config.Value) error {
	if c.json {
		enc := json.NewEncoder(c.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DESTINATION\tKEY\tVALUE\tFROM")
	for _, v := range all {
		destination := v.Destination
		if destination == "" {
			destination = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", destination, v.Key, shown(v.Value), from(v))
	}
	return w.Flush()
}

// shown is a value in one cell of a table.
func shown(value string) string {
	if value == "" {
		return "-"
	}
	if quoted := strconv.Quote(value); strings.ContainsAny(value, "\t\n\r\v\f") {
		return quoted
	}
	return value
}

func from(v config.Value) string {
	switch {
	case v.Where == "":
		return v.From
	case v.From == config.FromFile:
		return v.Where
	case v.From == config.FromDefault:
		return v.From + " (blank in " + v.Where + ")"
	}
	return v.From + ": " + strings.TrimPrefix(v.Where, config.FromAdmin)
}
