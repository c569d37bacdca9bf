package ddl

import "strings"

func isPrimary(index string) bool { return strings.EqualFold(index, "PRIMARY") }

// createTable reads CREATE TABLE from the table's name on. OR REPLACE drops
// what was there.
func (p *parser) createTable(replace, temporary bool) {
	exists := p.ifExists()
	n := p.subject(Create)
	if p.failed != "" {
		return
	}
	p.result(Create, n)
	c := CreateTable{Name: n, Temporary: temporary, IfNotExists: exists && !replace}
	like, isLike := Name{}, p.accept("LIKE")
	switch {
	case isLike:
		like = p.name()
	case p.peek(0).punct('(') && p.peek(1).is("LIKE"):
		p.take()
		p.take()
		like, isLike = p.name(), true
		p.take()
	case p.peek(0).punct('(') && !startsQuery(p.peek(1)):
		p.take()
		p.elements(&c)
	}
	if p.failed == "" && !isLike {
		p.tableOptions(&c)
	}
	switch {
	case p.failed != "":
	case isLike:
		p.change(CreateLike{Name: n, Like: like, Temporary: temporary, IfNotExists: c.IfNotExists})
	default:
		c.Unknown = c.Unknown || len(c.Columns) == 0
		p.change(c)
	}
}

// startsQuery reports whether t begins the SELECT of CREATE … SELECT.
func startsQuery(t token) bool { return t.any("SELECT", "WITH", "VALUES", "TABLE") || t.punct('(') }

// elements takes the bracket with columns, keys and constraints.
func (p *parser) elements(c *CreateTable) {
	p.list(func() {
		if keys, ok := p.constraint(); ok {
			c.PrimaryKey = append(c.PrimaryKey, keys...)
			p.skipItem()
			return
		}
		if p.peek(0).is("PERIOD") && p.peek(1).is("FOR") {
			if period := p.period(); !strings.EqualFold(period[0], "SYSTEM_TIME") {
				c.Period = period
			}
			return
		}
		col := p.column()
		if col.PrimaryKey {
			c.PrimaryKey = append(c.PrimaryKey, col.Name)
		}
		c.Columns = append(c.Columns, col)
		p.skipItem()
	})
	if !p.acceptPunct(')') {
		p.fail("a comma or a closing bracket")
	}
}

// period takes PERIOD FOR name (start, end).
func (p *parser) period() []string {
	p.take()
	p.take()
	names := []string{p.ident()}
	if p.acceptPunct('(') {
		p.list(func() { names = append(names, p.ident()) })
	}
	if !p.acceptPunct(')') {
		p.fail("a closing bracket")
	}
	return names
}

// constraint takes the head of a key or constraint of a table; ok is false when
// a column stands there. It returns the columns of a primary key.
func (p *parser) constraint() (primary []string, ok bool) {
	t := p.peek(0)
	switch {
	case t.is("PRIMARY"):
		return p.primaryKey(), true
	case t.is("CONSTRAINT"):
		p.take()
		if !p.peek(0).any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK") {
			p.ident()
		}
		if p.peek(0).is("PRIMARY") {
			return p.primaryKey(), true
		}
		return nil, true
	case t.any("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"):
		return nil, true
	case t.any("VECTOR", "CLUSTERED", "GLOBAL") && p.peek(1).any("INDEX", "KEY"):
		return nil, true
	}
	return nil, false
}

// primaryKey takes PRIMARY KEY [name] [USING x] (columns).
func (p *parser) primaryKey() (columns []string) {
	p.take()
	for !p.itemEnd() && !p.peek(0).punct('(') {
		p.take()
	}
	if !p.acceptPunct('(') {
		p.fail("the columns of the primary key")
		return nil
	}
	p.list(func() {
		columns = append(columns, p.ident())
		p.skipItem()
	})
	if !p.acceptPunct(')') {
		p.fail("a closing bracket")
	}
	return columns
}

// tableOptions takes all that follows the bracket of CREATE TABLE.
func (p *parser) tableOptions(c *CreateTable) {
	for !p.end() && !p.peek(0).punct(';') {
		switch {
		case p.charset(&c.Charset), p.collate(&c.Collation):
		case p.accept("WITH", "SYSTEM", "VERSIONING"):
			end := rowEnd(c.Columns)
			c.Versioned = end == ""
			if end != "" && len(c.PrimaryKey) > 0 {
				c.PrimaryKey = append(c.PrimaryKey, end)
			}
		case p.peek(0).any("COMMENT", "CONNECTION", "ENGINE", "TABLESPACE"), p.peek(1).punct('='):
			p.take()
			p.option()
		case p.peek(0).punct('(') && startsQuery(p.peek(1)) && !p.peek(1).punct('('), p.peek(0).any("SELECT", "WITH", "VALUES", "TABLE"):
			c.Unknown = true
			p.rest()
		default:
			p.skip()
		}
	}
}

// rowEnd is the column that a table with system versioning has for the end of a
// row's time, empty if it leaves that to the server. It is part of the key.
func rowEnd(columns []Column) string {
	for _, c := range columns {
		if c.RowEnd {
			return c.Name
		}
	}
	return ""
}

// createSequence reads CREATE SEQUENCE of MariaDB: a sequence writes row events
// like a table of these columns. Canal says nothing about it.
func (p *parser) createSequence(replace, temporary bool) {
	exists := p.ifExists()
	n := p.name()
	bigint := Column{Type: "bigint(21)", Base: "bigint", Args: []string{"21"}}
	c := CreateTable{Name: n, Temporary: temporary, IfNotExists: exists && !replace}
	for _, name := range []string{"next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment"} {
		bigint.Name = name
		c.Columns = append(c.Columns, bigint)
	}
	c.Columns = append(c.Columns,
		Column{Name: "cache_size", Type: "bigint(21) unsigned", Base: "bigint", Args: bigint.Args, Unsigned: true},
		Column{Name: "cycle_option", Type: "tinyint(1) unsigned", Base: "tinyint", Args: []string{"1"}, Unsigned: true},
		Column{Name: "cycle_count", Type: "bigint(21)", Base: "bigint", Args: bigint.Args})
	p.change(c)
}
