package ddl

import (
	"fmt"
	"strings"
)

// parser reads one text. The first failure sticks: from then on every token is
// the end, so that no loop goes on.
type parser struct {
	lex    lexer
	ahead  []token // tokens looked at and not taken yet
	sql    string
	db     string
	st     Statement
	first  int    // results of earlier statements of the text
	kind   Kind   // of the statement, once its table is known
	table  Name   // the table that the statement is about, once known
	failed string // why, with what stands there
}

// Parse reads a text as the server did that logged it with this default
// database. The error, an ErrSyntax, means that a statement about tables was
// not understood: its Changes then forget the table, if its name was read, and
// its Result announces that table, or nothing but Query. Texts that are no
// business of tables have no Results, and what no server we know would run is a
// Query without names.
func Parse(sql, database string, o Options) (Statement, error) {
	p := &parser{lex: lexer{s: sql, o: o}, sql: sql, db: database}
	for p.failed == "" {
		for p.peek(0).punct(';') {
			p.take()
		}
		if p.end() {
			break
		}
		p.first, p.kind, p.table = len(p.st.Results), 0, Name{}
		p.statement()
		for !p.end() && !p.peek(0).punct(';') {
			p.skip()
		}
	}
	if p.failed == "" {
		return p.st, nil
	}
	p.st.Results = p.st.Results[:p.first]
	if p.table == (Name{}) {
		p.result(Query, Name{})
	} else {
		p.result(p.kind, p.table)
		p.change(Forget{p.table})
	}
	return p.st, fmt.Errorf("%w: %s", ErrSyntax, p.failed)
}

// peek is the token n places ahead.
func (p *parser) peek(n int) token {
	for len(p.ahead) <= n {
		t := token{kind: tokenEnd, start: len(p.sql)}
		if p.failed == "" {
			t = p.lex.next()
			if p.lex.err != "" {
				p.failed = p.lex.err
			}
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[n]
}

func (p *parser) take() token {
	t := p.peek(0)
	p.ahead = append(p.ahead[:0], p.ahead[1:]...)
	return t
}

func (p *parser) end() bool { return p.peek(0).kind == tokenEnd }

// fail records the first failure, with the text that stands there.
func (p *parser) fail(want string) {
	if p.failed == "" {
		near := p.sql[p.peek(0).start:]
		if len(near) > 40 {
			near = strings.ToValidUTF8(near[:40], "")
		}
		p.failed = fmt.Sprintf("want %s near %q", want, near)
	}
	p.ahead = nil
}

// accept takes the words if they stand there one after the other.
func (p *parser) accept(words ...string) bool {
	for i, w := range words {
		if !p.peek(i).is(w) {
			return false
		}
	}
	for range words {
		p.take()
	}
	return true
}

// acceptAny takes the next word if it is one of these.
func (p *parser) acceptAny(words ...string) bool {
	if p.peek(0).any(words...) {
		p.take()
		return true
	}
	return false
}

func (p *parser) acceptPunct(c byte) bool {
	if p.peek(0).punct(c) {
		p.take()
		return true
	}
	return false
}

// skip takes one token, or all of a bracket.
func (p *parser) skip() {
	if !p.take().punct('(') {
		return
	}
	for depth := 1; depth > 0; {
		switch t := p.take(); {
		case t.kind == tokenEnd:
			p.fail("a closing bracket")
			return
		case t.punct('('):
			depth++
		case t.punct(')'):
			depth--
		}
	}
}

// itemEnd reports the end of an item of a list: a comma, the closing bracket of
// the list, or the end of the statement.
func (p *parser) itemEnd() bool {
	t := p.peek(0)
	return t.kind == tokenEnd || t.punct(',') || t.punct(')') || t.punct(';')
}

// skipItem passes over the rest of an item.
func (p *parser) skipItem() {
	for !p.itemEnd() {
		p.skip()
	}
}

// ident takes an identifier.
func (p *parser) ident() string {
	n, ok := p.peek(0).name()
	if !ok {
		p.fail("a name")
		return ""
	}
	p.take()
	return n
}

// name takes the name of a table, with or without its database.
func (p *parser) name() Name {
	p.acceptPunct('.') // .t is t
	n := p.ident()
	if !p.acceptPunct('.') {
		return Name{p.db, n}
	}
	return Name{n, p.ident()}
}

// subject takes the name of the table that the statement is about.
func (p *parser) subject(k Kind) Name {
	n := p.name()
	if p.failed == "" {
		p.kind, p.table = k, n
	}
	return n
}

func (p *parser) result(k Kind, n Name) {
	p.st.Results = append(p.st.Results, Result{Kind: k, Schema: n.Schema, Table: n.Table})
}

func (p *parser) renamed(from, to Name) {
	p.st.Results = append(p.st.Results, Result{Kind: Rename, Schema: to.Schema, Table: to.Table, OldSchema: from.Schema, OldTable: from.Table})
}

func (p *parser) change(c Change) { p.st.Changes = append(p.st.Changes, c) }

// ifExists takes IF EXISTS or IF NOT EXISTS.
func (p *parser) ifExists() bool {
	return p.accept("IF", "EXISTS") || p.accept("IF", "NOT", "EXISTS")
}

// list calls f for each item of a comma-separated list.
func (p *parser) list(f func()) {
	for f(); p.acceptPunct(','); {
		f()
	}
}
