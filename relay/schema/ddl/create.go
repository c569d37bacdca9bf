package ddl

import (
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// createTable reads CREATE TABLE from the table's name on. OR REPLACE drops
// what was there.
func (p *parser) createTable(replace, temporary bool) {
	exists := p.ifExists()
	n := p.subject(Create)
	if p.Failed() != "" {
		return
	}
	p.result(Create, n)
	c := CreateTable{Name: n, Temporary: temporary, IfNotExists: exists && !replace}
	like, isLike := Name{}, p.Accept("LIKE")
	switch {
	case isLike:
		like = p.name()
	case p.Peek(0).IsPunct('(') && p.Peek(1).Is("LIKE"):
		p.Take()
		p.Take()
		like, isLike = p.name(), true
		p.Take()
	case p.Peek(0).IsPunct('(') && !startsQuery(p.Peek(1)):
		p.Take()
		p.elements(&c)
	}
	if p.Failed() == "" && !isLike {
		p.tableOptions(&c)
	}
	switch {
	case p.Failed() != "":
	case isLike:
		p.change(CreateLike{Name: n, Like: like, Temporary: temporary, IfNotExists: c.IfNotExists})
	default:
		c.Unknown = c.Unknown || len(c.Columns) == 0
		p.change(c)
	}
}

// startsQuery reports whether t begins the SELECT of CREATE … SELECT.
func startsQuery(t lex.Token) bool {
	return t.Any("SELECT", "WITH", "VALUES", "TABLE") || t.IsPunct('(')
}

// elements takes the bracket with columns, keys and constraints.
func (p *parser) elements(c *CreateTable) {
	p.list(func() {
		if k := p.constraint(); k.any {
			c.PrimaryKey = append(c.PrimaryKey, k.primary...)
			if k.unique != nil {
				c.Unique = append(c.Unique, *k.unique)
			}
			p.skipItem()
			return
		}
		if p.Peek(0).Is("PERIOD") && p.Peek(1).Is("FOR") {
			if period := p.period(); !strings.EqualFold(period[0], "SYSTEM_TIME") {
				c.Period = period
			}
			return
		}
		col := p.column()
		if col.PrimaryKey {
			c.PrimaryKey = append(c.PrimaryKey, col.Name)
		}
		if col.Unique {
			c.Unique = append(c.Unique, col.key())
		}
		c.Columns = append(c.Columns, col)
		p.skipItem()
	})
	if !p.AcceptPunct(')') {
		p.Fail("a comma or a closing bracket")
	}
}

// period takes PERIOD FOR name (start, end).
func (p *parser) period() []string {
	p.Take()
	p.Take()
	names := []string{p.ident()}
	if p.AcceptPunct('(') {
		p.list(func() { names = append(names, p.ident()) })
	}
	if !p.AcceptPunct(')') {
		p.Fail("a closing bracket")
	}
	return names
}

// tableOptions takes all that follows the bracket of CREATE TABLE.
func (p *parser) tableOptions(c *CreateTable) {
	for !p.statementEnd() {
		switch {
		case p.charset(&c.Charset), p.collate(&c.Collation):
		case p.Accept("WITH", "SYSTEM", "VERSIONING"):
			c.Versioned = true
		case p.Peek(0).Any("COMMENT", "CONNECTION", "ENGINE", "TABLESPACE"), p.Peek(1).IsPunct('='):
			p.Take()
			p.option()
		case p.Peek(0).IsPunct('(') && startsQuery(p.Peek(1)) && !p.Peek(1).IsPunct('('), p.Peek(0).Any("SELECT", "WITH", "VALUES", "TABLE"):
			c.Unknown = true
			p.Stop()
		default:
			p.Skip()
		}
	}
}

// sequence is what a sequence of MariaDB looks like as a table.
const sequence = "(next_not_cached_value bigint(21) NOT NULL, minimum_value bigint(21) NOT NULL, maximum_value bigint(21) NOT NULL, " +
	"start_value bigint(21) NOT NULL, increment bigint(21) NOT NULL, cache_size bigint(21) unsigned NOT NULL, " +
	"cycle_option tinyint(1) unsigned NOT NULL, cycle_count bigint(21) NOT NULL)"

// createSequence reads CREATE SEQUENCE: a sequence writes row events like a
// table. Canal says nothing about it.
func (p *parser) createSequence(replace, temporary bool) {
	exists := p.ifExists()
	c := CreateTable{Name: p.name(), Temporary: temporary, IfNotExists: exists && !replace}
	columns := &parser{Cursor: lex.NewCursor(sequence, p.Options())}
	columns.Take()
	columns.elements(&c)
	p.change(c)
}
