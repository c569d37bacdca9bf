package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event/tablemap"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// made is a layout of one column.
func made(t testing.TB, c schema.Column, wire byte, meta uint16) *Layout {
	t.Helper()
	if c.Name == "" {
		c.Name = "c"
	}
	l, err := NewLayout(&schema.Table{Schema: "zoo", Name: "ant", Columns: []schema.Column{c}},
		&replication.TableMapEvent{ColumnCount: 1, ColumnType: []byte{wire}, ColumnMeta: []uint16{meta}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLayoutMismatch(t *testing.T) {
	tracked := func(c ...schema.Column) *schema.Table {
		return &schema.Table{Schema: "zoo", Name: "ant", Columns: c}
	}
	type m = replication.TableMapEvent
	id := schema.Column{Name: "id", Base: "int", Type: "int(11)"}
	for name, c := range map[string]struct {
		table *schema.Table
		event m
		err   error
		says  string
	}{
		"count": {tracked(id), m{ColumnType: []byte{3, 3}, ColumnMeta: []uint16{0, 0}}, ErrMismatch,
			"table zoo.ant: the table map says 2 columns, the tracked table says 1"},
		"type": {tracked(id), m{ColumnType: []byte{8}, ColumnMeta: []uint16{0}}, ErrMismatch,
			"table zoo.ant column id: the table map says bigint, the tracked table says int(11)"},
		"blob size": {tracked(schema.Column{Name: "t", Base: "text"}), m{ColumnType: []byte{252}, ColumnMeta: []uint16{4}}, ErrMismatch,
			"column t: the table map says longblob, the tracked table says text"},
		"sign": {tracked(id), m{ColumnType: []byte{3}, ColumnMeta: []uint16{0}, SignednessBitmap: []byte{0x80}}, ErrMismatch,
			"the table map says unsigned, the tracked table says int(11)"},
		"name": {tracked(id), m{ColumnType: []byte{3}, ColumnMeta: []uint16{0}, ColumnName: [][]byte{[]byte("ident")}}, ErrMismatch,
			"the table map says that column 1 is ident"},
		"unknown": {nil, m{Schema: []byte("zoo"), Table: []byte("ant"), ColumnType: []byte{3}, ColumnMeta: []uint16{0}}, ErrUnknownTable,
			"zoo.ant"},
		"no name":   {tracked(schema.Column{Base: "int"}), m{ColumnType: []byte{3}, ColumnMeta: []uint16{0}}, ErrUnknownTable, ""},
		"collation": {tracked(schema.Column{Name: "v", Base: "varchar"}), m{ColumnType: []byte{15}, ColumnMeta: []uint16{80}, DefaultCharset: []uint64{9999}}, ErrUnsupported, "9999"},
		"set":       {tracked(schema.Column{Name: "v", Base: "varchar", Charset: "klingon"}), m{ColumnType: []byte{15}, ColumnMeta: []uint16{80}}, ErrUnsupported, "klingon"},
		"old hires": {tracked(schema.Column{Name: "d", Base: "datetime", Args: []string{"7"}}), m{ColumnType: []byte{12}, ColumnMeta: []uint16{0}}, ErrUnsupported, "datetime"},
		"enum size": {tracked(schema.Column{Name: "e", Base: "enum"}), m{ColumnType: []byte{254}, ColumnMeta: []uint16{247<<8 | 3}}, ErrUnsupported, "enum"},
		"metadata":  {tracked(id), m{ColumnType: []byte{3}}, ErrImage, ""},
	} {
		c.event.ColumnCount = uint64(len(c.event.ColumnType))
		_, err := NewLayout(c.table, &c.event)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %v with %q", name, err, c.err, c.says)
		}
	}
}

// A server stores types otherwise than they are written.
func TestLayoutFits(t *testing.T) {
	for _, c := range []struct {
		base string
		args string
		wire byte
		meta uint16
		fits bool
	}{
		{"text", "20", 252, 1, true},
		{"text", "", 252, 2, true},
		{"varchar", "70000", 252, 3, true},
		{"json", "", 252, 4, true},
		{"json", "", 245, 4, true},
		{"point", "", 255, 4, true},
		{"uuid", "", 254, 254<<8 | 16, true},
		{"float", "", 5, 8, true},
		{"numeric", "5", 246, 5 << 8, true},
		{"boolean", "", 1, 0, true},
		{"enum", "", 254, 247<<8 | 1, true},
		{"set", "", 254, 248<<8 | 8, true},
		{"char", "255", 254, 0xee<<8 | 0xfc, true},
		{"timestamp", "", 17, 6, true},
		{"datetime", "", 17, 0, false},
		{"char", "1", 15, 1, false},
		{"set", "", 254, 247<<8 | 1, false},
	} {
		col := schema.Column{Name: "c", Base: c.base}
		if c.args != "" {
			col.Args = []string{c.args}
		}
		_, err := NewLayout(&schema.Table{Columns: []schema.Column{col}},
			&replication.TableMapEvent{ColumnCount: 1, ColumnType: []byte{c.wire}, ColumnMeta: []uint16{c.meta}})
		if (err == nil) != c.fits {
			t.Errorf("%s(%s) as %d/%d: %v", c.base, c.args, c.wire, c.meta, err)
		}
	}
}

// CHAR(255) of four-byte characters has 1020 bytes; two bits of that stand in
// the type.
func TestLongChar(t *testing.T) {
	c := made(t, schema.Column{Base: "char"}, mysql.MYSQL_TYPE_STRING, 0xce<<8|0xfc).Columns[0]
	if c.Wire != mysql.MYSQL_TYPE_STRING || c.Meta != 0x3fc || c.prefix != 2 {
		t.Errorf("wire %d of %d bytes, length of %d", c.Wire, c.Meta, c.prefix)
	}
}

// The table map's character set wins; without it the tracked one holds.
func TestLayoutCharset(t *testing.T) {
	table := &schema.Table{Columns: []schema.Column{
		{Name: "a", Base: "varchar", Charset: "utf8mb4"},
		{Name: "n", Base: "int"},
		{Name: "b", Base: "varchar", Charset: "utf8mb4"},
		{Name: "c", Base: "char", Charset: "utf8mb4"},
		{Name: "d", Base: "text"},
	}}
	m := &replication.TableMapEvent{ColumnCount: 5, ColumnType: []byte{15, 3, 15, 254, 252}, ColumnMeta: []uint16{80, 0, 80, 254<<8 | 40, 2}}
	sets := func() (names []string) {
		l, err := NewLayout(table, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range l.Columns {
			names = append(names, c.Charset)
		}
		return names
	}
	if got := strings.Join(sets(), ","); got != "utf8mb4,,utf8mb4,utf8mb4," {
		t.Errorf("without: %s", got)
	}
	m.DefaultCharset = []uint64{8, 1, 28, 3, 63}
	if got := strings.Join(sets(), ","); got != "latin1,,gbk,latin1,binary" {
		t.Errorf("with: %s", got)
	}
	if table.Columns[0].Charset != "utf8mb4" {
		t.Error("the tracked table was changed")
	}
}

// With binlog_row_metadata=FULL the event is enough.
func TestLayoutFromEvent(t *testing.T) {
	events := rowEvents(t, "testdata/golden/47-row-metadata-full/mysql.binlog", false)
	l, err := NewLayout(nil, events[0].event.Table)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range l.Columns {
		word := c.Name + " " + c.Base
		if c.Unsigned {
			word += " unsigned"
		}
		if c.Key {
			word += " key"
		}
		if c.Nullable {
			word += " null"
		}
		got = append(got, word+" "+c.Charset)
	}
	want := "id int unsigned key ;e enum null utf8mb4;s set null utf8mb4;t varchar null latin1;u bigint unsigned ;g point null "
	if s := strings.Join(got, ";"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	var it RowIter
	if err := events[0].change(l).Locate(&it); err != nil {
		t.Fatal(err)
	}
	texts := texts(t, l, &it, it.Row(0), Style{}, map[string]int32{})
	if *texts["t"] != "é" || *texts["u"] != "18446744073709551615" || *texts["s"] != "3" {
		t.Errorf("texts %q %q %q", *texts["t"], *texts["u"], *texts["s"])
	}
}

// MariaDB's COMPRESSED columns, of which go-mysql misreads the metadata.
func TestCompressedColumn(t *testing.T) {
	events := rowEvents(t, "testdata/golden/49-mariadb-compressed-column/mariadb.binlog", false)
	table := &schema.Table{Schema: "zoo", Name: "oriole", Columns: []schema.Column{
		{Name: "id", Base: "int"}, {Name: "v", Base: "varchar"}, {Name: "t", Base: "text"}, {Name: "n", Base: "int"}}}
	m := events[1].event.Table
	m.ColumnMeta = []uint16{0, 2001, 2, 0} // as tablemap.Fix reads it
	l, err := NewMariaDBLayout(table, m)
	if err != nil {
		t.Fatal(err)
	}
	var it RowIter
	if err := events[1].change(l).Locate(&it); err != nil {
		t.Fatal(err)
	}
	texts := texts(t, l, &it, it.Row(0), Style{}, map[string]int32{})
	if *texts["v"] != strings.Repeat("v", 500) || *texts["t"] != strings.Repeat("t", 500) || *texts["n"] != "2" {
		t.Errorf("texts %q %q %q", *texts["v"], *texts["t"], *texts["n"])
	}
}

// MySQL counts VECTOR among the columns whose character sets a table map has: a text behind one keeps its own. As a
// server logged it.
func TestTextBehindVector(t *testing.T) {
	for name, m := range map[string]*replication.TableMapEvent{
		"default": {ColumnType: []byte{242, 242, 15, 15}, ColumnMeta: []uint16{4, 4, 36, 9}, DefaultCharset: []uint64{63, 2, 255, 3, 8}},
		"columns": {ColumnType: []byte{242, 242, 15, 15}, ColumnMeta: []uint16{4, 4, 36, 9}, ColumnCharset: []uint64{63, 63, 255, 8}},
	} {
		m.ColumnCount = uint64(len(m.ColumnType))
		l, err := NewLayout(&schema.Table{Columns: []schema.Column{{Name: "v"}, {Name: "w"}, {Name: "a"}, {Name: "b"}}}, m)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"", "", "é", "Ã©"} {
			if want == "" {
				continue
			}
			if got, err := AppendText(nil, &l.Columns[i], []byte("é"), Style{}); err != nil || string(got) != want {
				t.Errorf("%s: column %d: %q, %v, want %q", name, i, got, err, want)
			}
		}
	}
	short := &replication.TableMapEvent{ColumnCount: 2, ColumnType: []byte{15, 15}, ColumnMeta: []uint16{4, 4}, ColumnCharset: []uint64{8}}
	if _, err := NewLayout(&schema.Table{Columns: []schema.Column{{Name: "a"}, {Name: "b"}}}, short); err != nil {
		t.Errorf("a table map with too few character sets: %v", err)
	}
}

// A hash of a UNIQUE key stands in the rows only; a column that the tracked
// table lacks is no hash because it stands at the end.
func TestHashColumn(t *testing.T) {
	type m = replication.TableMapEvent
	table := &schema.Table{Schema: "zoo", Name: "ant", Columns: []schema.Column{{Name: "id", Base: "int"}}, Hashes: 1}
	none, two := *table, *table
	none.Hashes, two.Hashes = 0, 2
	names := func(s ...string) (all [][]byte) {
		for _, n := range s {
			all = append(all, []byte(n))
		}
		return all
	}
	for name, c := range map[string]struct {
		table *schema.Table
		event m
		err   error
	}{
		"one":          {table, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}}, nil},
		"two":          {&two, m{ColumnType: []byte{3, 8, 8}, NullBitmap: []byte{6}}, nil},
		"no such key":  {&none, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}}, ErrMismatch},
		"one too many": {table, m{ColumnType: []byte{3, 8, 8}, NullBitmap: []byte{6}}, ErrMismatch},
		"named":        {&none, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}, ColumnName: names("id", "DB_ROW_HASH_1"), SignednessBitmap: []byte{0x40}}, nil},
		"untracked":    {nil, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}, ColumnName: names("id", "DB_ROW_HASH_1"), SignednessBitmap: []byte{0x40}}, nil},
		"not named":    {nil, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}}, ErrUnknownTable},
		"other name":   {table, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}, ColumnName: names("id", "n"), SignednessBitmap: []byte{0x40}}, ErrMismatch},
		"signed":       {table, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{2}, SignednessBitmap: []byte{0}}, ErrMismatch},
		"not null":     {table, m{ColumnType: []byte{3, 8}, NullBitmap: []byte{0}}, nil},
		"int":          {table, m{ColumnType: []byte{3, 3}, NullBitmap: []byte{2}}, ErrMismatch},
	} {
		c.event.ColumnCount = uint64(len(c.event.ColumnType))
		c.event.ColumnMeta = make([]uint16, c.event.ColumnCount)
		l, err := NewMariaDBLayout(c.table, &c.event)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		} else if err == nil && len(l.Columns) != 1 {
			t.Errorf("%s: %d columns", name, len(l.Columns))
		}
	}
}

// Whatever a table map says: no panic, neither when it is read nor when rows are read by it.
func FuzzTableMap(f *testing.F) {
	files, err := filepath.Glob("testdata/golden/*/*.binlog")
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded binlogs", err)
	}
	var format []byte
	for _, file := range files {
		p := replication.NewBinlogParser()
		_ = p.ParseFile(file, 4, func(e *replication.BinlogEvent) error {
			switch e.Event.(type) {
			case *replication.FormatDescriptionEvent:
				format = bytes.Clone(e.RawData)
			case *replication.TableMapEvent:
				f.Add(e.RawData[replication.EventHeaderSize:len(e.RawData)-4], true)
				f.Add(e.RawData[replication.EventHeaderSize:len(e.RawData)-4], false)
			}
			return nil
		})
	}
	f.Fuzz(func(t *testing.T, body []byte, mariaDB bool) {
		p := replication.NewBinlogParser()
		p.SetFlavor(map[bool]string{true: mysql.MariaDBFlavor, false: mysql.MySQLFlavor}[mariaDB])
		if _, err := p.Parse(format); err != nil {
			t.Fatal(err)
		}
		m := parseTableMap(p, body)
		if m == nil || tablemap.Fix(m, body) != nil {
			return
		}
		newLayout := NewLayout
		if mariaDB {
			newLayout = NewMariaDBLayout
		}
		tracked := &schema.Table{Columns: make([]schema.Column, len(m.ColumnType))}
		for i := range tracked.Columns {
			tracked.Columns[i].Name = fmt.Sprint("c", i)
		}
		for _, table := range []*schema.Table{nil, tracked} {
			l, err := newLayout(table, m)
			if err != nil || len(l.Columns) == 0 {
				continue
			}
			bitmap := bytes.Repeat([]byte{0xff}, (len(m.ColumnType)+7)/8)
			c := &Change{Kind: Insert, Layout: l, Present: bitmap, Image: body}
			var it RowIter
			if c.Locate(&it) != nil {
				continue
			}
			for i := range it.Len() {
				for n, field := range it.Row(i) {
					if field.Present() && !field.Null() && n < len(l.Columns) {
						_, _ = AppendText(nil, &l.Columns[n], it.Bytes(field), Style{MySQL: i%2 == 0})
					}
				}
			}
		}
	})
}

// parseTableMap reads a table map; nil when it cannot be read, which the relay's parser makes of a panic, too.
func parseTableMap(p *replication.BinlogParser, body []byte) (m *replication.TableMapEvent) {
	defer func() { _ = recover() }()
	raw := make([]byte, replication.EventHeaderSize, replication.EventHeaderSize+len(body)+4)
	raw[4] = byte(replication.TABLE_MAP_EVENT)
	raw = append(append(raw, body...), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(raw[9:], uint32(len(raw)))
	e, err := p.Parse(raw)
	if err != nil {
		return nil
	}
	m, _ = e.Event.(*replication.TableMapEvent)
	return m
}
