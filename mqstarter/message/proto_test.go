package message

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// The bytes that Canal's own classes write.
const (
	entryBeginHex    = "0a2e080112106d7973716c2d62696e2e303030303031180420012a055554462d383080d095ffbc31380242004a00504f10011a02200c"
	entryEndHex      = "0a2f080112106d7973716c2d62696e2e30303030303118f40120012a055554462d383080d095ffbc31380242004a00501f10031a0412023737"
	entryTruncateHex = "0a39080112106d7973716c2d62696e2e30303030303118ac0220012a055554462d383080d095ffbc3138024204746573744a0475736572505f580810021a1f100850015a137472756e63617465207461626c652075736572720474657374"
	rowChangeHex     = "086c10015000623b121a080010041a0269642001280130004201315207696e7428313129121d0801100c1a046e616d65200028013001520b7661726368617228333229"
	entryInsertHex   = "0a49080112106d7973716c2d62696e2e30303030303118c80120012a055554462d383080d095ffbc3138024204746573744a0475736572502c5801620e0a09726f7773436f756e7412013110021a43" + rowChangeHex
)

func protoLayout(t testing.TB) *event.Layout {
	id, name := keyCol(intCol("id")), textCol("name")
	id.Type, name.Type = "int(11)", "varchar(32)"
	return newLayout(t, "user", id, name)
}

// placed is a change where the vectors have it.
func placed(c event.Change, offset uint64, length uint32) *event.Change {
	c.File, c.Offset, c.Length, c.ServerID, c.Time = "mysql-bin.000001", offset, length, 1, 1700000000
	return &c
}

func insertOf(t testing.TB) *event.Change {
	c := placed(*change(event.Insert, protoLayout(t), image(nil, 1, nil)), 200, 44)
	c.Schema, c.TableID = "test", 108
	return c
}

func protoHex(t testing.TB, p *Proto, c *event.Change, rows []int) string {
	t.Helper()
	if err := p.Open(c); err != nil {
		t.Fatal(err)
	}
	b, err := p.Append(nil, rows)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

func TestProtoVectors(t *testing.T) {
	tests := []struct {
		name   string
		change *event.Change
		want   string
	}{
		{"begin", placed(event.Change{Kind: event.Begin, Thread: 12}, 4, 79), entryBeginHex},
		{"insert", insertOf(t), entryInsertHex},
		{"end", placed(event.Change{Kind: event.End, XID: 77}, 244, 31), entryEndHex},
		{"truncate", placed(event.Change{Kind: event.Truncate, DDL: true, Schema: "test", Table: "user", SQL: "truncate table user", Database: "test", Rows: 1}, 300, 95), entryTruncateHex},
		{"begin of another server", &event.Change{Kind: event.Begin, Thread: 5, File: "f", Offset: 4, ServerID: 7, Time: 1, Length: 40},
			"0a1b0801120166180420072a055554462d3830e807380242004a00502810011a022005"},
	}
	p := NewProto(Config{})
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, protoHex(t, p, tt.change, nil)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// stored is the storeValue of an entry, in hex.
func stored(t testing.TB, p *Proto, c *event.Change) string {
	t.Helper()
	for _, f := range fieldsOf(t, protoHex(t, p, c, nil)) {
		if f.number == 3 {
			return hex.EncodeToString(f.bytes)
		}
	}
	t.Fatal("no storeValue")
	return ""
}

func TestProtoStored(t *testing.T) {
	text := textCol("b")
	text.Type, text.Base = "text", "text"
	tiny := schema.Column{Name: "b", Type: "tinyint(4)", Base: "tinyint"}
	p := NewProto(Config{})
	one := func(c schema.Column, value any) *event.Change {
		r := change(event.Insert, newLayout(t, "t", c), image(nil, value))
		r.TableID = 31
		return r
	}
	id := keyCol(intCol("id"))
	id.Type = "int(11)"
	tests := []struct {
		name   string
		change *event.Change
		want   string
	}{
		{"a column", one(id, 1), "081f10015000621c121a" + "080010041a0269642001280130004201315207696e7428313129"},
		{"NULL of text", one(text, nil), "081f100150006216" + "1214" + "080010d50f1a016220002801300152" + "0474657874"},
		{"a negative sqlType", one(tiny, raw{0xff}), "081f100150006228" + "1226" + "080010faffffffffffffffff011a01622000280130004202" + "2d31520a74696e79696e74283429"},
		{"drop", &event.Change{Kind: event.Erase, DDL: true, SQL: "drop table t", Database: "d", Rows: 1}, "100650015a0c64726f70207461626c652074720164"},
		{"text of rows", &event.Change{Kind: event.Query, SQL: "select 1", Rows: 1}, "10075a0873656c6563742031"},
		{"statement DML", &event.Change{Kind: event.Delete, SQL: "x", Database: "d", Rows: 1}, "100350005a0178720164"},
		{"end", &event.Change{Kind: event.End, XID: 9}, "120139"},
		{"end by COMMIT", &event.Change{Kind: event.End}, "120130"},
		{"XA START", &event.Change{Kind: event.Begin, SQL: "XA START X'31',1", Thread: 12},
			"1a13" + "0a0758415f54595045" + "12085841205354415254" + "1a12" + "0a0658415f584944" + "12082058273331272c31" + "200c"},
		{"XA COMMIT", &event.Change{Kind: event.XACommit, SQL: "XA COMMIT 1", Rows: 1},
			"100d" + "5a0b584120434f4d4d49542031" + "6a14" + "0a0758415f54595045" + "1209584120434f4d4d4954" + "6a0c" + "0a0658415f584944" + "12022031"},
		{"XA in small letters", &event.Change{Kind: event.XARollback, SQL: "xa rollback 1", Rows: 1},
			"100e" + "5a0d786120726f6c6c6261636b2031" + "6a16" + "0a0758415f54595045" + "120b584120524f4c4c4241434b" + "6a0a" + "0a0658415f584944" + "1200"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, stored(t, p, tt.change)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// header is the text form of an entry's header.
func header(t testing.TB, p *Proto, c *event.Change) string {
	t.Helper()
	names := map[int]string{1: "version", 2: "file", 3: "offset", 4: "server", 5: "encoding", 6: "time", 7: "source", 8: "schema", 9: "table", 10: "length", 11: "type", 12: "prop", 13: "gtid"}
	var out []string
	for _, f := range fieldsOf(t, hex.EncodeToString(fieldsOf(t, protoHex(t, p, c, nil))[0].bytes)) {
		value := f.text()
		if f.number == 12 {
			pair := fieldsOf(t, hex.EncodeToString(f.bytes))
			value = pair[0].text() + ":" + pair[1].text()
		}
		if f.number > 7 {
			out = append(out, names[f.number]+"="+value)
		}
	}
	return strings.Join(out, " ")
}

// TestProtoHeader: a name that Canal does not know is absent, one that it knows to be none is empty.
func TestProtoHeader(t *testing.T) {
	tx := []byte("0ff7bb74-ecae-11f1-b832-02fc00000001:5")
	clocked := insertOf(t)
	clocked.Tx, clocked.GTID, clocked.Clock = tx, "0ff7bb74-ecae-11f1-b832-02fc00000001:1-5", &event.Clock{Sequence: 3}
	maria := insertOf(t)
	maria.GTID = "0-2-755"
	tests := []struct {
		name   string
		change *event.Change
		want   string
	}{
		{"GTID mode", clocked, "schema=test table=user length=44 type=1 prop=curtGtid:" + string(tx) + " prop=curtGtidSn:3 prop=curtGtidLct:0 prop=rowsCount:1 gtid=0ff7bb74-ecae-11f1-b832-02fc00000001:1-5"},
		{"GTID mode of MariaDB", maria, "schema=test table=user length=44 type=1 prop=rowsCount:1 gtid=0-2-755"},
		{"begin", &event.Change{Kind: event.Begin, Tx: tx, Clock: &event.Clock{}}, "schema= table= length=0 prop=curtGtid:" + string(tx) + " prop=curtGtidSn:0 prop=curtGtidLct:0"},
		{"a database", &event.Change{Kind: event.Query, DDL: true, Schema: "d"}, "schema=d length=0 type=7"},
		{"not understood", &event.Change{Kind: event.Query, DDL: true}, "length=0 type=7"},
		{"DML without table", &event.Change{Kind: event.Update, Schema: "d"}, "schema=d length=0 type=2"},
		{"rows-query text", &event.Change{Kind: event.Query, Table: "t"}, "schema= table=t length=0 type=7"},
		{"rows-query text without table", &event.Change{Kind: event.Query, Unnamed: true}, "schema= length=0 type=7"},
		{"annotation", &event.Change{Kind: event.Query}, "schema= table= length=0 type=7"},
		{"XA", &event.Change{Kind: event.XARollback, SQL: "XA ROLLBACK 1"}, "schema= table= length=0 type=14"},
	}
	p := NewProto(Config{})
	for _, tt := range tests {
		if got := header(t, p, tt.change); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// columnsOf shows the rows of an entry: of each image the columns as name=text, * where updated, ! where NULL.
func columnsOf(t testing.TB, p *Proto, c *event.Change, rows []int) string {
	t.Helper()
	var out []string
	for _, f := range fieldsOf(t, protoHex(t, p, c, rows)) {
		if f.number != 3 {
			continue
		}
		for _, row := range fieldsOf(t, hex.EncodeToString(f.bytes)) {
			if row.number != 12 {
				continue
			}
			text := "row"
			for _, column := range fieldsOf(t, hex.EncodeToString(row.bytes)) {
				text += map[int]string{1: " -", 2: " +"}[column.number]
				var index, name, value, marks string
				for _, part := range fieldsOf(t, hex.EncodeToString(column.bytes)) {
					switch {
					case part.number == 1:
						index = part.text()
					case part.number == 3:
						name = part.text()
					case part.number == 5 && part.varint == 1:
						marks += "*"
					case part.number == 6 && part.varint == 1:
						marks += "!"
					case part.number == 8:
						value = "=" + part.text()
					}
				}
				text += index + name + value + marks
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

func TestProtoRows(t *testing.T) {
	l := newLayout(t, "newt", keyCol(intCol("id")), intCol("a"), textCol("b"))
	update := change(event.Update, l, image(nil, 1, 5, "x"), image(nil, 1, 6, "x"), image(nil, 2, nil, nil), image(nil, 2, nil, ""))
	narrow := change(event.Update, l, image(nil, 2), image(nil, 2, "xx"))
	narrow.Present, narrow.PresentAfter = bitmap(3, 0), bitmap(3, 0, 2)
	tests := []struct {
		name   string
		change *event.Change
		rows   []int
		want   string
	}{
		{"insert", change(event.Insert, l, image(nil, 1, nil, "é\xff")), nil, "row +0id=1* +1a*! +2b=é\ufffd*"},
		{"delete", change(event.Delete, l, image(nil, 1, 2, "x"), image(nil, 2, 3, "y")), nil, "row -0id=1 -1a=2 -2b=x; row -0id=2 -1a=3 -2b=y"},
		{"update", update, nil, "row -0id=1 -1a=5 -2b=x +0id=1 +1a=6* +2b=x; row -0id=2 -1a! -2b! +0id=2 +1a! +2b=*"},
		{"one row of it", update, []int{1}, "row -0id=2 -1a! -2b! +0id=2 +1a! +2b=*"},
		{"minimal image", narrow, nil, "row -0id=2 +0id=2 +2b=xx*"},
	}
	p := NewProto(Config{})
	for _, tt := range tests {
		if got := columnsOf(t, p, tt.change, tt.rows); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
	// The header of some rows counts all.
	if err := p.Open(update); err != nil {
		t.Fatal(err)
	}
	if p.Rows() != 2 || !strings.HasSuffix(header(t, p, update), "prop=rowsCount:2") {
		t.Errorf("%d rows, header %s", p.Rows(), header(t, p, update))
	}
	p = NewProto(Config{Column: func(_, _, column string) bool { return column == "b" }})
	if got := columnsOf(t, p, update, nil); got != "row -2b=x +2b=x; row -2b! +2b=*" {
		t.Errorf("filtered: %s", got)
	}
	if key, err := p.AppendKey(nil, 0, 0); err != nil || len(key) != 0 {
		t.Errorf("filtered key: %q, %v", key, err)
	}
	p = NewProto(Config{Column: func(_, _, _ string) bool { return false }})
	if got := columnsOf(t, p, update, nil); got != "row; row" || p.Rows() != 2 {
		t.Errorf("all filtered: %s, %d rows", got, p.Rows())
	}
}

// TestProtoLengths: lengths of one to four bytes, at every level.
func TestProtoLengths(t *testing.T) {
	text := textCol("t")
	text.Type, text.Base, text.Charset = "longtext", "text", "latin1"
	for _, n := range []int{0, 1, 100, 127, 128, 300, 16000, 16383, 16384, 65535} {
		l := newLayout(t, "t", text)
		body := append([]byte{byte(n), byte(n >> 8)}, strings.Repeat("x", n)...)
		c := change(event.Insert, l, image(nil, raw(body)), image(nil, raw(body)), image(nil, raw(body)))
		want := "row +0t=" + strings.Repeat("x", n) + "*"
		want += "; " + want + "; " + want
		if got := columnsOf(t, NewProto(Config{}), c, nil); got != want {
			t.Errorf("%d bytes: got %d, want %d bytes", n, len(got), len(want))
		}
	}
}

func TestPacket(t *testing.T) {
	entry := unhex(entryInsertHex)
	p := NewProto(Config{})
	if err := p.Open(insertOf(t)); err != nil {
		t.Fatal(err)
	}
	frame, err := p.AppendFrame(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		form   Packet
		frames []byte
		want   string
	}{
		{"raw", Packet{Raw: true}, frame, "18072a97010805129201" + hex.EncodeToString(entry)},
		{"rebuilt", Packet{}, frame, "100118072a9501129201" + hex.EncodeToString(entry)},
		{"empty", Packet{}, nil, "10011807"},
	} {
		got := hex.EncodeToString(append(tt.form.AppendPacket(nil, 5, len(tt.frames)), tt.frames...))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
	for _, raw := range []bool{true, false} {
		if n := len(Packet{Raw: raw}.AppendPacket(nil, 1<<64-1, 1<<31)); n > PacketOverhead {
			t.Errorf("raw %v: %d bytes around entries", raw, n)
		}
	}
}

func TestProtoErrors(t *testing.T) {
	p := NewProto(Config{})
	cut := change(event.Insert, newLayout(t, "cut", intCol("id")), image(nil, 1)[:3])
	if err := p.Open(cut); err == nil || !strings.Contains(err.Error(), "shop.cut") {
		t.Errorf("got %v", err)
	}
	for range maxShapes + 5 {
		protoHex(t, p, change(event.Insert, newLayout(t, "t", intCol("id")), image(nil, 1)), nil)
	}
	if len(p.layouts) > maxShapes {
		t.Errorf("%d layouts kept", len(p.layouts))
	}
}

// TestProtoAllocations: none, once warm.
func TestProtoAllocations(t *testing.T) {
	c := wide(t, event.Update)
	c.GTID, c.Tx, c.Clock = "0-1-2", []byte("0-1-2"), &event.Clock{Sequence: 1 << 40}
	p := NewProto(Config{})
	var b []byte
	allocs := testing.AllocsPerRun(100, func() {
		if err := p.Open(c); err != nil {
			t.Fatal(err)
		}
		var err error
		if b, err = p.AppendFrame(b[:0], nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkProto(b *testing.B) {
	for _, kind := range []event.Kind{event.Insert, event.Update} {
		b.Run(kind.String(), func(b *testing.B) {
			c := wide(b, kind)
			p := NewProto(Config{})
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Open(c); err != nil {
					b.Fatal(err)
				}
				out, _ = p.AppendFrame(out[:0], nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.Rows), "ns/row")
		})
	}
}
