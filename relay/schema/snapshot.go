package schema

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema/layout"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// snapshot stores all that is tracked, if something was stored since the last
// time and that is long enough ago; then what nobody needs any more is removed.
// A stream that goes on here, or at any later position, need not read older
// entries.
func (t *Tracker) snapshot(ctx context.Context, at position.Position) error {
	now := time.Now()
	if t.history == nil || t.config.SnapshotEvery <= 0 || !t.changed || now.Sub(t.snapped) < t.config.SnapshotEvery {
		return nil
	}
	if err := t.store(ctx, at, now); err != nil || t.config.Expire <= 0 {
		return err
	}
	return wrap("remove old schema history", t.history.Trim(ctx, now.Add(-t.config.Expire)))
}

// store appends a snapshot, which makes void what the history holds of later
// positions.
func (t *Tracker) store(ctx context.Context, at position.Position, now time.Time) error {
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
	return nil
}

// Adopt tracks a table as its table map describes it, from here on. Types read as
// the server would print them.
func (t *Tracker) Adopt(ctx context.Context, table *Table) (*Table, error) {
	s := show.Server{MariaDB: t.config.MariaDB, Version: t.config.Version}
	for i := range table.Columns {
		c := &table.Columns[i]
		c.Type = s.Type(c.Written())
	}
	l := &layout.Layout{Table: table, Charset: t.charset(table.Schema)}
	e := Entry{At: t.at, Schema: table.Schema, Table: table.Name, Layout: l}
	if err := t.take(e); err != nil {
		return nil, err
	}
	t.find(table.Schema, table.Name).From = FromMetadata
	return table, t.record(ctx, e)
}

// Check compares the tracked tables that are captured with the source's, if a
// position, where the stream stands, is the end of its binlog, where both must be the same: a change
// that was not logged, or a restored backup, shows there. Those that differ are
// replaced, and returned. Anywhere else nothing is compared, and done is false.
func (t *Tracker) Check(ctx context.Context, at position.Position, captured func(schema, table string) bool) (differ []*Table, done bool, err error) {
	if t.source == nil || len(t.tables) == 0 {
		return nil, true, nil
	}
	if end, err := t.atEnd(ctx, at); !end {
		return nil, false, err
	}
	found := map[key]*layout.Layout{}
	texts := map[key]string{}
	for k, l := range t.tables {
		if !captured(l.Schema, l.Name) {
			continue
		}
		theirs, text, err := t.fetch(ctx, l.Schema, l.Name)
		switch {
		case errors.Is(err, ErrNoTable):
			found[k] = nil
		case err != nil:
			return nil, false, err
		case !t.same(l.Columns, theirs.Columns):
			found[k], texts[k] = theirs, text
		}
	}
	if end, err := t.atEnd(ctx, at); !end { // a statement came in between
		return nil, false, err
	}
	for k, theirs := range found {
		differ = append(differ, t.tables[k].Table)
		if theirs == nil {
			delete(t.tables, k)
			continue
		}
		theirs.From, t.tables[k] = FromSource, theirs
		e := Entry{At: t.at, Schema: theirs.Schema, Table: theirs.Name, SQL: texts[k], MariaDB: t.config.MariaDB, Version: t.config.Version}
		if err := t.record(ctx, e); err != nil {
			return differ, false, err
		}
	}
	return differ, true, nil
}

// same compares names and kinds of types. Sizes are left to the table map: how a
// statement writes them need not be how the source prints them.
func (t *Tracker) same(mine, theirs []Column) bool {
	s := show.Server{MariaDB: t.config.MariaDB, Version: t.config.Version}
	kind := func(c Column) string {
		word, _, _ := strings.Cut(strings.ReplaceAll(s.Type(c.Written()), "(", " "), " ")
		for _, size := range []string{"tiny", "medium", "long"} {
			word = strings.TrimPrefix(word, size)
		}
		return word
	}
	return sameNames(mine, theirs) && slices.EqualFunc(mine, theirs, func(a, b Column) bool { return kind(a) == kind(b) && a.Unsigned == b.Unsigned })
}

// atEnd reports whether nothing was written to the source's binlog behind the
// position.
func (t *Tracker) atEnd(ctx context.Context, at position.Position) (bool, error) {
	end, err := t.source.End(ctx)
	if err != nil {
		return false, err
	}
	if at.GTIDs != "" && end.GTIDs != "" {
		at.File, end.File = "", ""
	} else if end.File == at.File && end.Offset <= at.Offset+xidSize {
		return true, nil // a position stands at the start of an XID event
	}
	end.Host, end.Port, end.ServerUUID = at.Host, at.Port, at.ServerUUID
	return Before(end, at) && !at.IsZero(), nil
}

const xidSize = 19 + 8 + 4 // header, number, checksum

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
		entries = append(entries, Entry{Schema: l.Schema, Table: l.Name, Layout: l})
	}
	if entries == nil { // to say so
		entries = []Entry{{}}
	}
	return entries
}
