package message

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// The columns of test tables, with the metadata of a table map.
func intCol(name string) schema.Column {
	return schema.Column{Name: name, Type: "int", Base: "int"}
}

func textCol(name string) schema.Column {
	return schema.Column{Name: name, Type: "varchar(64)", Base: "varchar", Args: []string{"64"}, Charset: "utf8mb4", Nullable: true}
}

func keyCol(c schema.Column) schema.Column {
	c.Key = true
	return c
}

func wire(base string) (typ byte, meta uint16) {
	switch base {
	case "tinyint":
		return mysql.MYSQL_TYPE_TINY, 0
	case "int":
		return mysql.MYSQL_TYPE_LONG, 0
	case "bigint":
		return mysql.MYSQL_TYPE_LONGLONG, 0
	case "varchar":
		return mysql.MYSQL_TYPE_VARCHAR, 255
	case "decimal":
		return mysql.MYSQL_TYPE_NEWDECIMAL, 10<<8 | 2
	case "datetime":
		return mysql.MYSQL_TYPE_DATETIME2, 0
	case "text":
		return mysql.MYSQL_TYPE_BLOB, 2
	case "timestamp":
		return mysql.MYSQL_TYPE_TIMESTAMP2, 0
	}
	panic("no wire type for " + base)
}

func newLayout(t testing.TB, name string, columns ...schema.Column) *event.Layout {
	t.Helper()
	m := &replication.TableMapEvent{Schema: []byte("shop"), Table: []byte(name), ColumnCount: uint64(len(columns))}
	for _, c := range columns {
		typ, meta := wire(c.Base)
		m.ColumnType = append(m.ColumnType, typ)
		m.ColumnMeta = append(m.ColumnMeta, meta)
	}
	m.NullBitmap = full(len(columns))
	l, err := event.NewLayout(&schema.Table{Schema: "shop", Name: name, Columns: columns}, m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// full is the bitmap of an image that has all of n columns.
func full(n int) []byte {
	b := make([]byte, (n+7)/8)
	for i := range n {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

// bitmap is that of an image that has some columns.
func bitmap(n int, columns ...int) []byte {
	b := make([]byte, (n+7)/8)
	for _, i := range columns {
		b[i/8] |= 1 << (i % 8)
	}
	return b
}

// raw is a value as it stands in an image.
type raw []byte

// image appends the image of one row: int is INT, string is VARCHAR, nil is
// NULL, raw is itself.
func image(dst []byte, values ...any) []byte {
	nulls := make([]byte, (len(values)+7)/8)
	var body []byte
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			nulls[i/8] |= 1 << (i % 8)
		case int:
			body = binary.LittleEndian.AppendUint32(body, uint32(v))
		case string:
			body = append(append(body, byte(len(v))), v...)
		case raw:
			body = append(body, v...)
		}
	}
	return append(append(dst, nulls...), body...)
}

// change makes a row event; an update's images alternate.
func change(kind event.Kind, l *event.Layout, images ...[]byte) *event.Change {
	c := &event.Change{
		Kind: kind, Layout: l, Schema: "shop", Table: l.Table.Name, Time: 1700000000, Rows: len(images),
		Present: full(len(l.Columns)),
	}
	if kind == event.Update {
		c.Rows /= 2
		c.PresentAfter = full(len(l.Columns))
	}
	for _, i := range images {
		c.Image = append(c.Image, i...)
	}
	return c
}

func unhex(s string) raw {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// encode opens c and returns the message of some of its rows.
func encode(t testing.TB, f *Flat, c *event.Change, rows []int) string {
	t.Helper()
	if err := f.Open(c); err != nil {
		t.Fatal(err)
	}
	b, err := f.Append(nil, rows, 1, 1700000000412)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
