package schema

import (
	"context"

	"github.com/canal-relay/canal-relay/relay/position"
)

// Entry is one step of a schema history: a DDL statement that changed a layout,
// or, with Table set, the definition of a table as it was fetched. It is
// encoded as JSON.
type Entry struct {
	At       position.Position `json:"at"`              // the layout holds from here on
	Schema   string            `json:"schema,omitzero"` // of a definition
	Table    string            `json:"table,omitzero"`
	SQL      string            `json:"sql"`               // the statement, or the CREATE TABLE text
	Database string            `json:"database,omitzero"` // the statement's default database
	SQLMode  uint64            `json:"sqlMode,omitzero"`
	MariaDB  bool              `json:"mariadb,omitzero"`
	Version  uint32            `json:"version,omitzero"`
}

// History keeps entries for the next owner of a destination.
type History interface {
	// Load returns the entries stored so far, in the order in which they were
	// appended. It may leave out those that are after the position.
	Load(ctx context.Context, at position.Position) ([]Entry, error)
	// Append stores an entry durably before it returns. Storing an entry again
	// does no harm.
	Append(ctx context.Context, e Entry) error
}

// standing is the part of a history that holds at a position. A stream that
// went back to an earlier position appends its statements a second time: an
// entry makes void what was appended before it and lies behind it.
func standing(entries []Entry, at position.Position) []Entry {
	var kept []Entry
	for _, e := range entries {
		if !before(e.At, at) {
			continue
		}
		for n := len(kept); n > 0; n-- {
			last := kept[n-1].At
			if before(last, e.At) && (e.Table != "" || !before(e.At, last)) {
				break
			}
			kept = kept[:n-1]
		}
		kept = append(kept, e)
	}
	return kept
}

// before reports that p is known not to be after q.
func before(p, q position.Position) bool {
	covered, comparable := q.Covers(p)
	return covered && comparable
}

// Load forgets all layouts and takes up the ones that the history holds at a
// position. Without a history it only notes the position.
func (t *Tracker) Load(ctx context.Context, at position.Position) error {
	t.at, t.origin = at, at
	if t.history == nil {
		return nil
	}
	entries, err := t.history.Load(ctx, at)
	if err != nil {
		return wrap("load schema history", err)
	}
	t.tables, t.databases = map[key]*layout{}, map[string]string{}
	for _, e := range standing(entries, at) {
		s := Statement{SQL: e.SQL, Database: e.Database, SQLMode: e.SQLMode, MariaDB: e.MariaDB, Version: e.Version}
		if e.Table == "" {
			if _, _, err := t.replay(s); err != nil {
				return wrap("replay schema history", err)
			}
			continue
		}
		l, err := t.define(e.Schema, e.Table, s)
		if err != nil {
			return wrap("replay schema history", err)
		}
		t.tables[t.key(e.Schema, e.Table)] = l
	}
	return nil
}

// record stores what was learnt, if anyone keeps it.
func (t *Tracker) record(ctx context.Context, e Entry) error {
	if t.history == nil {
		return nil
	}
	e.At.Prepared = nil
	return wrap("store schema history", t.history.Append(ctx, e))
}
