package event

import (
	"errors"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// What SELECT shows; the text by which a partition is chosen stays Canal's.
func TestMySQLStyle(t *testing.T) {
	enum := schema.Column{Name: "e", Type: "ENUM('a','b')", Base: "enum", Args: []string{"a", "b"}}
	set := schema.Column{Name: "s", Type: "SET('x','y')", Base: "set", Args: []string{"x", "y"}}
	filled := schema.Column{Name: "n", Type: "INT(5) unsigned zerofill", Base: "int", Args: []string{"5"}, Unsigned: true}
	for name, c := range map[string]struct {
		column         schema.Column
		wire           byte
		meta           uint16
		raw            string
		want, hash     string
		typ, canalType int32
	}{
		"enum":         {enum, mysql.MYSQL_TYPE_STRING, 247<<8 | 1, "\x02", "b", "2", sqlChar, sqlInteger},
		"invalid enum": {enum, mysql.MYSQL_TYPE_STRING, 247<<8 | 1, "\x00", "", "0", sqlChar, sqlInteger},
		"set":          {set, mysql.MYSQL_TYPE_STRING, 248<<8 | 1, "\x03", "x,y", "3", sqlChar, sqlBit},
		"empty set":    {set, mysql.MYSQL_TYPE_STRING, 248<<8 | 1, "\x00", "", "0", sqlChar, sqlBit},
		"binary":       {schema.Column{Name: "b", Type: "binary(4)", Base: "binary", Charset: "binary"}, mysql.MYSQL_TYPE_STRING, 254<<8 | 4, "\xff\x01", "/wEAAA==", "ÿ\x01", sqlBlob, sqlBlob},
		"varbinary":    {schema.Column{Name: "b", Type: "varbinary(4)", Base: "varbinary", Charset: "binary"}, mysql.MYSQL_TYPE_VARCHAR, 4, "\xff\x01", "/wE=", "ÿ\x01", sqlBlob, sqlBlob},
		"zerofill":     {filled, mysql.MYSQL_TYPE_LONG, 0, "\x2a\x00\x00\x00", "00042", "42", sqlBigint, sqlInteger},
		"decimal":      {schema.Column{Name: "d", Type: "decimal(4,2)", Base: "decimal", Args: []string{"4", "2"}}, mysql.MYSQL_TYPE_NEWDECIMAL, 4<<8 | 2, "\x8a\x00", "10.00", "10.0", sqlDecimal, sqlDecimal},
		"float":        {schema.Column{Name: "f", Type: "float", Base: "float"}, mysql.MYSQL_TYPE_FLOAT, 4, "\x00\x00\x80\x4b", "16777216", "1.6777216E7", sqlReal, sqlReal},
		"decimals":     {schema.Column{Name: "f", Type: "float(7,2)", Base: "float", Args: []string{"7", "2"}}, mysql.MYSQL_TYPE_FLOAT, 4, "\x00\x00\x80\x3f", "1.00", "1.0", sqlReal, sqlReal},
		"json":         {schema.Column{Name: "j", Type: "json", Base: "json"}, mysql.MYSQL_TYPE_JSON, 4, "\x0b\x40\x8c\xb5\x78\x1d\xaf\x15\x44", "1e20", "1.0E20", sqlVarchar, sqlVarchar},
	} {
		l := made(t, c.column, c.wire, c.meta)
		col := &l.Columns[0]
		s := Style{MySQL: true, Decimal: true}
		if got, err := AppendText(nil, col, []byte(c.raw), s); err != nil || string(got) != c.want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, c.want)
		}
		if got, err := AppendHashText(nil, col, []byte(c.raw), s); err != nil || string(got) != c.hash {
			t.Errorf("%s hashes %q, %v, want %q", name, got, err, c.hash)
		}
		if got, null := col.SQLType([]byte(c.raw), false, &s), col.SQLType(nil, true, &s); got != c.typ || null != c.typ {
			t.Errorf("%s has type %d, and %d where it is NULL, want %d", name, got, null, c.typ)
		}
		if got := col.SQLType([]byte(c.raw), false, &Style{}); got != c.canalType {
			t.Errorf("%s has Canal's type %d, want %d", name, got, c.canalType)
		}
	}
	for raw, c := range map[string]schema.Column{"\x03": enum, "\x04": set} {
		kind := uint16(247)
		if c.Base == "set" {
			kind = 248
		}
		l := made(t, c, mysql.MYSQL_TYPE_STRING, kind<<8|1)
		if got, err := AppendText(nil, &l.Columns[0], []byte(raw), Style{MySQL: true}); !errors.Is(err, column.ErrValue) {
			t.Errorf("%s %x is %q, %v", c.Base, raw, got, err)
		}
	}
}
