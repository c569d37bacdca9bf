package ddl

import (
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/words"
)

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
	first := p.Peek(0)
	if first.Kind != lex.Word {
		p.Fail("a type")
		return
	}
	p.Take()
	typed := first.Text
	if p.AcceptPunct('.') { // MariaDB: mariadb_schema.date
		typed = p.Take().Text
	}
	for more := words.Following(first.Text); p.Peek(0).Any(more...) && !p.Peek(1).Is("SET"); {
		typed += " " + p.Take().Text
	}
	c.Type = typed
	c.Base = words.Base(typed)
	var written []string
	if p.Peek(0).IsPunct('(') {
		p.Take()
		p.list(func() {
			arg, text := p.argument()
			c.Args = append(c.Args, arg)
			written = append(written, text)
		})
		if !p.AcceptPunct(')') {
			p.Fail("a closing bracket")
		}
	}
	p.settle(c, strings.ToLower(typed))
	if written != nil {
		c.Type += "(" + strings.Join(written, ",") + ")"
	}
}

// settle applies what a type's words imply besides their synonym.
func (p *parser) settle(c *Column, typed string) {
	o := p.Options()
	switch {
	case typed == "float" && len(c.Args) == 1:
		if n, err := strconv.Atoi(c.Args[0]); err == nil && n > 24 {
			c.Type, c.Base = "double", "double" // as Canal prints it
		}
	case typed == "real" && o.SQLMode&lex.RealAsFloat != 0:
		c.Base = "float"
	case typed == "serial":
		c.Unsigned, c.Nullable = true, false
	case typed == "json" && o.MariaDB:
		c.Base, c.Charset, c.Collation = "longtext", "utf8mb4", "utf8mb4_bin"
	case strings.HasPrefix(typed, "national") || strings.HasPrefix(typed, "nchar") || typed == "nvarchar":
		c.Charset = "utf8mb3"
	case o.MariaDB && o.SQLMode&lex.Oracle != 0:
		switch {
		case typed == "date":
			c.Base = "datetime"
		case typed == "blob" && c.Args == nil:
			c.Base = "longblob"
		case typed == "number" && c.Args == nil:
			c.Base = "double"
		}
	}
}

// argument takes one argument of a type: its value, and the text that stands
// for it in mysqlType.
func (p *parser) argument() (value, text string) {
	for !p.itemEnd() {
		t := p.Take()
		var v, s string
		switch {
		case t.Kind == lex.String:
			v = p.Options().Unescape(t.Text)
			s = p.Options().Quote(v)
		case t.Any("X", "B") && p.Peek(0).Kind == lex.String:
			digits := p.Take().Text
			v = lex.Bits(t.Text, digits[1:len(digits)-1])
			s = p.Options().Quote(v)
		case t.Kind == lex.Word && len(t.Text) > 2 && t.Text[0] == '0' && (t.Text[1] == 'x' || t.Text[1] == 'b'):
			v = lex.Bits(t.Text[1:2], t.Text[2:])
			s = p.Options().Quote(v)
		default:
			v, s = t.Text, t.Text
		}
		if value != "" {
			value, text = value+" ", text+" "
		}
		value, text = value+v, text+s
	}
	return value, text
}

// attributes takes what follows a column's type, up to the end of the item or
// to what ALTER TABLE may have behind it. What it does not know it passes over.
func (p *parser) attributes(c *Column, zerofill *bool) {
	for !p.itemEnd() && !p.Peek(0).Any("FIRST", "AFTER", "PARTITION", "REMOVE") {
		if p.charset(&c.Charset) || p.collate(&c.Collation) || p.key(c) || p.generated(c) {
			continue
		}
		switch t := p.Take(); {
		case t.Is("UNSIGNED"):
			c.Unsigned = true
		case t.Is("ZEROFILL"):
			*zerofill = true
		case t.Is("NOT") && p.Accept("NULL"):
			c.Nullable = false
		case t.Is("NULL"):
			c.Nullable = true
		case t.Is("DEFAULT"):
			p.expression()
		case t.Is("INVISIBLE"):
			c.Invisible = true
		case t.Is("ASCII"):
			c.Charset = "latin1"
		case t.Is("UNICODE"):
			c.Charset = "ucs2"
		case t.Is("BYTE"):
			c.Charset = "binary"
		case t.Any("COMMENT", "COLUMN_FORMAT", "STORAGE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE", "CONSTRAINT"):
			p.option()
		case t.Is("REFERENCES"):
			p.references()
		case t.Is("WITH"):
			c.Versioned = p.Accept("SYSTEM", "VERSIONING")
		case t.Is("ON"): // ON UPDATE CURRENT_TIMESTAMP(3)
			p.Take()
			p.expression()
		case t.IsPunct('('):
			p.Untake(t)
			p.Skip()
		case p.Peek(0).IsPunct('='):
			p.option()
		}
	}
}

// option takes the value of an option.
func (p *parser) option() {
	p.AcceptPunct('=')
	if !p.itemEnd() {
		p.Skip()
	}
}

// key takes PRIMARY KEY, KEY, UNIQUE and SERIAL DEFAULT VALUE.
func (p *parser) key(c *Column) bool {
	switch {
	case p.Accept("PRIMARY", "KEY"), p.Accept("PRIMARY"), p.Accept("KEY"):
		c.PrimaryKey, c.Nullable = true, false
	case p.Accept("UNIQUE"):
		p.Accept("KEY")
		c.Unique = true
	case p.Accept("SERIAL", "DEFAULT", "VALUE"):
		c.Nullable = false
	default:
		return false
	}
	return true
}

// generated takes [GENERATED ALWAYS] AS (…), and MariaDB's AS ROW START and END.
func (p *parser) generated(c *Column) bool {
	if !p.Accept("GENERATED", "ALWAYS", "AS") && !p.Accept("AS") {
		return false
	}
	switch {
	case p.Accept("ROW", "START"):
		c.Nullable = false
	case p.Accept("ROW", "END"):
		c.RowEnd, c.Nullable = true, false
	default:
		c.Generated = true
		p.Skip()
	}
	return true
}

// charset takes [DEFAULT] CHARACTER SET [=] x.
func (p *parser) charset(to *string) bool {
	n := p.optional("DEFAULT")
	switch {
	case p.Peek(n).Is("CHARSET"):
		return p.value(n+1, to)
	case p.Peek(n).Any("CHARACTER", "CHAR") && p.Peek(n+1).Is("SET"):
		return p.value(n+2, to)
	}
	return false
}

// collate takes [DEFAULT] COLLATE [=] x.
func (p *parser) collate(to *string) bool {
	n := p.optional("DEFAULT")
	return p.Peek(n).Is("COLLATE") && p.value(n+1, to)
}

// optional is the number of tokens that a word takes which may stand here.
func (p *parser) optional(word string) int {
	if p.Peek(0).Is(word) {
		return 1
	}
	return 0
}

// value takes n words, an equals sign that may stand there, and the name of a
// character set or collation, which may be quoted.
func (p *parser) value(n int, to *string) bool {
	for range n {
		p.Take()
	}
	p.AcceptPunct('=')
	t := p.Take()
	v, ok := t.Name()
	if t.Kind == lex.String {
		v, ok = p.Options().Unescape(t.Text), true
	}
	if !ok {
		p.Fail("a character set or collation")
		return false
	}
	*to = strings.ToLower(v)
	return true
}

// references takes what follows REFERENCES: its actions say NULL and DEFAULT
// without meaning the column.
func (p *parser) references() {
	p.name()
	if p.Peek(0).IsPunct('(') {
		p.Skip()
	}
	for {
		switch {
		case p.Accept("MATCH"):
			p.Take()
		case p.Accept("ON", "DELETE"), p.Accept("ON", "UPDATE"):
			if p.AcceptAny("SET", "NO") {
				p.Take()
			} else {
				p.AcceptAny("RESTRICT", "CASCADE")
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
		for p.Peek(0).Kind == lex.Punct && strings.IndexByte("+-!~", p.Peek(0).Text[0]) >= 0 {
			p.Take()
		}
		if p.Accept("NEXT", "VALUE", "FOR") {
			p.name()
		} else {
			word := p.Peek(0).Kind == lex.Word
			p.Skip()
			for p.Peek(0).Kind == lex.String || word && p.Peek(0).IsPunct('(') {
				p.Skip()
			}
			for p.AcceptPunct('.') {
				p.Take()
			}
		}
		if t := p.Peek(0); t.Kind != lex.Punct || strings.IndexByte("+-*/%|&^<>=", t.Text[0]) < 0 {
			return
		}
		p.Take()
	}
}
