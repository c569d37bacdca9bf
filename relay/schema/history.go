package schema

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema/layout"
)

// Entry is one step of a schema history: a DDL statement that changed a layout,
// or, with Schema set, a definition: of a table as it was fetched, of a database,
// or a part of a snapshot. It is encoded as JSON.
type Entry struct {
	At       position.Position `json:"at"`              // the layout holds from here on
	Start    uint64            `json:"start,omitzero"`  // of a statement: see Statement.Start
	Schema   string            `json:"schema,omitzero"` // of a definition
	Table    string            `json:"table,omitzero"`
	SQL      string            `json:"sql,omitzero"`      // the statement, or the CREATE text
	Database string            `json:"database,omitzero"` // the statement's default database
	SQLMode  uint64            `json:"sqlMode,omitzero"`
	MariaDB  bool              `json:"mariadb,omitzero"`
	Version  uint32            `json:"version,omitzero"`
	Charset  string            `json:"charset,omitzero"` // of a statement: Statement.Charset; of a database in a snapshot: its default

	// A snapshot says what every tracked table looked like: entries that follow
	// one another, Part 1 to Of, all with the time at which it was taken, in
	// seconds since 1970.
	Snapshot int64          `json:"snapshot,omitzero"`
	Part     int            `json:"part,omitzero"`
	Of       int            `json:"of,omitzero"`
	Layout   *layout.Layout `json:"layout,omitzero"` // of a table in a snapshot
}

// History keeps entries for the next owner of a destination.
type History interface {
	// Load returns the entries stored so far, in the order in which they were
	// appended. It may leave out those of after the position's time.
	Load(ctx context.Context, at position.Position) ([]Entry, error)
	// Append stores an entry durably before it returns. Storing an entry again
	// does no harm.
	Append(ctx context.Context, e Entry) error
	// Trim may remove what stands before the newest snapshot that was taken
	// before a time.
	Trim(ctx context.Context, before time.Time) error
}

// standing is the part of a history that holds at a position.
func standing(entries []Entry, at position.Position) []Entry {
	kept := valid(slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !Before(e.At, at) }))
	return kept[newest(kept, math.MaxInt64):]
}

// valid is a history without what is void. A stream that went back to an earlier
// position appends its statements a second time: an entry makes void what was
// appended before it and lies behind it.
func valid(entries []Entry) []Entry {
	var kept []Entry
	for _, e := range entries {
		for n := len(kept); n > 0; n-- {
			last := kept[n-1].At
			if Before(last, e.At) && (e.Schema != "" || e.Snapshot != 0 || !Before(e.At, last)) {
				break
			}
			kept = kept[:n-1]
		}
		kept = append(kept, e)
	}
	return kept
}

// Ahead lists what the history holds at a position and not at an earlier one, five
// at most: statements, shortened, and tables whose definition was fetched then, and
// may be what a statement that nobody needed made of them. Without a history all
// layouts are forgotten, since nobody knows which of them are from before.
func (t *Tracker) Ahead(ctx context.Context, at, earlier position.Position) ([]string, error) {
	if t.history == nil {
		clear(t.tables)
		return nil, nil
	}
	entries, err := t.history.Load(ctx, earlier)
	if err != nil {
		return nil, wrap("load schema history", err)
	}
	var ahead []string
	for _, e := range valid(entries) {
		if e.Snapshot != 0 || e.At.GTIDs == "" || !Before(e.At, at) || Before(e.At, earlier) || len(ahead) == mostAhead {
			continue
		}
		what := shorten(e.SQL)
		if e.Schema != "" {
			what = strings.TrimSuffix("the definition of "+e.Schema+"."+e.Table, ".")
		}
		ahead = append(ahead, what)
	}
	return ahead, nil
}

const mostAhead = 5

// newest is where the newest whole snapshot begins that was taken before a
// time; 0 if there is none.
func newest(entries []Entry, before int64) int {
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		first := i - e.Of + 1
		if e.Snapshot == 0 || e.Snapshot >= before || e.Part != e.Of || first < 0 {
			continue
		}
		whole := true
		for n, part := range entries[first : i+1] {
			whole = whole && part.Snapshot == e.Snapshot && part.Part == n+1
		}
		if whole {
			return first
		}
	}
	return 0
}

// Needless is the number of entries, from the first on, that History.Trim may
// remove.
func Needless(entries []Entry, before time.Time) int { return newest(entries, before.Unix()) }

// Before reports that p is known not to be after q. A position that names no
// point is before every other. MariaDB tells its servers apart by their addresses
// only, and another one may have taken that over, with files of its own: there
// GTIDs decide. Another server's position without GTIDs is compared by its time, by
// which streams go on there.
func Before(p, q position.Position) bool {
	if p.IsZero() {
		return true
	}
	if p.ServerUUID == "" && q.ServerUUID == "" {
		byGTID := position.Position{GTIDs: q.GTIDs}
		if covered, comparable := byGTID.Covers(position.Position{GTIDs: p.GTIDs}); comparable {
			return covered
		}
	}
	covered, comparable := q.Covers(p)
	if !comparable && elsewhere(p, q) && !p.Time.IsZero() && !q.Time.IsZero() {
		return !p.Time.After(q.Time)
	}
	return covered && comparable
}

// elsewhere reports that two positions are of servers between which only times
// are common.
func elsewhere(p, q position.Position) bool {
	return p.ServerUUID != "" && q.ServerUUID != "" && !strings.EqualFold(p.ServerUUID, q.ServerUUID) && (p.GTIDs == "" || q.GTIDs == "")
}

// Load forgets all layouts and takes up the ones that the history holds at a
// position. Without a history it only notes the position.
func (t *Tracker) Load(ctx context.Context, at position.Position) error {
	t.at, t.origin = at, at
	if t.source != nil && t.config.LowerCase == LowerCaseUnknown {
		var err error
		if t.config.LowerCase, err = t.source.LowerCase(ctx); err != nil {
			t.config.LowerCase = LowerCaseUnknown
			return err
		}
	}
	if t.history == nil {
		return nil
	}
	entries, err := t.history.Load(ctx, at)
	if err != nil {
		return wrap("load schema history", err)
	}
	t.tables, t.databases = map[key]*layout.Layout{}, map[string]string{}
	t.snapped, t.changed = time.Now(), false
	last := time.Time{}
	for _, e := range standing(entries, at) {
		if err := t.take(e); err != nil {
			return wrap("replay schema history", err)
		}
		last = e.At.Time
	}
	if void, err := t.void(ctx, entries, at, last); void || err != nil {
		return err
	}
	if t.changed && len(entries) > 0 {
		t.snapped = time.Unix(entries[0].Snapshot, 0) // 0 is long ago
		return t.snapshot(ctx, at)
	}
	return nil
}

// void makes void what is stored of later positions where the source never got
// that: it may never write anything that would. Its numbers grow past it all the
// same, which is all that a position on MariaDB says. Without GTIDs all that is of
// later times on another server becomes void. It reports whether anything was stored.
// The time of the position may be that of something lost: what the source has done
// instead may be older, and is not older than the last entry that holds.
func (t *Tracker) void(ctx context.Context, entries []Entry, at position.Position, last time.Time) (bool, error) {
	later, others := "", false
	for _, e := range valid(entries) {
		others = elsewhere(e.At, at) && !at.Time.IsZero()
		if Before(at, e.At) && !Before(e.At, at) {
			later = e.At.GTIDs
		}
	}
	if t.source == nil || later == "" && !others {
		return false, nil
	}
	if !others {
		if lacks, err := t.source.Lacks(ctx, later); err != nil || !lacks {
			return false, err
		}
	}
	at.Time = last
	return true, t.store(ctx, at, time.Now())
}

// take takes up one entry.
func (t *Tracker) take(e Entry) error {
	s := Statement{SQL: e.SQL, Database: e.Database, SQLMode: e.SQLMode, MariaDB: e.MariaDB, Version: e.Version, Charset: e.Charset}
	switch {
	case e.Snapshot != 0:
		t.snapped, t.changed = time.Unix(e.Snapshot, 0), false
		if e.SQL != "" { // Canal's
			_, _, err := t.replay(s)
			return err
		}
		if e.Layout != nil {
			t.tables[t.key(e.Layout.Table.Schema, e.Layout.Table.Name)] = e.Layout
		} else if e.Schema != "" {
			t.databases[t.key(e.Schema, "").schema] = e.Charset
		}
		return nil
	case e.Table == "":
		t.changed = true
		_, _, err := t.replay(s)
		return err
	}
	t.changed = true
	if e.Layout != nil {
		t.tables[t.key(e.Schema, e.Table)] = e.Layout
		return nil
	}
	l, err := t.define(e.Schema, e.Table, s)
	if err == nil {
		t.tables[t.key(e.Schema, e.Table)] = l
	}
	return err
}

// record stores what was learnt, if anyone keeps it.
func (t *Tracker) record(ctx context.Context, e Entry) error {
	if t.history == nil {
		return nil
	}
	e.At.Prepared = nil
	t.changed = true
	return wrap("store schema history", t.history.Append(ctx, e))
}
