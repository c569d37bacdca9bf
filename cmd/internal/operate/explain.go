package operate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// explain is one run of the command.
type explain struct {
	common
	keys       []string
	partitions map[string]int
}

// explanation is what a destination does with a table.
type explanation struct {
	Destination  string   `json:"destination"`
	Table        string   `json:"table"`
	Captured     bool     `json:"captured"`
	WhyCaptured  string   `json:"whyCaptured"`
	Topic        string   `json:"topic,omitempty"`
	WhyTopic     string   `json:"whyTopic,omitempty"`
	Partition    *int32   `json:"partition,omitempty"` // absent when it depends on the row
	WhyPartition string   `json:"whyPartition,omitempty"`
	Partitions   int32    `json:"partitions,omitempty"` // of which rules choose one
	WhyCount     string   `json:"whyPartitions,omitempty"`
	Statements   *int32   `json:"statements,omitempty"` // partition of DDL and of other changes without rows
	KeyColumns   []string `json:"keyColumns,omitempty"` // whose texts decide the partition
	Dropped      []string `json:"dropped,omitempty"`    // settings that drop changes of some kind
	Notes        []string `json:"notes,omitempty"`
}

func (p *Program) explainCommand() *cobra.Command {
	e := &explain{common: common{Program: p}}
	cmd := &cobra.Command{
		Use:   "explain SCHEMA.TABLE",
		Short: "Tell whether a table is captured, and to which topic and partition its rows go",
		Long: `Tell for a table, and for a row of it if --key gives its values, whether it is
captured and by which rule, and to which topic and partition it goes and why.
Names are taken as the binlog has them; their case decides hashes. No server is
asked but the source, and that only for the primary key when a rule needs it.`,
		Example: `  canal-relay explain --conf conf shop.orders
  canal-relay explain --conf conf --destination example shop.orders --key id=1001
  canal-relay explain --conf conf shop.orders --key id=7 --key name=bob --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return e.run(cmd.Context(), args[0]) },
	}
	e.flags(cmd, "explain this destination only")
	flags.Partitions(cmd, &e.partitions)
	cmd.Flags().StringArrayVar(&e.keys, "key", nil, "COLUMN=TEXT of a row's key as messages show it; empty text for NULL (may be repeated)")
	return cmd
}

func (e *explain) run(ctx context.Context, table string) error {
	schemaName, name, ok := strings.Cut(table, ".")
	if !ok || schemaName == "" || name == "" {
		return exit.Usage(fmt.Errorf("%q: write SCHEMA.TABLE", table))
	}
	values, err := keyValues(e.keys)
	if err != nil {
		return exit.Usage(err)
	}
	node, err := e.load(ctx)
	if err != nil {
		return err
	}
	chosen := node.Instances
	if e.destination != "" {
		i, err := Choose(node, e.destination)
		if err != nil {
			return exit.Usage(err)
		}
		chosen = []config.Instance{*i}
	}
	all := make([]explanation, len(chosen))
	for i := range chosen {
		key := func() ([]string, error) { return primaryKey(ctx, &chosen[i], schemaName, name) }
		if all[i], err = explained(&chosen[i], schemaName, name, values, e.partitions, key); err != nil {
			return exit.Failed(fmt.Errorf("destination %s: %w", chosen[i].Name, err))
		}
	}
	if e.json {
		return e.printJSON(all)
	}
	return e.print(all)
}

// value is a column's text.
type value struct{ column, text string }

func keyValues(keys []string) ([]value, error) {
	values := make([]value, len(keys))
	for i, key := range keys {
		column, text, ok := strings.Cut(key, "=")
		if !ok || column == "" {
			return nil, fmt.Errorf("--key %q: write COLUMN=TEXT", key)
		}
		values[i] = value{column, text}
	}
	return values, nil
}

// explained tells what a destination does with a table. key asks for the
// columns of its primary key, if they are needed.
func explained(i *config.Instance, schemaName, table string, values []value, partitions map[string]int, key func() ([]string, error)) (explanation, error) {
	x := explanation{Destination: i.Name, Table: schemaName + "." + table}
	f, err := filter.New(i.Filter)
	if err != nil {
		return x, err
	}
	captured, err := f.Explain(schemaName, table)
	if err != nil {
		return x, err
	}
	x.Captured, x.WhyCaptured = captured.Captured, captured.String()
	if !x.Captured {
		return x, nil
	}
	x.Dropped = i.Filter.Drops()
	known := true
	routed, err := i.Starter.Router.Explain(schemaName, table, func(topic string) int32 {
		known = partitions[topic] > 0
		return int32(max(partitions[topic], 1))
	})
	if err != nil {
		return x, err
	}
	x.Topic, x.WhyTopic = routed.Topic, routed.WhyTopic
	x.WhyPartition, x.WhyCount = routed.WhyRule, routed.Partitions
	switch {
	case i.Starter.Router.FromTopic():
		x.Partitions = int32(partitions[x.Topic])
	case x.WhyCount != "":
		x.Partitions = i.Starter.Router.Partitions(x.Topic)
	}
	statements := i.Starter.Router.Statement()
	x.Statements = &statements
	if x.Topic == "" {
		x.WhyTopic = "no rule of canal.mq.dynamicTopic matches and canal.mq.topic is empty: such a change ends the term"
	}
	if !known {
		x.note("canal.relay.partitions.from.topic is true: give --partitions %s=N to see the partition", x.Topic)
		return x, nil
	}
	if !routed.Rule.Hashed {
		partition := routed.Rule.Of()
		x.Partition = &partition
		return x, nil
	}
	x.KeyColumns = routed.Rule.Columns
	if routed.Rule.PrimaryKey {
		if x.KeyColumns, err = key(); err != nil {
			x.note("the primary key is not known: %v", err)
			if x.KeyColumns = columns(values); len(values) > 0 {
				x.note("what --key gives is taken for the whole primary key")
			} else {
				return x, nil
			}
		}
	}
	// The flat form finds columns by their exact name, the protobuf form in any case.
	texts, complete := x.hashed(values, i.Starter.Packets != nil || routed.Rule.PrimaryKey)
	if complete {
		partition := routed.Rule.Of(texts...)
		x.Partition = &partition
	}
	return x, nil
}

// hashed returns the texts that are hashed; complete is false when a column's
// text is not given.
func (x *explanation) hashed(values []value, fold bool) (texts []string, complete bool) {
	complete = true
	used := make([]bool, len(values))
	for _, column := range x.KeyColumns {
		at := slices.IndexFunc(values, func(v value) bool {
			return v.column == column || fold && strings.EqualFold(v.column, column)
		})
		if at < 0 {
			complete = false
			if len(values) > 0 {
				x.note("--key does not give column %s, which decides too", column)
			}
			continue
		}
		used[at] = true
		texts = append(texts, values[at].text)
	}
	for i, v := range values {
		if !used[i] {
			x.note("column %s does not decide the partition", v.column)
		}
	}
	return texts, complete
}

func (x *explanation) note(format string, args ...any) {
	x.Notes = append(x.Notes, fmt.Sprintf(format, args...))
}

func columns(values []value) []string {
	var all []string
	for _, v := range values {
		all = append(all, v.column)
	}
	return all
}

// primaryKey asks the source for the columns of a table's primary key.
func primaryKey(ctx context.Context, i *config.Instance, schemaName, table string) ([]string, error) {
	reader, err := binlog.NewReader(i.ForTail().Source, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	ctx, cancel := ask(ctx)
	defer cancel()
	t, err := schema.NewTracker(schema.DefaultConfig(), reader, nil).Table(ctx, schemaName, table)
	if err != nil {
		return nil, err
	}
	key := make([]string, len(t.PrimaryKey))
	for i, at := range t.PrimaryKey {
		key[i] = t.Columns[at].Name
	}
	return key, nil
}

func (e *explain) print(all []explanation) error {
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	for i := range all {
		x := &all[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "destination\t%s\n", x.Destination)
		fmt.Fprintf(w, "table\t%s\n", x.Table)
		if !x.Captured {
			fmt.Fprintf(w, "captured\tno: %s\n", x.WhyCaptured)
			continue
		}
		fmt.Fprintf(w, "captured\tyes: %s\n", x.WhyCaptured)
		for _, key := range x.Dropped {
			fmt.Fprintf(w, "\tbut not what %s drops\n", key)
		}
		fmt.Fprintf(w, "topic\t%s: %s\n", orNone(x.Topic), x.WhyTopic)
		fmt.Fprintf(w, "partition\t%s: %s\n", x.where(), x.WhyPartition)
		if x.Partitions > 0 {
			fmt.Fprintf(w, "partitions\t%d: %s\n", x.Partitions, x.WhyCount)
		}
		if len(x.KeyColumns) > 0 {
			fmt.Fprintf(w, "key columns\t%s\n", strings.Join(x.KeyColumns, ", "))
		}
		if x.Partition == nil || *x.Statements != *x.Partition {
			fmt.Fprintf(w, "statements\tpartition %d\n", *x.Statements)
		}
		for _, note := range x.Notes {
			fmt.Fprintf(w, "note\t%s\n", note)
		}
	}
	return w.Flush()
}

func (x *explanation) where() string {
	if x.Partition == nil {
		return "depends on the row"
	}
	return fmt.Sprint(*x.Partition)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
