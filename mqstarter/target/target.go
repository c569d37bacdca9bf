package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
)

// ErrTopic says that what is wrong, or away, is a topic and not a change.
var ErrTopic = errors.New("prepare topic")

// Target is where the changes of one table go.
type Target struct {
	Topic     string
	Limit     int // bytes of a message
	Rule      route.Rule
	Statement int32 // partition of what has no rows
	Key       []int // columns of the layout that are the key of a record; empty for records without

	columns []int // of the layout, whose texts are hashed
}

// Partition is where a change of so many rows goes if they are not spread.
func (t *Target) Partition(rows int) int32 {
	if rows == 0 {
		return t.Statement
	}
	return t.Rule.Partition
}

// Config is what Targets are told.
type Config struct {
	Router *route.Router
	Limit  int  // bytes of a message
	Fold   bool // column names in partition rules match in any case

	// TopicLimit lowers Limit for a topic. Nil: nothing is known of topics.
	TopicLimit func(ctx context.Context, topic string) (int, error)
	// Partitions counts those of a topic, where the router leaves that to it.
	Partitions func(ctx context.Context, topic string) (int32, error)
	// Column reports whether a column is sent. Nil: all are.
	Column func(schema, table, column string) bool
	// Warn says once what the settings cannot do for a table. Nil: to nobody.
	Warn *Once
	// Homeless counts statements that have no topic. Nil: nobody does.
	Homeless func()
}

// most bounds the memory of targets: a DDL makes a new layout, and statements
// may name any table.
const most = 4096

// Targets remembers targets: those of row events by layout, so that the hot
// path compares a pointer, those of statements by name. It belongs to one
// goroutine.
type Targets struct {
	c Config

	layouts    map[*event.Layout]*Target
	statements map[[2]string]*Target
	layout     *event.Layout // the latest, and its target
	target     *Target
}

// New returns Targets that know none yet.
func New(c Config) *Targets {
	return &Targets{c: c, layouts: make(map[*event.Layout]*Target), statements: make(map[[2]string]*Target)}
}

// Of returns the target of a change. It waits only for what is not known yet of
// a topic. A statement that no rule gives a topic, as GRANT with nothing but
// dynamic topics, has none: it is counted and the target is nil. Rows without a
// topic are an error.
func (t *Targets) Of(ctx context.Context, c *event.Change) (*Target, error) {
	if c.Layout == nil {
		return t.statement(ctx, c)
	}
	if c.Layout == t.layout {
		return t.target, nil
	}
	to := t.layouts[c.Layout]
	if to == nil {
		var err error
		if to, err = t.make(ctx, c); err != nil {
			return nil, err
		}
		if len(t.layouts) >= most {
			clear(t.layouts)
		}
		t.layouts[c.Layout] = to
	}
	t.layout, t.target = c.Layout, to
	return to, nil
}

func (t *Targets) statement(ctx context.Context, c *event.Change) (*Target, error) {
	name := [2]string{c.Schema, c.Table}
	if to := t.statements[name]; to != nil {
		return to, nil
	}
	to, err := t.make(ctx, c)
	if errors.Is(err, errNoTopic) {
		t.c.Warn.Warn("topic "+c.Schema+"."+c.Table, "a statement is not sent: no rule gives it a topic, and there is no default topic",
			"type", c.Kind.String(), "schema", c.Schema, "table", c.Table)
		if t.c.Homeless != nil {
			t.c.Homeless()
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(t.statements) >= most {
		clear(t.statements)
	}
	t.statements[name] = to
	return to, nil
}

var errNoTopic = errors.New("no rule gives it a topic, and there is no default topic")

func (t *Targets) make(ctx context.Context, c *event.Change) (*Target, error) {
	router := t.c.Router
	to := &Target{Topic: router.Topic(c.Schema, c.Table), Limit: t.c.Limit, Statement: router.Statement()}
	if err := router.Err(); err != nil {
		return nil, err
	}
	if to.Topic == "" {
		return nil, errNoTopic
	}
	if t.c.TopicLimit != nil {
		limit, err := t.c.TopicLimit(ctx, to.Topic)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrTopic, err)
		}
		to.Limit = min(to.Limit, limit)
	}
	if c.Layout != nil {
		if err := t.rows(ctx, to, c); err != nil {
			return nil, err
		}
	}
	return to, router.Err()
}

// rows fills in what a target has for rows.
func (t *Targets) rows(ctx context.Context, to *Target, c *event.Change) error {
	router, name := t.c.Router, c.Schema+"."+c.Table
	var count int32 // the router's own
	if router.FromTopic() {
		if t.c.Partitions == nil {
			return errors.New("the partitions of its topic cannot be counted here")
		}
		var err error
		if count, err = t.c.Partitions(ctx, to.Topic); err != nil {
			return fmt.Errorf("count partitions: %w", err)
		}
	}
	to.Rule = router.Rule(to.Topic, c.Schema, c.Table, count)
	if to.Rule.Hashed {
		var missing []string
		to.columns, missing = find(to.Rule.PrimaryKey, to.Rule.Columns, c.Layout, t.c.Fold)
		switch {
		case to.Rule.PrimaryKey && len(to.columns) == 0:
			t.c.Warn.Warn("pk "+name, "a table has no primary key: as in Canal all of its rows go to one partition, by the schema's name alone",
				"table", name, "rule", router.HashItem(c.Schema, c.Table))
		case len(missing) > 0:
			t.c.Warn.Warn("columns "+name, "columns that are to pick the partition are not in the table: as in Canal they count as empty",
				"table", name, "columns", missing, "rule", router.HashItem(c.Schema, c.Table))
		}
	}
	key, ok := router.Key(c.Schema, c.Table)
	if !ok {
		return nil
	}
	var missing []string
	to.Key, missing = find(key.PrimaryKey, key.Columns, c.Layout, true)
	to.Key = slices.DeleteFunc(slices.Clone(to.Key), func(i int) bool {
		column := c.Layout.Columns[i].Name
		if t.c.Column == nil || t.c.Column(c.Schema, c.Table, column) {
			return false
		}
		missing = append(missing, column)
		return true
	})
	if len(to.Key) == 0 || len(missing) > 0 {
		t.c.Warn.Warn("key "+name, "the key of a table's records lacks columns; without any they have no key", "table", name, "lacks", missing)
	}
	return nil
}

// find returns the columns of the primary key, or those of some names, and the
// names that the layout lacks. Canal finds the columns of partition rules in any
// case in its protobuf form, in the flat form only as they are.
func find(primaryKey bool, names []string, l *event.Layout, fold bool) (columns []int, missing []string) {
	if primaryKey {
		return l.Table.PrimaryKey, nil
	}
	for _, name := range names {
		found := false
		for i := range l.Columns {
			if have := l.Columns[i].Name; have != name && !(fold && strings.EqualFold(have, name)) {
				continue
			}
			found = true
			if !fold || !slices.Contains(columns, i) { // the flat form looks for each name, the other one through the columns
				columns = append(columns, i)
			}
		}
		if !found {
			missing = append(missing, name)
		}
	}
	return columns, missing
}

// Once logs each warning one time. It is safe for concurrent use.
type Once struct {
	log  *slog.Logger
	mu   sync.Mutex
	said map[string]bool
}

// NewOnce returns a Once that has said nothing yet.
func NewOnce(l *slog.Logger) *Once { return &Once{log: l, said: make(map[string]bool)} }

// Warn logs a warning the first time that key occurs; so many keys later it may
// come again.
func (o *Once) Warn(key, text string, args ...any) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said[key] {
		return
	}
	if len(o.said) >= most {
		clear(o.said)
	}
	o.said[key] = true
	o.log.Warn(text, args...) //nolint:sloglint // constant at every caller
}
