package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
)

// checkTimeout bounds what is asked of one server.
const checkTimeout = 20 * time.Second

// level is how bad a finding is.
type level string

const (
	levelOK      level = "ok"
	levelWarning level = "warning"
	levelError   level = "error" // serve would not work
)

// finding is one line of check.
type finding struct {
	Level level  `json:"level"`
	Where string `json:"where"` // file:line, destination or server
	What  string `json:"what"`  // what was found, and what to do
}

// check is one run of the command.
type check struct {
	*program
	dir      string
	json     bool
	findings []finding
}

func (p *program) checkCommand() *cobra.Command {
	c := &check{program: p}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration, the sources and Kafka before serve does",
		Long: `Check what serve will need and print every finding with its fix: each key of
the configuration, the sources (reachable, grants, binlog settings), the stored
positions (readable, still in the source's binlog) and Kafka (reachable, topics,
partitions, limits). Nothing is changed anywhere. The exit code is 1 when serve
would not work.`,
		Example: "  canal-relay check --conf conf\n  canal-relay check --conf conf --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	flags.Conf(cmd, &c.dir)
	cmd.Flags().BoolVar(&c.json, "json", false, "print the findings as a JSON array")
	return cmd
}

func (c *check) run(ctx context.Context) error {
	node, found, err := scan.Load(ctx, c.dir, c.env)
	c.keys(found)
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			c.add(levelError, p.Where, strings.TrimPrefix(p.Error(), p.Where+": "))
		}
	} else if err != nil {
		return failed(err)
	}
	if node != nil {
		for i := range node.Instances {
			instance := node.Instances[i].ForTail()
			if instance.Lazy {
				c.add(levelOK, instance.Name, "%s", lazyNote)
			}
			c.patterns(&instance)
			c.source(ctx, node, &instance)
			c.kafka(ctx, node, &instance)
		}
	}
	if err := c.print(); err != nil {
		return failed(err)
	}
	if slices.ContainsFunc(c.findings, func(f finding) bool { return f.Level == levelError }) {
		return exit.Failed(nil)
	}
	return nil
}

func (c *check) add(l level, where, what string, args ...any) {
	if len(args) > 0 {
		what = fmt.Sprintf(what, args...)
	}
	c.findings = append(c.findings, finding{l, where, what})
}

func (c *check) keys(found []config.Finding) {
	levels := map[keys.Verdict]level{keys.Honoured: levelOK, keys.Ignored: levelOK}
	for _, f := range found {
		if f.Verdict == keys.Refused {
			continue // it is among the problems
		}
		l, known := levels[f.Verdict]
		if !known {
			l = levelWarning
		}
		c.add(l, f.Where, strings.TrimPrefix(f.String(), f.Where+": "))
	}
}

// patterns warns of table filters that a comma cuts in two.
func (c *check) patterns(i *config.Instance) {
	for key, list := range map[string]string{"regex": i.Filter.Regex, "black.regex": i.Filter.BlackRegex} {
		if torn := filter.Torn(list); torn != "" {
			c.add(levelWarning, i.Name, "canal.instance.filter.%s: %s", key, tornText(torn))
		}
	}
}

// tornText says what becomes of a pattern with a comma inside.
func tornText(torn string) string {
	return fmt.Sprintf("the comma inside %q ends the pattern, as in Canal 1.1.8, and both halves match nothing of what was meant: "+
		`write it without a comma, as \d\d? for \d{1,2}`, torn)
}

func (c *check) source(ctx context.Context, node *config.Node, i *config.Instance) {
	where := i.Name + ": source " + i.Source.Addr
	asked := i.Source
	asked.Once = i.ExactlyOnce != nil
	reader, err := binlog.NewReader(asked, slog.New(slog.DiscardHandler))
	if err != nil {
		c.add(levelError, where, "%v", err)
		return
	}
	defer reader.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	p := c.position(ctx, node, i)
	report, err := reader.Check(ctx)
	if err != nil {
		c.add(levelError, where, "%v", err)
		return
	}
	c.add(levelOK, where, "%s %s, server id %d, account %s", report.Flavor, report.Version, report.ID, report.Account)
	c.settings(where, report)
	if p.IsZero() || len(report.Missing) > 0 {
		return // there is nothing to ask for, or nobody may
	}
	if err := reader.Holds(ctx, p); err != nil {
		c.add(levelError, where, "%v", err)
	}
}

// position is where serve would continue; zero when no position is stored and
// none is configured.
func (c *check) position(ctx context.Context, node *config.Node, i *config.Instance) position.Position {
	where := i.Name + ": position in " + i.MetaFile
	load := position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, "").Load
	if node.ZooKeeper != "" {
		where = i.Name + ": position in ZooKeeper " + node.ZooKeeper
		load = func(ctx context.Context) (position.Saved, error) {
			return zookeeper.Peek(ctx, zookeeperConfig(node).Config, i.Name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout/4)
	defer cancel()
	saved, err := load(ctx)
	switch {
	case err == nil && saved.GTIDs != "":
		c.add(levelOK, where, "%s:%d, GTIDs %s", saved.File, saved.Offset, saved.GTIDs)
	case err == nil:
		c.add(levelOK, where, "%s:%d", saved.File, saved.Offset)
	case !errors.Is(err, position.ErrNone):
		c.add(levelError, where, "%v", err)
		return position.Position{}
	case i.Source.Start.GTIDs != "" || i.Source.Start.Journal != "":
		c.add(levelOK, where, "none: it starts where the configuration says")
		// At the beginning of the file: the offset may stand inside a transaction.
		return position.Position{GTIDs: i.Source.Start.GTIDs, File: i.Source.Start.Journal, Offset: 4}
	default:
		c.add(levelOK, where, "none: it starts at the end of the binlog, or at the configured time")
	}
	return saved.Position
}

// settings judges what the source says about its binlog.
func (c *check) settings(where string, r binlog.Report) {
	if len(r.Missing) > 0 {
		c.add(levelError, where, "the account lacks %s: an administrator runs: %s", strings.Join(r.Missing, ", "), r.Grant)
	}
	if !r.LogBin {
		c.add(levelError, where, "the binlog is off: set log_bin in the server's configuration and restart it")
	}
	if r.Format != "" && !strings.EqualFold(r.Format, "ROW") {
		c.add(levelError, where, "binlog_format is %s, so that changes come without their rows: SET GLOBAL binlog_format = 'ROW', and let clients reconnect", r.Format)
	}
	if r.RowImage != "" && !strings.EqualFold(r.RowImage, "FULL") {
		c.add(levelWarning, where, "binlog_row_image is %s, so that messages lack columns: SET GLOBAL binlog_row_image = 'FULL', and let clients reconnect", r.RowImage)
	}
	if !r.GTID() {
		c.add(levelWarning, where, "GTIDs are off (gtid_mode %s): a switch to another source needs a search by time", r.GTIDMode)
	}
	switch {
	case r.Retention == 0:
		c.add(levelOK, where, "the server keeps its binlog for ever")
	case r.Retention < 24*time.Hour:
		c.add(levelWarning, where, "the server keeps its binlog for %v only: a relay that is down for longer loses its place; raise binlog_expire_logs_seconds", r.Retention)
	default:
		c.add(levelOK, where, "the server keeps its binlog for %v", r.Retention)
	}
}

func (c *check) kafka(ctx context.Context, node *config.Node, i *config.Instance) {
	where := i.Name + ": Kafka " + strings.Join(i.Kafka.Brokers, ",")
	producer, err := kafka.New(i.Kafka, slog.New(slog.DiscardHandler))
	if err != nil {
		c.add(levelError, where, "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer func() { _ = producer.Close(ctx) }() // nothing was sent
	found := producer.Check(ctx)
	if len(found) == 0 && i.ExactlyOnce != nil {
		found = producer.CheckTransactions(ctx, i.ExactlyOnce.Topic)
		c.exactlyOnce(where, node, i)
	}
	if i.History.Store == config.StoreKafka {
		found = append(found, producer.CheckKept(ctx, i.History.Topic, false)...)
	}
	for _, f := range found {
		l := levelError
		if f.Warning {
			l = levelWarning
		}
		text := f.Text
		if f.Topic != "" {
			text = "topic " + f.Topic + " " + text
		}
		c.add(l, where, "%s", text)
	}
	if len(found) == 0 {
		c.add(levelOK, where, "reachable, topics as they should be: %s", strings.Join(slices.Sorted(maps.Keys(i.Kafka.Topics)), ", "))
	}
}

// exactlyOnce says what cannot be asked for.
func (c *check) exactlyOnce(where string, node *config.Node, i *config.Instance) {
	if node.Cluster == keys.For("canal.relay.cluster").Default {
		c.add(levelWarning, where, "canal.relay.cluster is %s, the default: another set of nodes with it and a destination %s would take the transactional id away; "+
			"give this set a name of its own", node.Cluster, i.Name)
	}
	c.add(levelOK, where, "exactly-once: transactional id %s, which with ACLs needs Write and Describe on TransactionalId; positions in topic %s, which needs Read, Write and Describe; "+
		"readers need isolation.level=read_committed", i.ExactlyOnce.ID, i.ExactlyOnce.Topic)
}

func (c *check) print() error {
	if c.json {
		enc := json.NewEncoder(c.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(c.findings)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, f := range c.findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Where, f.What)
	}
	return w.Flush()
}
