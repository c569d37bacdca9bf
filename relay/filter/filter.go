package filter

import (
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/relay/pattern"
)

// maxCached bounds the cache of table answers. A source with more tables, or a
// run of short-lived ones, makes it start anew.
const maxCached = 1 << 16

// DefaultRegex captures every table of every schema.
const DefaultRegex = `.*\..*`

// Names of settings.
const (
	prefix        = "canal.instance.filter."
	keyRegex      = prefix + "regex"
	keyBlackRegex = prefix + "black.regex"
)

// Config is what a destination captures. The texts are Canal's settings, all of
// them below canal.instance.filter.
type Config struct {
	Regex      string // regex: patterns over schema.table that are captured; empty captures all
	BlackRegex string // black.regex: of these, those that are not; empty refuses none
	Field      string // field: schema.table:col1/col2,…: of these tables, only these columns
	BlackField string // black.field: of these tables, not these columns

	// The rest drops events whatever their table. Filter does not look at it:
	// the relay does.

	DMLInsert bool // dml.insert: drop INSERT, of rows and of statements
	DMLUpdate bool // dml.update: drop UPDATE
	DMLDelete bool // dml.delete: drop DELETE
	Rows      bool // rows: drop all row events
	QueryDML  bool // query.dml: drop DML statements and the texts that accompany row events
	QueryDDL  bool // query.ddl: drop every other statement; table layouts still follow it
	QueryDCL  bool // query.dcl: drop statements of type QUERY (grants, CREATE DATABASE, what is not understood)

	Transactions bool // transaction.entry: drop where transactions begin and end, but now and then
}

// DefaultConfig captures everything.
func DefaultConfig() Config { return Config{Regex: DefaultRegex} }

// Filter answers for one destination. Table and Err belong to the relay's
// stream goroutine; Column can be called from any.
type Filter struct {
	config                   Config
	white, black             *pattern.Pattern // nil: all, none
	whiteFields, blackFields fields

	tables map[table]bool // answers given; owned by the stream goroutine
	err    error
}

type table struct{ schema, name string }

// New compiles c. A pattern that Canal's engine refuses is an error that names
// the key and the pattern.
func New(c Config) (*Filter, error) {
	f := &Filter{
		config:      c,
		whiteFields: parseFields(c.Field),
		blackFields: parseFields(c.BlackField),
		tables:      make(map[table]bool),
	}
	var err error
	if f.white, err = compile(keyRegex, c.Regex); err != nil {
		return nil, err
	}
	if f.black, err = compile(keyBlackRegex, c.BlackRegex); err != nil {
		return nil, err
	}
	return f, nil
}

func compile(key, list string) (*pattern.Pattern, error) {
	pieces := split(list)
	if len(pieces) == 0 {
		return nil, nil
	}
	p, err := pattern.Compile(pieces...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return p, nil
}

// Table reports whether a table is captured: by the white list and not by the
// black one. Case does not matter. It is not safe for concurrent use.
//
// A pattern that takes too long for a name leaves the table captured, because a
// change too many can be seen and one too few cannot; Err then says so.
func (f *Filter) Table(schema, name string) bool {
	key := table{schema, name}
	captured, ok := f.tables[key]
	if !ok {
		captured = f.match(f.white, true, schema, name) && !f.match(f.black, false, schema, name)
		if len(f.tables) >= maxCached {
			clear(f.tables)
		}
		f.tables[table{strings.Clone(schema), strings.Clone(name)}] = captured
	}
	return captured
}

func (f *Filter) match(p *pattern.Pattern, none bool, schema, name string) bool {
	if p == nil {
		return none
	}
	ok, err := p.Match(schema + "." + name)
	if err != nil {
		f.err = fmt.Errorf("filter table: %w", err)
		return none
	}
	return ok
}

// Err returns the first reason why an answer of Table cannot be trusted: a
// pattern that ran into its time limit. The term should end with it.
func (f *Filter) Err() error { return f.err }

// Column reports whether a column of a captured table is captured. Names are
// compared ignoring case; key columns are columns like others. It allocates:
// ask once per table layout.
func (f *Filter) Column(schema, name, column string) bool {
	if len(f.whiteFields) == 0 && len(f.blackFields) == 0 {
		return true
	}
	key := strings.ToUpper(schema + "." + name)
	column = strings.ToUpper(column)
	if only := f.whiteFields[key]; len(only) > 0 {
		return only[column]
	}
	return !f.blackFields[key][column]
}

// split cuts a list at every comma, also at one inside brackets or behind a
// backslash, as Canal 1.1.8 does: Torn tells of the pieces that come of it.
// Empty pieces are dropped; blanks belong to the pieces.
func split(list string) []string {
	var pieces []string
	for piece := range strings.SplitSeq(list, ",") {
		if piece != "" {
			pieces = append(pieces, piece)
		}
	}
	return pieces
}

// Torn returns the first pattern of a list that a comma inside it cuts in two,
// so that neither half means what was written: \d{1,2} becomes \d{1 and 2}.
// It is empty when there is none.
func Torn(list string) string {
	depth, escaped := 0, false
	for i, c := range list {
		switch {
		case c == ',' && (depth > 0 || escaped):
			start := strings.LastIndexByte(list[:i], ',') + 1
			end := strings.IndexByte(list[i+1:], ',')
			if end < 0 {
				return list[start:]
			}
			return list[start : i+1+end]
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case strings.ContainsRune("{[(", c):
			depth++
		case strings.ContainsRune("}])", c):
			depth = max(depth-1, 0)
		}
	}
	return ""
}

// fields are columns by table, both in upper case.
type fields map[string]map[string]bool

// parseFields reads schema.table:col1/col2,…. As in Canal, a piece that does not
// have two parts is skipped, and the last piece of a table counts. Colons at the
// end make no part, those at the start do. Blanks alone are a column without a
// name: as a white list, nothing of the table.
func parseFields(list string) fields {
	f := make(fields)
	for piece := range strings.SplitSeq(list, ",") {
		name, columns, ok := strings.Cut(strings.TrimRight(piece, ":"), ":")
		if !ok || strings.Contains(columns, ":") {
			continue
		}
		set := make(map[string]bool)
		columns = trim(columns)
		for column := range strings.SplitSeq(columns, "/") {
			if column != "" || columns == "" {
				set[strings.ToUpper(column)] = true
			}
		}
		f[strings.ToUpper(trim(name))] = set
	}
	return f
}

// trim is Java's: everything up to U+0020 goes, other blanks stay.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
