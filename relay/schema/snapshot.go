package schema

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
)

// Layout is a table in a snapshot, with what later statements need.
type Layout struct {
	Table     *Table   `json:"table"`
	Charset   string   `json:"charset,omitzero"` // default of new columns
	Versioned bool     `json:"versioned,omitzero"`
	Period    []string `json:"period,omitzero"`
}

func (l *Layout) tracked() *layout {
	return &layout{Table: l.Table, charset: l.Charset, versioned: l.Versioned, period: l.Period}
}

// snapshot stores all that is tracked, if something was stored since the last
// time and that is long enough ago; then what nobody needs any more is removed.
// A stream that goes on here, or at any later position, need not read older
// entries.
func (t *Tracker) snapshot(ctx context.Context, at position.Position) error {
	now := time.Now()
	if t.history == nil || t.config.SnapshotEvery <= 0 || !t.changed || now.Sub(t.snapped) < t.config.SnapshotEvery {
		return nil
	}
	entries := t.parts()
	at.Prepared = nil
	for i := range entries {
		e := &entries[i]
		e.At, e.Snapshot, e.Part, e.Of = at, now.Unix(), i+1, len(entries)
		e.MariaDB, e.Version = t.config.MariaDB, t.config.Version
		if err := t.history.Append(ctx, *e); err != nil {
			return wrap("store a snapshot of the schema", err)
		}
	}
	t.snapped, t.changed = now, false
	if t.config.Expire <= 0 {
		return nil
	}
	return wrap("remove old schema history", t.history.Trim(ctx, now.Add(-t.config.Expire)))
}

// parts are the databases and tables of a snapshot, in the order of their names.
func (t *Tracker) parts() []Entry {
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(t.databases)) {
		entries = append(entries, Entry{Schema: name, Charset: t.databases[name]})
	}
	keys := slices.SortedFunc(maps.Keys(t.tables), func(a, b key) int {
		return strings.Compare(a.schema+"\x00"+a.table, b.schema+"\x00"+b.table)
	})
	for _, k := range keys {
		l := t.tables[k]
		entries = append(entries, Entry{Schema: l.Schema, Table: l.Name,
			Layout: &Layout{Table: l.Table, Charset: l.charset, Versioned: l.versioned, Period: l.period}})
	}
	return entries
}

// Create is a CREATE TABLE statement that makes a table with a layout's columns
// and key; an expression that only the server knows is NULL in it.
func (l *Layout) Create() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quote(l.Table.Name) + " (")
	for i, c := range l.Table.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(c.Name) + " " + c.Type)
		if c.Charset != "" && c.Charset != "binary" {
			b.WriteString(" CHARACTER SET " + c.Charset)
		}
		if c.Collation != "" {
			b.WriteString(" COLLATE " + c.Collation)
		}
		if c.Generated {
			b.WriteString(" GENERATED ALWAYS AS (NULL)")
		}
		if !c.Nullable {
			b.WriteString(" NOT NULL")
		}
	}
	for i, n := range l.Table.PrimaryKey {
		b.WriteString([]string{", PRIMARY KEY (", ", "}[min(i, 1)] + quote(l.Table.Columns[n].Name))
	}
	if len(l.Table.PrimaryKey) > 0 {
		b.WriteString(")")
	}
	return b.String() + ")"
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
