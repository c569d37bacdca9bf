package event

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Vectors of values as they stand in an image, by binlog type and metadata.
func TestAppendText(t *testing.T) {
	for _, c := range []struct {
		base     string
		unsigned bool
		wire     byte
		meta     uint16
		raw      string
		want     string
	}{
		{"decimal", false, 246, 10<<8 | 2, "8000000132", "1.50"},
		{"decimal", false, 246, 10<<8 | 2, "7ffffffecd", "-1.50"},
		{"decimal", false, 246, 10<<8 | 2, "8000000a00", "10.00"},
		{"datetime", false, 18, 0, "99b1dd6354", "2023-12-14 22:13:20"},
		{"datetime", false, 18, 0, "8000000000", "0000-00-00 00:00:00"},
		{"datetime", false, 18, 3, "99b1dd635404ce", "2023-12-14 22:13:20.123"},
		{"datetime", false, 18, 6, "99b1dd635401e240", "2023-12-14 22:13:20.123456"},
		{"datetime", false, 18, 1, "99b1dd63540a", "2023-12-14 22:13:20.1"},
		{"timestamp", false, 17, 0, "6553f100", "2023-11-14 22:13:20"},
		{"timestamp", false, 17, 3, "6553f10004ce", "2023-11-14 22:13:20.123"},
		{"timestamp", false, 17, 2, "0000000000", "0000-00-00 00:00:00.00"},
		{"timestamp", false, 7, 0, "00f15365", "2023-11-14 22:13:20"},
		{"time", false, 19, 0, "80a2cc", "10:11:12"},
		{"time", false, 19, 0, "7f5d34", "-10:11:12"},
		{"time", false, 19, 0, "b46efb", "838:59:59"},
		{"time", false, 19, 0, "864000", "100:00:00"},
		{"time", false, 19, 2, "7fffffff", "-00:00:00.01"},
		{"time", false, 19, 3, "80108311d0", "01:02:03.456"},
		{"time", false, 19, 6, "7ffffef85ee0", "-00:00:01.500000"},
		{"time", false, 11, 0, "40420f", "100:00:00"},
		{"date", false, 10, 0, "6ecf0f", "2023-11-14"},
		{"year", false, 13, 0, "7b", "2023"},
		{"bit", false, 16, 8 << 8, "ffffffffffffffff", "18446744073709551615"},
		{"bit", false, 16, 1<<8 | 1, "01ff", "511"},
		{"enum", false, 254, 247<<8 | 1, "02", "2"},
		{"enum", false, 254, 247<<8 | 2, "2c01", "300"},
		{"set", false, 254, 248<<8 | 1, "05", "5"},
		{"set", false, 254, 248<<8 | 8, "0000000000000080", "9223372036854775808"},
		{"varchar", false, 15, 20, "c328", "\uFFFD("},
		{"varbinary", false, 15, 20, "0001fe", "\u0000\u0001þ"},
		{"blob", false, 252, 2, "c3a9", "Ã©"},
		{"text", false, 252, 2, "610062", "a\u0000b"},
		{"char", false, 254, 254<<8 | 40, "f09f9880", "😀"},
		{"point", false, 255, 4, "00000000ff", "\u0000\u0000\u0000\u0000ÿ"},
		{"json", false, 245, 4, "05ffff", "-1"},
		{"json", false, 252, 4, "7b7d", "{}"},
		{"float", false, 4, 4, "0000803f", "1.0"},
		{"double", false, 5, 8, "9a9999999999b93f", "0.1"},
		{"tinyint", false, 1, 0, "80", "-128"},
		{"tinyint", true, 1, 0, "80", "128"},
		{"mediumint", false, 9, 0, "000080", "-8388608"},
		{"mediumint", true, 9, 0, "ffffff", "16777215"},
		{"int", true, 3, 0, "ffffffff", "4294967295"},
		{"bigint", true, 8, 0, "ffffffffffffffff", "18446744073709551615"},
		{"vector", false, 242, 4, "0000803f00002040000040c0", "[1.00000e+00,2.50000e+00,-3.00000e+00]"},
	} {
		col := &made(t, schema.Column{Base: c.base, Unsigned: c.unsigned}, c.wire, c.meta).Columns[0]
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := AppendText([]byte("x"), col, raw, Style{})
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%s %d/%d %s is %q, %v, want %q", c.base, c.wire, c.meta, c.raw, got, err, c.want)
		}
		if col.prefix == 0 {
			if _, err := AppendText(nil, col, append(raw, 0), Style{}); !errors.Is(err, column.ErrValue) {
				t.Errorf("%s with a byte too many: %v", c.base, err)
			}
		}
	}
	if _, err := AppendText(nil, &Column{}, []byte{1}, Style{}); err == nil {
		t.Error("a column that no layout made has a text")
	}
}

func TestStyle(t *testing.T) {
	shanghai, err := NewStyle(mustLoad(t, "Asia/Shanghai"), true, "GBK")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		column schema.Column
		wire   byte
		meta   uint16
		raw    string
		text   string
		hash   string
	}{
		{schema.Column{Base: "timestamp"}, 17, 0, "\x65\xe0\x7a\x30", "2024-02-29 20:36:00", "2024-02-29 20:36:00"},
		{schema.Column{Base: "decimal"}, 246, 10<<8 | 2, "\x80\x00\x00\x0a\x00", "10.0", "10.0"},
		{schema.Column{Base: "varchar"}, 15, 20, "\xd6\xd0", "中", "中"},
		{schema.Column{Base: "varchar", Charset: "utf8mb4"}, 15, 20, "中", "中", "涓\uFFFD"},
		{schema.Column{Base: "varchar", Charset: "utf8mb4", Type: "VARBINARY(20)"}, 15, 20, "é", "é", "Ã©"},
		{schema.Column{Base: "text", Charset: "utf8mb4", Type: "TEXT(20)", Args: []string{"20"}}, 252, 1, "é", "é", "Ã©"},
		{schema.Column{Base: "text", Charset: "utf8mb4", Type: "TEXT"}, 252, 2, "abc", "abc", "abc"},
		{schema.Column{Base: "inet4", Type: "INET4"}, 254, 254<<8 | 4, "\x41\x42", "65.66.0.0", "AB"},
	} {
		col := &made(t, c.column, c.wire, c.meta).Columns[0]
		if got, err := AppendText(nil, col, []byte(c.raw), shanghai); err != nil || string(got) != c.text {
			t.Errorf("%s is %q, %v, want %q", c.column.Base, got, err, c.text)
		}
		plain := shanghai
		plain.Decimal = false
		if got, err := AppendHashText(nil, col, []byte(c.raw), plain); err != nil || string(got) != c.hash {
			t.Errorf("%s hashes %q, %v, want %q", c.column.Base, got, err, c.hash)
		}
	}
	if _, err := NewStyle(time.UTC, false, "klingon"); err == nil || !strings.Contains(err.Error(), "klingon") {
		t.Errorf("error %v", err)
	}
}

func TestSQLType(t *testing.T) {
	for _, c := range []struct {
		base     string
		unsigned bool
		wire     byte
		meta     uint16
		raw      string
		want     int32
		null     int32
	}{
		{"tinyint", false, 1, 0, "80", -6, -6},
		{"tinyint", true, 1, 0, "7f", -6, -6}, {"tinyint", true, 1, 0, "80", 5, -6},
		{"smallint", true, 2, 0, "ff7f", 5, 5}, {"smallint", true, 2, 0, "0080", 4, 5},
		{"mediumint", true, 9, 0, "000080", 4, 4},
		{"int", true, 3, 0, "ffffff7f", 4, 4}, {"int", true, 3, 0, "00000080", -5, 4},
		{"bigint", true, 8, 0, "0600000000000000", -5, -5}, {"bigint", true, 8, 0, "ffffffffffffffff", 3, -5},
		{"float", false, 4, 4, "", 7, 7}, {"double", false, 5, 8, "", 8, 8}, {"decimal", false, 246, 10 << 8, "", 3, 3},
		{"bit", false, 16, 1, "", -7, -7}, {"year", false, 13, 0, "", 12, 12}, {"date", false, 10, 0, "", 91, 91},
		{"time", false, 19, 3, "", 92, 92}, {"time", false, 11, 0, "", 92, 92}, {"datetime", false, 18, 0, "", 93, 93},
		{"datetime", false, 12, 0, "", 93, 93}, {"timestamp", false, 17, 0, "", 93, 93}, {"timestamp", false, 7, 0, "", 93, 93},
		{"char", false, 254, 254<<8 | 4, "", 1, 1}, {"varchar", false, 15, 4, "", 12, 12},
		{"binary", false, 254, 254<<8 | 4, "", 2004, 2004}, {"varbinary", false, 15, 4, "", 2004, 2004},
		{"text", false, 252, 2, "", 2005, 2005}, {"longblob", false, 252, 4, "", 2004, 2004}, {"json", false, 252, 4, "", 2005, 2005},
		{"geometry", false, 255, 4, "", 2004, 2004}, {"enum", false, 254, 247<<8 | 1, "80", 4, 4}, {"set", false, 254, 248<<8 | 1, "80", -7, 2004},
		{"json", false, 245, 4, "", 12, 1111}, {"vector", false, 242, 4, "", 12, 12}, {"uuid", false, 254, 254<<8 | 16, "", 1, 1},
	} {
		col := &made(t, schema.Column{Base: c.base, Unsigned: c.unsigned}, c.wire, c.meta).Columns[0]
		raw, _ := hex.DecodeString(c.raw)
		if got, null := col.SQLType(raw, false, &Style{}), col.SQLType(nil, true, &Style{}); got != c.want || null != c.null {
			t.Errorf("%s %s has type %d and NULL %d, want %d and %d", c.base, c.raw, got, null, c.want, c.null)
		}
	}
}

func TestEqual(t *testing.T) {
	berlin, _ := NewStyle(mustLoad(t, "Europe/Berlin"), false, "")
	var scratch []byte
	for _, c := range []struct {
		column schema.Column
		wire   byte
		meta   uint16
		a, b   string
		equal  bool
	}{
		{schema.Column{Base: "int"}, 3, 0, "\x01\x00\x00\x00", "\x01\x00\x00\x00", true},
		{schema.Column{Base: "int"}, 3, 0, "\x01\x00\x00\x00", "\x02\x00\x00\x00", false},
		{schema.Column{Base: "varchar", Charset: "utf8mb4"}, 15, 9, "é", "e", false},
		{schema.Column{Base: "varchar", Charset: "utf8mb4"}, 15, 9, "\xc3", "\xe4", true},
		{schema.Column{Base: "varchar", Charset: "gbk"}, 15, 9, "\xd6\xd0", "\xce\xc4", false},
		// 02:30 of the night when summer time ends, before and after.
		{schema.Column{Base: "timestamp"}, 17, 0, "\x67\x1d\x89\x88", "\x67\x1d\x97\x98", true},
		{schema.Column{Base: "json"}, 245, 4, "\x05\x01\x00", "\x07\x01\x00\x00\x00", true},
		{schema.Column{Base: "json"}, 245, 4, "\x05\x01\x00", "\x05\x02\x00", false},
		{schema.Column{Base: "blob"}, 252, 2, "\xff", "\xfe", false},
	} {
		col := &made(t, c.column, c.wire, c.meta).Columns[0]
		var got bool
		var err error
		got, scratch, err = col.Equal([]byte(c.a), []byte(c.b), berlin, scratch)
		if err != nil || got != c.equal {
			t.Errorf("%s %q and %q: %v, %v, want %v", c.column.Base, c.a, c.b, got, err, c.equal)
		}
		if col.SameText() && c.a != c.b && c.equal {
			t.Errorf("%s says that other bytes are another text", c.column.Base)
		}
	}
	col := &made(t, schema.Column{Base: "json"}, 245, 4).Columns[0]
	if _, _, err := col.Equal([]byte{99}, []byte{98}, berlin, nil); err == nil {
		t.Error("broken JSON is compared")
	}
}

// Random text in every column's own set comes out as Go's own reading of it.
func TestRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	utf8 := &made(t, schema.Column{Base: "varchar", Charset: "utf8mb4"}, 15, 400).Columns[0]
	ucs := &made(t, schema.Column{Base: "varchar", Charset: "utf32"}, 15, 400).Columns[0]
	for range 2000 {
		var text, wide []byte
		for range r.IntN(20) {
			c := rune(r.IntN(0x110000))
			if c >= 0xd800 && c < 0xe000 {
				continue
			}
			text = append(text, string(c)...)
			wide = append(wide, byte(c>>24), byte(c>>16), byte(c>>8), byte(c))
		}
		a, _ := AppendText(nil, utf8, text, Style{})
		b, _ := AppendText(nil, ucs, wide, Style{})
		if string(a) != string(text) || string(b) != string(text) {
			t.Fatalf("%q is %q and %q", text, a, b)
		}
	}
}

// What the tables of the corpus hold where Canal's texts are damaged.
func TestCharsets(t *testing.T) {
	for _, file := range []string{"mysql", "mariadb"} {
		prefix := ""
		if file == "mariadb" {
			prefix = "mariadb."
		}
		folder := "testdata/golden/08-charsets/"
		messages := recorded(t, folder+prefix+"flat.jsonl")
		sets := map[string]string{"la": "latin1", "gb": "gbk", "u16": "utf16", "u32": "utf32", "uc": "ucs2", "sj": "sjis", "b5": "big5",
			"cy": "cp1251", "u3": "utf8mb3", "u8": "utf8mb4"}
		var it RowIter
		var got []string
		for i, e := range rowEvents(t, folder+file+".binlog", false) {
			table := tracked(messages[i])
			if table.Name != "heron" {
				break
			}
			for i := range table.Columns { // MariaDB's table map has no sets
				table.Columns[i].Charset = sets[table.Columns[i].Name]
			}
			l, err := NewLayout(table, e.event.Table)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.change(l).Locate(&it); err != nil {
				t.Fatal(err)
			}
			for row := range it.Len() {
				var texts []string
				for i, f := range it.Row(row)[1:] {
					b, _ := AppendText(nil, &l.Columns[i+1], it.Bytes(f), Style{})
					texts = append(texts, string(b))
				}
				got = append(got, strings.Join(texts, " "))
			}
		}
		want := []string{
			"plain plain plain plain plain plain plain plain plain plain",
			"héllo 中文 中文 中文 中文 日本 中文 Привет héllo 中 héllo 中 😀",
			"é 你好 😀 😀 é カタカナ 香港 ё é é",
			"ÿ€ 钢笔abc é é ñ ｱ 臺灣 Ж ÿ ÿ",
			"         ",
			"hèllo 中文 中文 中文 中文 日本 中文 Привет héllo 中 héllo 中 😀",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s", file, strings.Join(got, "\n"))
		}
	}
}

func TestMariaDBTypes(t *testing.T) {
	folder := "testdata/golden/48-mariadb-types/mariadb."
	messages := recorded(t, folder+"flat.jsonl")
	events := rowEvents(t, folder+"binlog", false)
	var it RowIter
	var got []string
	for i, e := range events[:3] {
		l, err := NewLayout(tracked(messages[i]), e.event.Table)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.change(l).Locate(&it); err != nil {
			t.Fatal(err)
		}
		for row := range it.Len() {
			for i, f := range it.Row(row)[1:5] {
				if f.Null() {
					got = append(got, "")
					continue
				}
				b, _ := AppendText(nil, &l.Columns[i+1], it.Bytes(f), Style{})
				got = append(got, string(b))
			}
		}
		if i == 0 && l.Columns[4].SQLType(nil, false, &Style{}) != 2005 {
			t.Error("JSON is not a long text")
		}
	}
	want := []string{
		"123e4567-e89b-12d3-a456-426614174000", "2001:db8::ff00:42:8329", "192.0.2.1", `{"b": 1, "a": [1.0, 2]}`,
		"00000000-0000-0000-0000-000000000000", "::", "0.0.0.0", "", "", "", "", "",
		"ffffffff-ffff-ffff-ffff-ffffffffffff", "2001:db8::ff00:42:8329", "10.0.0.255", `{"b": 1, "a": [1.0, 2]}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestVectorColumn(t *testing.T) {
	events := rowEvents(t, "testdata/golden/39-vector/mysql.binlog", false)
	table := &schema.Table{Schema: "zoo", Name: "gnat", Columns: []schema.Column{
		{Name: "id", Base: "int"}, {Name: "v", Base: "vector"}, {Name: "n", Base: "int"}}}
	var it RowIter
	for i, want := range []string{"", "[1.00000e+00,2.50000e+00,-3.00000e+00]", "[1.00000e+00,2.50000e+00,-3.00000e+00]"} {
		l, err := NewLayout(table, events[i].event.Table)
		if err != nil {
			t.Fatal(err)
		}
		if err := events[i].change(l).Locate(&it); err != nil {
			t.Fatal(err)
		}
		f := it.Row(0)[1]
		got, _ := AppendText(nil, &l.Columns[1], it.Bytes(f), Style{})
		if f.Null() != (want == "") || !f.Null() && string(got) != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
}
