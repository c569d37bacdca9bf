package schema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
	"github.com/canal-relay/canal-relay/relay/schema/layout"
)

// ErrNoTable says that no definition of a table can be had: the source has no
// such table, or there is no source to ask.
var ErrNoTable = errors.New("no such table")

// ErrStatement says that a statement about a captured table was not understood,
// so that its layout is not known any more.
var ErrStatement = errors.New("the layout of a captured table is unknown after a statement")

// LowerCaseUnknown is the setting of Config.LowerCase for a source that nobody
// asked: names are compared as they are, then, if that finds nothing, without
// regard to case, and count if exactly one table has them.
const LowerCaseUnknown = -1

// Config says how the source server names and encodes things.
type Config struct {
	LowerCase int    // lower_case_table_names of the source: 0, 1 or 2; or LowerCaseUnknown
	Charset   string // default character set of databases that nobody has described
	MariaDB   bool   // for texts that come without a statement: the source's, and scripts
	Version   uint32 // of that server, see ddl.Options
	// ServerTypes makes Column.Type what SHOW CREATE TABLE would print, instead of
	// the type as a statement writes it (canal.instance.tsdb.enable=false).
	ServerTypes bool

	SnapshotEvery time.Duration // how often the history gets a snapshot, if tables changed; 0: never
	Expire        time.Duration // how far back a stream may go; older history is removed; 0: never
}

// DefaultConfig is the configuration for a source about which nothing is known.
func DefaultConfig() Config { return Config{LowerCase: LowerCaseUnknown, Charset: "utf8mb4"} }

// Source tells a table's present definition.
type Source interface {
	// ShowCreateTable returns the server's CREATE TABLE text, ErrNoTable when
	// there is no such table.
	ShowCreateTable(ctx context.Context, schema, table string) (string, error)
	// ShowCreateDatabase returns the server's CREATE DATABASE text, ErrNoTable
	// when there is no such database.
	ShowCreateDatabase(ctx context.Context, schema string) (string, error)
	// End returns the end of its binlog.
	End(ctx context.Context) (position.Position, error)
	// Lacks reports whether it has not executed all of a set of GTIDs.
	Lacks(ctx context.Context, gtids string) (bool, error)
	// LowerCase returns lower_case_table_names.
	LowerCase(ctx context.Context) (int, error)
}

// Statement is a logged statement and how the server read it.
type Statement struct {
	SQL      string
	Database string // default database
	SQLMode  uint64
	MariaDB  bool
	Version  uint32            // see ddl.Options
	Charset  string            // default character set of new databases in the session; empty if not said
	At       position.Position // the end of the statement's event; what it leaves out of host and port is Load's
	Start    uint64            // offset of its start in At.File, which is where Canal says it is; 0 if not known
	// Captured reports whether rows of a table are sent on. Nil: none are.
	Captured func(schema, table string) bool
	// Session says that the statement uses a temporary table of its session, which
	// may have the name of another one.
	Session bool
	script  bool // from a schema script: types are the server's
}

// Tracker follows the layouts of tables along the stream. One goroutine owns
// it; the tables that it hands out never change.
type Tracker struct {
	config    Config
	source    Source
	history   History
	at        position.Position // of the last statement, or of Load
	before    position.Position // of the statement before that
	origin    position.Position // of Load
	tables    map[key]*layout.Layout
	databases map[string]string // default character sets
	unread    uint64
	snapped   time.Time    // when the last snapshot was taken
	changed   bool         // something was stored since
	script    bool         // the statement at hand is a script's
	rules     layout.Rules // of the statement at hand
}

// key names a table as the server compares names.
type key struct{ schema, table string }

// Table is the layout of a table at one position.
type Table = layout.Table

// Column is one column of a Table.
type Column = layout.Column

// NewTracker returns a tracker that knows no table. Without a source (nil) it
// knows only what statements define; without a history it forgets at the end.
func NewTracker(c Config, source Source, h History) *Tracker {
	if c.Charset == "" {
		c.Charset = "utf8mb4"
	}
	return &Tracker{config: c, source: source, history: h, tables: map[key]*layout.Layout{}, databases: map[string]string{}}
}

// Table returns a table's layout at this point of the stream. A table that no
// statement defined is fetched from the source, as it is there now: the caller
// compares it with the table map. ErrNoTable: there is no definition.
func (t *Tracker) Table(ctx context.Context, schema, name string) (*Table, error) {
	if l := t.find(schema, name); l != nil {
		return l.Table, nil
	}
	l, text, err := t.fetch(ctx, schema, name)
	if err != nil {
		return nil, err
	}
	l.From = FromSource
	t.tables[t.key(schema, name)] = l
	err = t.record(ctx, Entry{At: t.at, Schema: schema, Table: name, SQL: text, MariaDB: t.config.MariaDB, Version: t.config.Version})
	if err != nil {
		return nil, err
	}
	return l.Table, nil
}

// Serve notes the server that the stream comes from: it is the one that the
// source asks, and whose texts the tracker reads.
func (t *Tracker) Serve(mariaDB bool, version uint32) {
	t.config.MariaDB, t.config.Version = mariaDB, version
}

// Where a table's definition came from, for people.
const (
	FromStatement = "the DDL in the binlog"
	FromScript    = "the schema file"
	FromSource    = "the source, as it is now"
	FromMetadata  = "the table metadata in the binlog"
)

// From tells where a table's definition came from, before the statements that
// changed it since. A table that is not tracked has only its metadata.
func (t *Tracker) From(schema, name string) string {
	if l := t.find(schema, name); l != nil {
		return l.From
	}
	return FromMetadata
}

// Known returns a table's layout if it is tracked, else nil: it asks nobody.
func (t *Tracker) Known(schema, name string) *Table {
	if l := t.find(schema, name); l != nil {
		return l.Table
	}
	return nil
}

// Forget drops what is known of a table, so that the next Table fetches it.
func (t *Tracker) Forget(schema, name string) { t.drop(ddl.Name{Schema: schema, Table: name}) }

// NotUnderstood counts the statements so far that were not understood and
// touched no captured table.
func (t *Tracker) NotUnderstood() uint64 { return t.unread }

// fetch asks the source for a table.
func (t *Tracker) fetch(ctx context.Context, schema, name string) (*layout.Layout, string, error) {
	if t.source == nil {
		return nil, "", fmt.Errorf("%w: %s.%s: no statement and no schema file defines it", ErrNoTable, schema, name)
	}
	text, err := t.source.ShowCreateTable(ctx, schema, name)
	if err != nil {
		return nil, "", fmt.Errorf("fetch the definition of %s.%s: %w", schema, name, err)
	}
	l, err := t.define(schema, name, Statement{SQL: text, Database: schema, MariaDB: t.config.MariaDB, Version: t.config.Version})
	return l, text, err
}

// define reads a CREATE TABLE text, the server's own, as the definition of a
// table.
func (t *Tracker) define(schema, name string, q Statement) (*layout.Layout, error) {
	o := ddl.Options{SQLMode: q.SQLMode, MariaDB: q.MariaDB, Version: q.Version}
	if strings.HasPrefix(q.SQL, `CREATE TABLE "`) {
		o.SQLMode |= lex.ANSIQuotes // the session that asked runs with it
	}
	st, err := ddl.Parse(q.SQL, schema, o)
	if err != nil {
		return nil, fmt.Errorf("read the definition of %s.%s: %w", schema, name, err)
	}
	t.rules = layout.Rules{MariaDB: q.MariaDB} // types are the server's own text
	for _, c := range st.Changes {
		if c, ok := c.(ddl.CreateTable); ok && !c.Unknown {
			c.Name = ddl.Name{Schema: schema, Table: name}
			return t.create(c), nil
		}
	}
	return nil, fmt.Errorf("%w: %s.%s is not a table with columns of its own", ErrNoTable, schema, name)
}

// key is how the server compares names.
func (t *Tracker) key(schema, table string) key {
	if t.config.LowerCase > 0 {
		return key{strings.ToLower(schema), strings.ToLower(table)}
	}
	return key{schema, table}
}

// name is how the server stores a name.
func (t *Tracker) name(n ddl.Name) ddl.Name {
	if t.config.LowerCase == 1 {
		return ddl.Name{Schema: strings.ToLower(n.Schema), Table: strings.ToLower(n.Table)}
	}
	return n
}

// find looks a table up; nil when it is not tracked.
func (t *Tracker) find(schema, name string) *layout.Layout {
	if l := t.tables[t.key(schema, name)]; l != nil || t.config.LowerCase != LowerCaseUnknown {
		return l
	}
	var found *layout.Layout
	for k, l := range t.tables {
		if strings.EqualFold(k.schema, schema) && strings.EqualFold(k.table, name) {
			if found != nil {
				return nil
			}
			found = l
		}
	}
	return found
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
