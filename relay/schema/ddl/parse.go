package ddl

import (
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// parser reads one text.
type parser struct {
	lex.Cursor
	db    string
	st    Statement
	first int  // results of earlier statements of the text
	kind  Kind // of the statement, once its table is known
	table Name // the table that the statement is about, once known
}

// Parse reads a text as the server did that logged it with this default
// database. The error, an ErrSyntax, means that a statement about tables was
// not understood: its Changes then forget the table, if its name was read, and
// its Result announces that table, or nothing but Query. Texts that are no
// business of tables have no Results, nor has one that is all version comment and
// changes no layout; what no server we know would run is a Query without names.
func Parse(sql, database string, o Options) (Statement, error) {
	p := &parser{Cursor: lex.NewCursor(sql, o), db: database}
	for p.Failed() == "" {
		for p.Peek(0).IsPunct(';') {
			p.Take()
		}
		if p.End() {
			break
		}
		p.first, p.kind, p.table = len(p.st.Results), 0, Name{}
		p.statement()
		p.skipStatement()
	}
	if p.Failed() == "" {
		if len(p.st.Changes) == 0 && inComment(sql) && len(p.st.Results) > 0 && p.st.Results[0].Kind > Delete {
			p.st.Results = nil
		}
		return p.st, nil
	}
	p.st.Results = p.st.Results[:p.first]
	if p.table == (Name{}) {
		p.result(Query, Name{})
	} else {
		p.result(p.kind, p.table)
		p.change(Forget{p.table})
	}
	return p.st, fmt.Errorf("%w: %s", ErrSyntax, p.Failed())
}

// inComment reports a text that is one version comment, as mysqldump writes
// ALTER TABLE … DISABLE KEYS. Canal takes it for a comment.
func inComment(sql string) bool {
	sql = strings.TrimSpace(sql)
	return strings.HasPrefix(sql, "/*!") && strings.Index(sql, "*/") == len(sql)-2
}

// itemEnd reports the end of an item of a list: a comma, the closing bracket of
// the list, or the end of the statement.
func (p *parser) itemEnd() bool {
	t := p.Peek(0)
	return t.Kind == lex.End || t.IsPunct(',') || t.IsPunct(')') || t.IsPunct(';')
}

// skipItem passes over the rest of an item.
func (p *parser) skipItem() {
	for !p.itemEnd() {
		p.Skip()
	}
}

func (p *parser) statementEnd() bool { return p.End() || p.Peek(0).IsPunct(';') }

// skipStatement passes over the rest of the statement.
func (p *parser) skipStatement() {
	for !p.statementEnd() {
		p.Skip()
	}
}

// ident takes an identifier.
func (p *parser) ident() string {
	n, ok := p.Peek(0).Name()
	if !ok {
		p.Fail("a name")
		return ""
	}
	p.Take()
	return n
}

// name takes the name of a table, with or without its database.
func (p *parser) name() Name {
	p.AcceptPunct('.') // .t is t
	n := p.ident()
	if !p.AcceptPunct('.') {
		return Name{p.db, n}
	}
	return Name{n, p.ident()}
}

// subject takes the name of the table that the statement is about.
func (p *parser) subject(k Kind) Name {
	n := p.name()
	if p.Failed() == "" {
		p.kind, p.table = k, n
	}
	return n
}

func (p *parser) result(k Kind, n Name) {
	p.st.Results = append(p.st.Results, Result{Kind: k, Schema: n.Schema, Table: n.Table})
}

func renamed(from, to Name) Result {
	return Result{Kind: Rename, Schema: to.Schema, Table: to.Table, OldSchema: from.Schema, OldTable: from.Table}
}

func (p *parser) change(c Change) { p.st.Changes = append(p.st.Changes, c) }

// ifExists takes IF EXISTS or IF NOT EXISTS.
func (p *parser) ifExists() bool {
	return p.Accept("IF", "EXISTS") || p.Accept("IF", "NOT", "EXISTS")
}

// list calls f for each item of a comma-separated list.
func (p *parser) list(f func()) {
	for f(); p.AcceptPunct(','); {
		f()
	}
}
