package simple

import (
	"regexp"
	"slices"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// comment is what Canal takes out of a text before it looks at it: version
// comments too, but not those that begin with -- or #.
var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// rule is how one kind of statement begins, in the order in which they are
// tried. Canal does not ask for blanks between most words.
type rule struct {
	kind  ddl.Kind
	start *regexp.Regexp
}

var rules = []rule{
	{ddl.Alter, begin(`ALTER\s*(IGNORE)?\s*TABLE`)},
	{ddl.Create, begin(`CREATE\s*(TEMPORARY)?\s*TABLE`)},
	{ddl.Erase, begin(`DROP\s*(TEMPORARY)?\s*TABLE`)},
	{ddl.Truncate, begin(`TRUNCATE\s*(TABLE)?`)},
	{ddl.Rename, begin(`RENAME\s+TABLE\s+`)},
	{ddl.CIndex, begin(`CREATE\s*(UNIQUE)?\s*(FULLTEXT)?\s*(SPATIAL)?\s*INDEX.+?\sON\s`)},
	{ddl.DIndex, begin(`DROP\s*INDEX.+?\sON\s`)},
	{ddl.Insert, begin(`(INSERT|MERGE|REPLACE)`)},
	{ddl.Update, begin(`UPDATE`)},
	{ddl.Delete, begin(`DELETE`)},
}

func begin(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)^\s*` + pattern) }

// Results is what Canal's simple parser would announce for a statement, but
// with the real names of its tables, one result each. What it does not know is
// a Query of the default database. read is what ddl.Parse makes of the
// statement: it has the table of an INSERT, UPDATE or DELETE, which Canal does
// not announce and a table filter asks for.
func Results(sql, database string, o ddl.Options, read []ddl.Result) []ddl.Result {
	text := comment.ReplaceAllString(sql, " ")
	for _, r := range rules {
		at := r.start.FindStringIndex(text)
		if at == nil {
			continue
		}
		switch r.kind {
		case ddl.Insert, ddl.Update, ddl.Delete:
			if n, ok := Unannounced(sql, database, o); ok {
				return []ddl.Result{{Kind: r.kind, Schema: n.Schema, Table: n.Table}}
			}
			return dml(r.kind, database, read)
		}
		names := reader{lex.NewCursor(text[at[1]:], o), database}
		return names.results(r.kind)
	}
	return []ddl.Result{{Kind: ddl.Query, Schema: database}}
}

func dml(k ddl.Kind, database string, read []ddl.Result) []ddl.Result {
	if len(read) == 0 || read[0].Kind > ddl.Delete {
		return []ddl.Result{{Kind: k, Schema: database}}
	}
	read = slices.Clone(read)
	for i := range read {
		read[i].Kind = k
	}
	return read
}

// reader reads the tables that follow the first words of a statement.
type reader struct {
	lex.Cursor
	database string
}

func (r *reader) results(k ddl.Kind) []ddl.Result {
	r.Accept("IF", "NOT", "EXISTS")
	r.Accept("IF", "EXISTS")
	var all []ddl.Result
	for {
		schema, table := r.name()
		one := ddl.Result{Kind: k, Schema: schema, Table: table}
		if k == ddl.Rename && r.Accept("TO") {
			one.OldSchema, one.OldTable = schema, table
			one.Schema, one.Table = r.name()
		}
		all = append(all, one)
		several := k == ddl.Erase || k == ddl.Truncate || k == ddl.Rename
		if !several || !r.AcceptPunct(',') {
			return all
		}
	}
}

// name takes the name of a table; it is empty where there is none.
func (r *reader) name() (schema, table string) {
	table = r.ident()
	if !r.AcceptPunct('.') {
		return r.database, table
	}
	return table, r.ident()
}

func (r *reader) ident() string {
	n, ok := r.Peek(0).Name()
	if ok {
		r.Take()
	}
	return n
}
