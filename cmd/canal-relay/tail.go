package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/cmd/internal/operate"
	"github.com/canal-relay/canal-relay/cmd/internal/printer"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// tail is one run of the command.
type tail struct {
	*program
	dir, destination string
	binlogs          []string
	schema           string
	output           string
	limit            int
	from             string
	partitions       map[string]int
}

func (p *program) tailCommand() *cobra.Command {
	t := &tail{program: p}
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Print the messages that a destination would send",
		Long: `Print the messages that serve would send for a destination, through the same
code, without Kafka and without moving anything: from the live server, or from
binlog files. Table definitions come from the server, from the DDL in the
stream, from --schema, or from the binlog alone if the source logs with
binlog_row_metadata=FULL.`,
		Example: `  canal-relay tail --conf conf --destination example
  canal-relay tail --conf conf --destination example --from binlog.000004:157 --limit 10
  canal-relay tail --conf conf --destination example --binlog binlog.000004 --output jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return t.run(cmd.Context()) },
	}
	flags.Conf(cmd, &t.dir)
	flags.Destination(cmd, t.env, &t.dir, &t.destination, flags.OneDestination)
	own := cmd.Flags()
	own.StringArrayVar(&t.binlogs, "binlog", nil, "read this binlog file instead of the server (may be repeated, in order)")
	own.StringVar(&t.schema, "schema", "", "with --binlog: a file of CREATE statements for tables that the files do not create")
	own.StringVar(&t.output, "output", "text", "text, or jsonl: one JSON object a message and nothing else")
	own.IntVar(&t.limit, "limit", 0, "stop after so many messages")
	own.StringVar(&t.from, "from", "", "live: begin at FILE:OFFSET or at a GTID set instead of the end of the binlog")
	flags.Partitions(cmd, &t.partitions)
	flags.Complete(cmd, "output", flags.Words("text", "jsonl"))
	return cmd
}

func (t *tail) run(ctx context.Context) error {
	switch {
	case t.output != "text" && t.output != "jsonl":
		return usage(fmt.Errorf("--output %q: choose text or jsonl", t.output))
	case t.schema != "" && len(t.binlogs) == 0:
		return usage(errors.New("--schema goes with --binlog"))
	case t.from != "" && len(t.binlogs) > 0:
		return usage(errors.New("--from is for a live server: --binlog reads its files from their start"))
	case t.limit < 0:
		return usage(fmt.Errorf("--limit %d: choose 1 or more", t.limit))
	}
	node, _, err := scan.LoadOne(ctx, t.dir, t.env, t.destination)
	if err != nil {
		return failed(err)
	}
	i, err := operate.Choose(node, t.destination)
	if err != nil {
		return failed(err)
	}
	start, err := flags.Start("from", t.from)
	if err != nil {
		return usage(err)
	}
	beside := i.ForTail()
	beside.Source.Start = start
	return t.print(ctx, &beside)
}

// print runs one term of the starter with a printer in the place of Kafka.
func (t *tail) print(ctx context.Context, i *config.Instance) error {
	log := slog.New(slog.NewTextHandler(t.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c, err := assembly.StarterConfig(i)
	if err != nil {
		return failed(err)
	}
	c.Limit = tailLimit
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	open := func(from position.Resume) (mqstarter.Source, error) { return t.open(ctx, i, from, log) }
	dial := func() (mqstarter.Producer, error) {
		return printer.New(t.stdout, printer.Config{JSONL: t.output == "jsonl", Hex: c.Packets != nil, Limit: t.limit, Full: stop,
			Partitions: t.partitions}), nil
	}
	err = mqstarter.New(c, nil, open, dial, nil, log).Run(ctx, noEpoch)
	if err != nil && !errors.Is(err, io.EOF) {
		return failed(err)
	}
	return nil
}

const (
	noEpoch   = -1      // tail owns nothing
	tailLimit = 1 << 30 // no broker limits what is printed
)

func (t *tail) open(ctx context.Context, i *config.Instance, from position.Resume, log *slog.Logger) (mqstarter.Source, error) {
	if len(t.binlogs) == 0 {
		return assembly.NewLive(i, i.Source, from, nil, nil, log)
	}
	i.Relay.Files = true
	said := map[string]bool{}
	i.Relay.Defined = func(schema, table, from string) {
		if name := schema + "." + table; !said[name] {
			said[name] = true
			fmt.Fprintf(t.stderr, "canal-relay: table %s is defined by %s\n", name, from)
		}
	}
	s, err := assembly.NewSource(i, from, binlog.NewFiles(t.binlogs...), nil, nil, nil, log)
	if err != nil || t.schema == "" {
		return s, err
	}
	script, err := os.ReadFile(t.schema)
	if err != nil {
		return nil, err
	}
	mariaDB, version, err := binlog.ServerOf(t.binlogs[0])
	if err != nil {
		return nil, err
	}
	s.Tracker.Serve(mariaDB, version)
	return s, s.Tracker.LoadScript(ctx, string(script))
}
