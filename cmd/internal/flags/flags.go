// Package flags is what commands have in common on their command lines, and what a
// shell completes there.
package flags

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/relay/binlog"
)

// OneDestination says what --destination means to a command that is about one.
const OneDestination = "the destination; may be left out when there is only one"

// Env looks up environment variables.
type Env func(string) (string, bool)

// Conf adds --conf, the folder that every command works with.
func Conf(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "conf", "conf", "folder with canal.properties and a folder for each destination")
	_ = cmd.MarkFlagDirname("conf") // it was defined in the line above
}

// Destination adds --destination. Shells complete it from the configuration.
func Destination(cmd *cobra.Command, env Env, dir, to *string, usage string) {
	cmd.Flags().StringVar(to, "destination", "", usage)
	Complete(cmd, "destination", func(ctx context.Context) []string { return Destinations(ctx, *dir, env) })
}

// Destinations lists those of a configuration, as far as it can be read.
func Destinations(ctx context.Context, dir string, env Env) []string {
	node, _, err := scan.Load(ctx, dir, env)
	if err != nil {
		names, _ := config.Directories(dir)
		return names
	}
	names := make([]string, len(node.Instances))
	for i := range node.Instances {
		names[i] = node.Instances[i].Name
	}
	return names
}

// Complete has a flag, which is defined, completed from a list.
func Complete(cmd *cobra.Command, flag string, list func(context.Context) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return list(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err)
	}
}

// Words are a list that is always the same.
func Words(words ...string) func(context.Context) []string {
	return func(context.Context) []string { return words }
}

// Partitions adds the flag that says how many partitions topics have, to commands
// that do not ask Kafka.
func Partitions(cmd *cobra.Command, to *map[string]int) {
	cmd.Flags().StringToIntVar(to, "partitions", nil, "TOPIC=N: how many partitions a topic has, with canal.relay.partitions.from.topic=true (may be repeated)")
}

// Start reads the text of a flag: FILE:OFFSET, FILE or a GTID set.
func Start(flag, text string) (binlog.Start, error) {
	if text == "" {
		return binlog.Start{}, nil
	}
	if set, err := binlog.ParseGTIDSet(text); err == nil {
		return binlog.Start{GTIDs: set.String()}, nil
	}
	var s binlog.Start
	file, offset, found := strings.Cut(text, ":")
	s.Journal = file
	if found {
		if _, err := fmt.Sscanf(offset, "%d", &s.Offset); err != nil {
			return s, fmt.Errorf("--%s %q: write FILE:OFFSET, FILE or a GTID set", flag, text)
		}
	}
	return s, nil
}
