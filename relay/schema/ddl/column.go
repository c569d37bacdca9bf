package ddl

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
)

// bases maps the words of a type, lower case and joined by blanks, to the type
// that the server stores. Words that are not here stand for themselves.
var bases = map[string]string{
	"integer": "int", "int4": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint", "int8": "bigint",
	"bool": "tinyint", "boolean": "tinyint", "serial": "bigint",
	"dec": "decimal", "numeric": "decimal", "fixed": "decimal", "number": "decimal",
	"float4": "float", "float8": "double", "real": "double", "double precision": "double",
	"character": "char", "nchar": "char", "national char": "char", "national character": "char",
	"varcharacter": "varchar", "char varying": "varchar", "character varying": "varchar", "nvarchar": "varchar", "nchar varchar": "varchar",
	"nchar varying": "varchar", "national varchar": "varchar", "national varcharacter": "varchar", "national char varying": "varchar",
	"national character varying": "varchar", "varchar2": "varchar",
	"long": "mediumtext", "long varchar": "mediumtext", "long varcharacter": "mediumtext", "long char varying": "mediumtext",
	"long character varying": "mediumtext", "long varbinary": "mediumblob", "clob": "longtext", "raw": "varbinary",
	"geomcollection": "geometrycollection",
}

// following lists, for the first word of a type, the words that may continue it.
var following = map[string][]string{
	"double": {"PRECISION"}, "char": {"VARYING"}, "character": {"VARYING"}, "nchar": {"VARYING", "VARCHAR"},
	"long":     {"VARCHAR", "VARCHARACTER", "VARBINARY", "CHAR", "CHARACTER", "VARYING"},
	"national": {"CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER", "VARYING"},
}

// column takes a column's definition: its name, its type, its attributes.
func (p *parser) column() Column {
	c := Column{Name: p.ident(), Nullable: true}
	zerofill := false
	p.columnType(&c)
	p.attributes(&c, &zerofill)
	if zerofill {
		c.Unsigned = true
	}
	if c.Unsigned && !strings.EqualFold(c.Type, "serial") {
		c.Type += " unsigned"
	}
	if zerofill {
		c.Type += " zerofill"
	}
	return c
}

// columnType takes the words of a type and its arguments.
func (p *parser) columnType(c *Column) {
	first := p.peek(0)
	if first.kind != tokenWord {
		p.fail("a type")
		return
	}
	p.take()
	words := first.text
	if p.acceptPunct('.') { // MariaDB: mariadb_schema.date
		words = p.take().text
	}
	for more := following[strings.ToLower(first.text)]; p.peek(0).any(more...); {
		words += " " + p.take().text
	}
	c.Type = words
	c.Base = strings.ToLower(words)
	if b, ok := bases[c.Base]; ok {
		c.Base = b
	}
	var written []string
	if p.peek(0).punct('(') {
		p.take()
		p.list(func() {
			arg, text := p.argument()
			c.Args = append(c.Args, arg)
			written = append(written, text)
		})
		if !p.acceptPunct(')') {
			p.fail("a closing bracket")
		}
	}
	p.settle(c, strings.ToLower(words))
	if written != nil {
		c.Type += "(" + strings.Join(written, ",") + ")"
	}
}

// settle applies what a type's words imply besides their synonym.
func (p *parser) settle(c *Column, words string) {
	o := p.lex.o
	switch {
	case words == "float" && len(c.Args) == 1:
		if n, err := strconv.Atoi(c.Args[0]); err == nil && n > 24 {
			c.Type, c.Base = "double", "double" // as Canal prints it
		}
	case words == "real" && o.SQLMode&modeRealAsFloat != 0:
		c.Base = "float"
	case words == "serial":
		c.Unsigned, c.Nullable = true, false
	case words == "json" && o.MariaDB:
		c.Base, c.Charset, c.Collation = "longtext", "utf8mb4", "utf8mb4_bin"
	case strings.HasPrefix(words, "national") || strings.HasPrefix(words, "nchar") || words == "nvarchar":
		c.Charset = "utf8mb3"
	case o.MariaDB && o.SQLMode&modeOracle != 0:
		switch {
		case words == "date":
			c.Base = "datetime"
		case words == "blob" && c.Args == nil:
			c.Base = "longblob"
		case words == "number" && c.Args == nil:
			c.Base = "double"
		}
	}
}

// argument takes one argument of a type: its value, and the text that stands
// for it in mysqlType.
func (p *parser) argument() (value, text string) {
	for !p.itemEnd() {
		t := p.take()
		var v, s string
		switch {
		case t.kind == tokenString:
			v = p.lex.o.unescape(t.text)
			s = p.quote(v)
		case t.any("X", "B") && p.peek(0).kind == tokenString:
			digits := p.take().text
			v = bits(t.text, digits[1:len(digits)-1])
			s = p.quote(v)
		case t.kind == tokenWord && len(t.text) > 2 && t.text[0] == '0' && (t.text[1] == 'x' || t.text[1] == 'b'):
			v = bits(t.text[1:2], t.text[2:])
			s = p.quote(v)
		default:
			v, s = t.text, t.text
		}
		if value != "" {
			value, text = value+" ", text+" "
		}
		value, text = value+v, text+s
	}
	return value, text
}

// quote writes a label as Canal and SHOW CREATE TABLE do.
func (p *parser) quote(s string) string {
	if p.lex.o.SQLMode&modeNoBackslash == 0 {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// bits is the value of a hexadecimal (x) or binary (b) literal.
func bits(form, digits string) string {
	if form == "x" || form == "X" {
		if len(digits)%2 == 1 {
			digits = "0" + digits
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			return digits
		}
		return string(b)
	}
	n, ok := new(big.Int).SetString(digits, 2)
	if !ok {
		return digits
	}
	b := make([]byte, (len(digits)+7)/8)
	return string(n.FillBytes(b))
}

// attributes takes what follows a column's type, up to the end of the item or
// to what ALTER TABLE may have behind it. What it does not know it passes over.
func (p *parser) attributes(c *Column, zerofill *bool) {
	for !p.itemEnd() && !p.peek(0).any("FIRST", "AFTER", "PARTITION", "REMOVE") {
		if p.charset(&c.Charset) || p.collate(&c.Collation) || p.key(c) || p.generated(c) {
			continue
		}
		switch t := p.take(); {
		case t.is("UNSIGNED"):
			c.Unsigned = true
		case t.is("ZEROFILL"):
			*zerofill = true
		case t.is("NOT") && p.accept("NULL"):
			c.Nullable = false
		case t.is("NULL"):
			c.Nullable = true
		case t.is("DEFAULT"):
			p.expression()
		case t.is("INVISIBLE"):
			c.Invisible = true
		case t.is("ASCII"):
			c.Charset = "latin1"
		case t.is("UNICODE"):
			c.Charset = "ucs2"
		case t.is("BYTE"):
			c.Charset = "binary"
		case t.any("COMMENT", "COLUMN_FORMAT", "STORAGE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE", "CONSTRAINT"):
			p.option()
		case t.is("REFERENCES"):
			p.references()
		case t.is("ON"): // ON UPDATE CURRENT_TIMESTAMP(3)
			p.take()
			p.expression()
		case t.punct('('):
			p.ahead = append([]token{t}, p.ahead...)
			p.skip()
		case p.peek(0).punct('='):
			p.option()
		}
	}
}

// option takes the value of an option.
func (p *parser) option() {
	p.acceptPunct('=')
	if !p.itemEnd() {
		p.skip()
	}
}

// key takes PRIMARY KEY, KEY, UNIQUE and SERIAL DEFAULT VALUE.
func (p *parser) key(c *Column) bool {
	switch {
	case p.accept("PRIMARY", "KEY"), p.accept("PRIMARY"), p.accept("KEY"):
		c.PrimaryKey, c.Nullable = true, false
	case p.accept("UNIQUE"):
		p.accept("KEY")
	case p.accept("SERIAL", "DEFAULT", "VALUE"):
		c.Nullable = false
	default:
		return false
	}
	return true
}

// generated takes [GENERATED ALWAYS] AS (…), and MariaDB's AS ROW START and END.
func (p *parser) generated(c *Column) bool {
	if !p.accept("GENERATED", "ALWAYS", "AS") && !p.accept("AS") {
		return false
	}
	switch {
	case p.accept("ROW", "START"):
		c.Nullable = false
	case p.accept("ROW", "END"):
		c.RowEnd, c.Nullable = true, false
	default:
		c.Generated = true
		p.skip()
	}
	return true
}

// charset takes [DEFAULT] CHARACTER SET [=] x.
func (p *parser) charset(to *string) bool {
	n := 0
	if p.peek(0).is("DEFAULT") {
		n = 1
	}
	switch {
	case p.peek(n).is("CHARSET"):
		n++
	case p.peek(n).any("CHARACTER", "CHAR") && p.peek(n+1).is("SET"):
		n += 2
	default:
		return false
	}
	return p.value(n, to)
}

// collate takes [DEFAULT] COLLATE [=] x.
func (p *parser) collate(to *string) bool {
	n := 0
	if p.peek(0).is("DEFAULT") {
		n = 1
	}
	return p.peek(n).is("COLLATE") && p.value(n+1, to)
}

// value takes n words, an equals sign that may stand there, and the name of a
// character set or collation, which may be quoted.
func (p *parser) value(n int, to *string) bool {
	for range n {
		p.take()
	}
	p.acceptPunct('=')
	t := p.take()
	v, ok := t.name()
	if t.kind == tokenString {
		v, ok = p.lex.o.unescape(t.text), true
	}
	if !ok {
		p.fail("a character set or collation")
		return false
	}
	*to = strings.ToLower(v)
	return true
}

// references takes what follows REFERENCES: its actions say NULL and DEFAULT
// without meaning the column.
func (p *parser) references() {
	p.name()
	if p.peek(0).punct('(') {
		p.skip()
	}
	for {
		switch {
		case p.accept("MATCH"):
			p.take()
		case p.accept("ON", "DELETE"), p.accept("ON", "UPDATE"):
			if p.acceptAny("SET", "NO") {
				p.take()
			} else {
				p.acceptAny("RESTRICT", "CASCADE")
			}
		default:
			return
		}
	}
}

// expression takes a default value: a literal, a call, a bracket, or, on
// MariaDB, several of them joined by operators.
func (p *parser) expression() {
	for {
		for p.peek(0).kind == tokenPunct && strings.IndexByte("+-!~", p.peek(0).text[0]) >= 0 {
			p.take()
		}
		if p.accept("NEXT", "VALUE", "FOR") {
			p.name()
		} else {
			word := p.peek(0).kind == tokenWord
			p.skip()
			for p.peek(0).kind == tokenString || word && p.peek(0).punct('(') {
				p.skip()
			}
			for p.acceptPunct('.') {
				p.take()
			}
		}
		if t := p.peek(0); t.kind != tokenPunct || strings.IndexByte("+-*/%|&^<>=", t.text[0]) < 0 {
			return
		}
		p.take()
	}
}
