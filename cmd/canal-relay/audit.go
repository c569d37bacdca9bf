package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/audit"
	"github.com/canal-relay/canal-relay/cmd/internal/audit/expect"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/cmd/internal/operate"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// What a reader sees of Kafka transactions, by the names that consumers know.
const (
	readCommitted   = "read_committed"
	readUncommitted = "read_uncommitted"
)

// auditing is one run of audit.
type auditing struct {
	*program
	dir, destination     string
	topics               []string
	from, to, sourceFrom string
	isolation            string
	leftOut              []string
	source, once, json   bool
	start                binlog.Start // --source-from
}

func (p *program) auditCommand() *cobra.Command {
	a := &auditing{program: p}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Prove or refute from the topics: no gap, no repeat, in order",
		Long: `Read the topics of a destination, up to their present end, and prove or refute
that no change is missing, that none was sent again but from where a transaction
begins, and that all stand in order. It writes nothing.

Headers alone prove the order, show every repeat and every row that is missing in
the middle of a transaction. Whether whole transactions are missing they tell only
where GTIDs have no hole. With --source the binlog is read as well, from its oldest
file or from --source-from on, and every change is looked for in its topic and
partition, by position and content; of protobuf records each entry, so that it is
not told then whether a repeat begins where a transaction does.

Records without headers (canal.relay.headers = false, or Canal's) are judged by
their rows' keys: an UPDATE must find the row as the messages before it left it.

Rows that were too large, and went by their keys alone or left a dead letter, are
found as such; the topic of dead letters is read where there is one. The topics of
canal.mq.dynamicTopic are found by reading the binlog once before.

What operators had left out with cursor skip is told as such, and is no gap. The
latest of these orders stand in ZooKeeper; name older ones with --left-out.

Memory is bounded: the latest four million records are remembered to know repeats
again, the latest 262,144 transactions to count their rows, and ten million keys.

The exit code is 0 when nothing was refuted, 1 when something was, or when the
audit could not be made.`,
		Example: `  canal-relay audit --conf conf --destination example
  canal-relay audit --conf conf --destination example --source
  canal-relay audit --conf conf --topic orders --topic items --from 2026-11-30T09:00:00Z
  canal-relay audit --conf conf --isolation read_committed --no-repeats --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context()) },
	}
	flags.Conf(cmd, &a.dir)
	flags.Destination(cmd, a.env, &a.dir, &a.destination, flags.OneDestination)
	own := cmd.Flags()
	own.StringArrayVar(&a.topics, "topic", nil, "read this topic (may be repeated); default: that of canal.mq.topic; with --source and canal.mq.dynamicTopic those that the source's changes go to")
	own.StringVar(&a.from, "from", "", "begin at this time, or at this offset in every partition")
	own.StringVar(&a.to, "to", "", "end before this time, or before this offset in every partition")
	own.StringVar(&a.isolation, "isolation", "", "read_committed passes over what transactions did not commit, read_uncommitted does not; default: the former with canal.relay.delivery=exactly-once")
	own.BoolVar(&a.source, "source", false, "compare with the source's binlog, change by change")
	own.StringVar(&a.sourceFrom, "source-from", "", "with --source: begin at FILE:OFFSET, FILE or a GTID set instead of the oldest file")
	own.StringArrayVar(&a.leftOut, "left-out", nil, "with --source: an order of cursor skip that ZooKeeper no longer knows (may be repeated)")
	own.BoolVar(&a.once, "no-repeats", false, "any repeat is a fault; so it is in exactly-once for those who read what is committed")
	own.BoolVar(&a.json, "json", false, "print JSON instead of text")
	flags.Complete(cmd, "isolation", flags.Words("read_committed", "read_uncommitted"))
	return cmd
}

func (a *auditing) run(ctx context.Context) error {
	node, _, err := scan.LoadOne(ctx, a.dir, a.env, a.destination)
	if err != nil {
		return usage(err)
	}
	i, err := operate.Choose(node, a.destination)
	if err != nil {
		return usage(err)
	}
	if a.isolation == "" {
		a.isolation = readUncommitted
		if i.ExactlyOnce != nil {
			a.isolation = readCommitted
		}
	}
	a.once = a.once || i.ExactlyOnce != nil && a.isolation == readCommitted
	o, err := a.options(i)
	if err != nil {
		return usage(err)
	}
	orders := a.orders(ctx, node, i)
	if a.source {
		r := expect.New(ctx, expect.Config{Instance: i.ForTail(), From: a.start, Orders: orders}, a.stderr)
		defer r.Stop()
		o.Source = r.Next
		if len(o.Topics.Topics) == 0 {
			found, err := r.Topics()
			if err != nil {
				return failed(fmt.Errorf("find the topics of %s: %w", i.Name, err))
			}
			o.Topics.Optional = append(o.Topics.Optional, found...)
		}
	}
	report, err := audit.Run(ctx, o)
	if err != nil {
		return failed(fmt.Errorf("audit %s: %w", i.Name, err))
	}
	report.LeftOut = orders
	if a.json {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		err = report.Print(a.stdout, a.once)
	}
	if err == nil && report.Faults(a.once) > 0 {
		return &exit.Error{Code: exitFailed}
	}
	return err
}

// orders are what was left out because an operator wanted it so.
func (a *auditing) orders(ctx context.Context, node *config.Node, i *config.Instance) (all []audit.LeftOut) {
	for _, at := range a.leftOut {
		all = append(all, audit.LeftOut{At: at})
	}
	if node.ZooKeeper == "" {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	seen, err := zookeeper.Survey(ctx, zookeeperConfig(node).Config, i.Name)
	if err != nil {
		fmt.Fprintf(a.stderr, "what was left out by order is not known: %v\n", err)
		return all
	}
	for _, past := range seen[0].State.Past {
		if at, why, ok := position.LeftOut(past.Reason); ok {
			all = append(all, audit.LeftOut{At: at, Reason: why})
		}
	}
	return all
}

// options are what the flags and the configuration say.
func (a *auditing) options(i *config.Instance) (audit.Options, error) {
	o := audit.Options{Destination: i.Name, Once: a.once, Topics: topicreader.Config{Kafka: i.Kafka, Topics: a.topics}}
	if i.Starter.Packets != nil {
		o.Read, o.Entries = audit.Packet, audit.Entries
	}
	if len(a.topics) == 0 {
		o.Topics.Topics = slices.DeleteFunc(slices.Sorted(maps.Keys(i.Kafka.Topics)), func(topic string) bool { return topic == i.Kafka.DeadLetters })
	}
	if len(o.Topics.Topics) == 0 && !a.source {
		return o, errors.New("the topics depend on tables (canal.mq.dynamicTopic): name each that is to be audited with --topic, or let --source find them")
	}
	if o.Letters = i.Starter.DeadLetters; !slices.Contains(o.Topics.Topics, o.Letters) {
		o.Topics.Optional = []string{o.Letters}
	}
	switch a.isolation {
	case readCommitted:
		o.Topics.Committed = true
	case readUncommitted:
	default:
		return o, fmt.Errorf("--isolation %q: choose read_committed or read_uncommitted", a.isolation)
	}
	switch {
	case a.sourceFrom != "" && !a.source:
		return o, errors.New("--source-from is for --source")
	case len(a.leftOut) > 0 && !a.source:
		return o, errors.New("--left-out is for --source")
	case a.source && !i.Starter.Headers:
		return o, errors.New("--source finds changes by their headers: canal.relay.headers is false")
	}
	var err error
	if a.start, err = flags.Start("source-from", a.sourceFrom); err != nil {
		return o, err
	}
	if o.Topics.From, err = topicreader.ParseBound(a.from); err != nil {
		return o, fmt.Errorf("--from %w", err)
	}
	if o.Topics.To, err = topicreader.ParseBound(a.to); err != nil {
		return o, fmt.Errorf("--to %w", err)
	}
	return o, nil
}
