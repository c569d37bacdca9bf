package ddl

import (
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// constraint is what was read of a key or constraint of a table.
type constraint struct {
	any     bool // there is one
	primary []string
	unique  *Key
}

// constraint takes a primary or unique key, or the head of any other key or
// constraint of a table, if one stands there.
func (p *parser) constraint() constraint {
	t := p.Peek(0)
	name := ""
	if t.Is("CONSTRAINT") {
		p.Take()
		if !p.Peek(0).Any("PRIMARY", "UNIQUE", "FOREIGN", "CHECK") {
			name = p.ident()
		}
		t = p.Peek(0)
		if !t.Any("PRIMARY", "UNIQUE") {
			return constraint{any: true}
		}
	}
	switch {
	case t.Is("PRIMARY"):
		return constraint{any: true, primary: p.primaryKey()}
	case t.Is("UNIQUE"):
		p.Take()
		p.AcceptAny("INDEX", "KEY")
		p.ifExists()
		k := Key{Name: name}
		p.uniqueKey(&k)
		return constraint{any: true, unique: &k}
	case t.Any("INDEX", "KEY", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK"),
		t.Any("VECTOR", "CLUSTERED", "GLOBAL") && p.Peek(1).Any("INDEX", "KEY"):
		return constraint{any: true}
	}
	return constraint{}
}

// primaryKey takes PRIMARY KEY [name] [USING x] (columns).
func (p *parser) primaryKey() (columns []string) {
	p.Take()
	for !p.itemEnd() && !p.Peek(0).IsPunct('(') {
		p.Take()
	}
	if !p.AcceptPunct('(') {
		p.Fail("the columns of the primary key")
		return nil
	}
	p.list(func() {
		columns = append(columns, p.ident())
		p.skipItem()
	})
	if !p.AcceptPunct(')') {
		p.Fail("a closing bracket")
	}
	return columns
}

// uniqueKey takes [name] [USING x] (columns) [options] of a unique key. It is
// no error if it is not understood: only the size of a key matters.
func (p *parser) uniqueKey(k *Key) {
	for !p.itemEnd() && !p.Peek(0).IsPunct('(') {
		t := p.Take()
		if t.Is("USING") || t.Is("TYPE") {
			k.Hash = p.Take().Is("HASH")
		} else if n, ok := t.Name(); ok {
			k.Name = n
		}
	}
	if p.AcceptPunct('(') {
		p.list(func() { p.keyPart(k) })
		p.AcceptPunct(')')
	}
	for !p.itemEnd() {
		if p.AcceptAny("USING", "TYPE") {
			k.Hash = p.Peek(0).Is("HASH")
		}
		p.Skip()
	}
}

// keyPart takes column [(length)] [ASC], or an expression.
func (p *parser) keyPart(k *Key) {
	part := KeyPart{}
	if n, ok := p.Peek(0).Name(); ok && !p.Peek(0).IsPunct('(') {
		part.Column = n
		p.Take()
		if p.Peek(0).IsPunct('(') && p.Peek(1).Kind == lex.Number {
			part.Length, _ = strconv.ParseUint(p.Peek(1).Text, 10, 64) // a server checks it
		}
		k.Columns = append(k.Columns, part)
	}
	p.skipItem()
}

// key is the key that UNIQUE among a column's attributes makes.
func (c *Column) key() Key { return Key{Columns: []KeyPart{{Column: c.Name}}} }

// createIndex reads CREATE INDEX from behind that word on.
func (p *parser) createIndex(unique bool) {
	p.ifExists()
	k := Key{Name: p.ident()}
	if p.AcceptAny("USING", "TYPE") {
		k.Hash = p.Peek(0).Is("HASH")
	}
	n := p.onTable(CIndex)
	if p.Failed() == "" && unique {
		p.uniqueKey(&k)
		p.change(AlterTable{Name: n, Items: []Item{{Op: AddUnique, Unique: k}}})
	}
}

// dropIndex drops the primary key, if that is its name, or an index.
func dropIndex(name string, exists bool) Item {
	if strings.EqualFold(name, "PRIMARY") {
		return Item{Op: DropPrimaryKey, If: exists}
	}
	return Item{Op: DropIndex, Old: name, If: exists}
}
