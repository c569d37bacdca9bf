package message

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

func itemLayout(t testing.TB) *event.Layout {
	return newLayout(t, "item",
		schema.Column{Name: "id", Type: "bigint(20) unsigned", Base: "bigint", Unsigned: true, Key: true},
		textCol("name"),
		schema.Column{Name: "price", Type: "decimal(10,2)", Base: "decimal", Args: []string{"10", "2"}},
		schema.Column{Name: "ctime", Type: "datetime", Base: "datetime"})
}

// The examples of Canal's own bytes, but for the zero tail of a decimal and for
// old, which holds what the row itself changed.
func TestFlatRows(t *testing.T) {
	l := itemLayout(t)
	id := func(n byte) raw { return raw{n, 0, 0, 0, 0, 0, 0, 0} }
	price, free, dear := unhex("8000000132"), unhex("8000000000"), unhex("8000000963")
	ctime := unhex("99b1dd6354")
	const types = `"mysqlType":{"id":"bigint(20) unsigned","name":"varchar(64)","price":"decimal(10,2)","ctime":"datetime"}`
	const codes = `"pkNames":["id"],"sql":"","sqlType":{"id":-5,"name":12,"price":3,"ctime":93},"table":"item","ts":1700000000412`
	f := NewFlat(Config{})
	tests := []struct {
		change *event.Change
		want   string
	}{
		{change(event.Insert, l, image(nil, id(1), "pen", price, ctime), image(nil, id(2), nil, free, ctime)),
			`{"data":[{"id":"1","name":"pen","price":"1.50","ctime":"2023-12-14 22:13:20"},{"id":"2","name":null,"price":"0.00","ctime":"2023-12-14 22:13:20"}],` +
				`"database":"shop","es":1700000000000,"gtid":"","id":1,"isDdl":false,` + types + `,"old":null,` + codes + `,"type":"INSERT"}`},
		{change(event.Update, l, image(nil, id(1), "pen", price, ctime), image(nil, id(1), "pencil", price, ctime),
			image(nil, id(2), nil, free, ctime), image(nil, id(2), nil, dear, ctime)),
			`{"data":[{"id":"1","name":"pencil","price":"1.50","ctime":"2023-12-14 22:13:20"},{"id":"2","name":null,"price":"9.99","ctime":"2023-12-14 22:13:20"}],` +
				`"database":"shop","es":1700000000000,"gtid":"","id":1,"isDdl":false,` + types + `,"old":[{"name":"pen"},{"price":"0.00"}],` + codes + `,"type":"UPDATE"}`},
		{change(event.Delete, l, image(nil, id(2), nil, dear, ctime)),
			`{"data":[{"id":"2","name":null,"price":"9.99","ctime":"2023-12-14 22:13:20"}],` +
				`"database":"shop","es":1700000000000,"gtid":"","id":1,"isDdl":false,` + types + `,"old":null,` + codes + `,"type":"DELETE"}`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, encode(t, f, tt.change, nil)); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.change.Kind, diff)
		}
	}
}

func TestFlatStatements(t *testing.T) {
	f := NewFlat(Config{})
	c := &event.Change{
		Kind: event.Create, DDL: true, Schema: "shop", Table: "item2", Time: 1700000000, Rows: 1,
		SQL: `create table item2(id bigint primary key, name varchar(20)) comment 'a "quoted" comment'`,
	}
	want := `{"data":null,"database":"shop","es":1700000000000,"gtid":"","id":1,"isDdl":true,"mysqlType":null,"old":null,"pkNames":null,"sql":"create table item2(id bigint primary key, name varchar(20)) comment 'a \"quoted\" comment'","sqlType":null,"table":"item2","ts":1700000000412,"type":"CREATE"}`
	if diff := cmp.Diff(want, encode(t, f, c, nil)); diff != "" || f.Rows() != 0 {
		t.Errorf("%d rows, -want +got\n%s", f.Rows(), diff)
	}
	c = &event.Change{Kind: event.Update, Time: 1, SQL: "update t", GTID: "726757ad-4455-11e8-ae04-0242ac110002:1-25536412"}
	want = `{"data":null,"database":"","es":1000,"gtid":"726757ad-4455-11e8-ae04-0242ac110002:1-25536412","id":1,"isDdl":false,"mysqlType":null,"old":null,"pkNames":null,"sql":"update t","sqlType":null,"table":"","ts":1700000000412,"type":"UPDATE"}`
	if diff := cmp.Diff(want, encode(t, f, c, nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for kind, name := range map[event.Kind]string{event.Erase: "ERASE", event.CIndex: "CINDEX", event.XARollback: "XAROLLBACK", event.Query: "QUERY"} {
		if got := encode(t, f, &event.Change{Kind: kind}, nil); !strings.HasSuffix(got, `"type":"`+name+`"}`) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// member returns one member of a message as JSON text.
func member(t *testing.T, message, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		t.Fatalf("%v in %s", err, message)
	}
	return string(m[name])
}

func check(t *testing.T, message string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got := member(t, message, name); got != text {
			t.Errorf("%s: got %s, want %s", name, got, text)
		}
	}
}

// A partial image shows what it has: columns absent from it are nowhere, and a
// changed column that the before image lacks is not in old.
func TestFlatPartialImages(t *testing.T) {
	l := newLayout(t, "newt", keyCol(intCol("id")), intCol("a"), textCol("b"))
	f := NewFlat(Config{})

	c := change(event.Insert, l, image(nil, 1, "x"))
	c.Present = bitmap(3, 0, 2)
	check(t, encode(t, f, c, nil), map[string]string{"data": `[{"id":"1","b":"x"}]`, "mysqlType": `{"id":"int","b":"varchar(64)"}`,
		"sqlType": `{"id":4,"b":12}`, "pkNames": `["id"]`})

	c = change(event.Update, l, image(nil, 2), image(nil, "xx"), image(nil, 3), image(nil, "yy"))
	c.Present, c.PresentAfter = bitmap(3, 0), bitmap(3, 2)
	check(t, encode(t, f, c, nil), map[string]string{"data": `[{"b":"xx"},{"b":"yy"}]`, "old": `[{},{}]`, "mysqlType": `{"b":"varchar(64)"}`,
		"sqlType": `{"b":12}`, "pkNames": `null`})
	if key, err := f.AppendKey(nil, 0, 0); err != nil || len(key) != 0 {
		t.Errorf("absent key column: got %q, %v", key, err)
	}

	c = change(event.Update, l, image(nil, 2), image(nil, 21, 5))
	c.Present, c.PresentAfter = bitmap(3, 0), bitmap(3, 0, 1)
	check(t, encode(t, f, c, nil), map[string]string{"data": `[{"id":"21","a":"5"}]`, "old": `[{"id":"2"}]`})
}

func TestFlatOld(t *testing.T) {
	l := newLayout(t, "lemur", keyCol(intCol("id")), textCol("b"), textCol("c"))
	f := NewFlat(Config{})
	c := change(event.Update, l,
		image(nil, 1, "one", nil), image(nil, 1, "ONE", nil),
		image(nil, 2, nil, ""), image(nil, 2, "", nil),
		image(nil, 3, "é\xff", "same"), image(nil, 3, "é\xff", "same"),
		image(nil, 4, "a\"b", "same"), image(nil, 5, "c", "same"))
	check(t, encode(t, f, c, nil), map[string]string{"old": `[{"b":"one"},{"b":null,"c":""},{},{"id":"4","b":"a\"b"}]`})
	check(t, encode(t, f, c, []int{1, 3}), map[string]string{
		"data": `[{"id":"2","b":"","c":null},{"id":"5","b":"c","c":"same"}]`, "old": `[{"b":null,"c":""},{"id":"4","b":"a\"b"}]`,
	})
}

// Filtered columns are nowhere, also not in the hash; without any column left
// an update keeps an empty element of old for each row, as in Canal.
func TestFlatFilteredColumns(t *testing.T) {
	l := newLayout(t, "dove", keyCol(intCol("id")), textCol("secret"))
	f := NewFlat(Config{Column: func(schema, table, column string) bool {
		return schema+table+column != "shopdovesecret"
	}})
	c := change(event.Update, l, image(nil, 1, "s"), image(nil, 1, "new"))
	check(t, encode(t, f, c, nil), map[string]string{"data": `[{"id":"1"}]`, "old": `[{}]`, "mysqlType": `{"id":"int"}`, "sqlType": `{"id":4}`})
	if key, _ := f.AppendKey(nil, 0, 1); len(key) != 0 || f.Rows() != 1 {
		t.Errorf("filtered column hashes as %q", key)
	}
	f = NewFlat(Config{Column: func(_, _, _ string) bool { return false }})
	c = change(event.Update, l, image(nil, 1, "s"), image(nil, 1, "new"), image(nil, 2, "s"), image(nil, 2, "new"))
	check(t, encode(t, f, c, nil), map[string]string{"data": `null`, "old": `[{},{}]`, "mysqlType": `null`, "sqlType": `null`, "pkNames": `null`})
	if f.Rows() != 0 {
		t.Errorf("%d rows in data", f.Rows())
	}
}

func TestAppendKey(t *testing.T) {
	l := newLayout(t, "orders", keyCol(intCol("id")), textCol("name"))
	f := NewFlat(Config{})
	for kind, want := range map[event.Kind]string{event.Insert: "1", event.Update: "2", event.Delete: "1"} {
		images := [][]byte{image(nil, 1, nil)}
		if kind == event.Update {
			images = append(images, image(nil, 2, nil))
		}
		if err := f.Open(change(kind, l, images...)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.AppendKey([]byte("x"), 0, 0); err != nil || string(got) != "x"+want {
			t.Errorf("%s: got %q, %v", kind, got, err)
		}
		if got, err := f.AppendKey(nil, 0, 1); err != nil || len(got) != 0 {
			t.Errorf("%s: NULL gave %q, %v", kind, got, err)
		}
	}
}

func TestOpenError(t *testing.T) {
	l := newLayout(t, "cut", intCol("id"))
	c := change(event.Insert, l, image(nil, 1)[:3])
	err := NewFlat(Config{}).Open(c)
	if err == nil || !strings.Contains(err.Error(), "shop.cut") {
		t.Errorf("got %v", err)
	}
}

func TestShapesAreBounded(t *testing.T) {
	f := NewFlat(Config{})
	for range maxShapes + 5 {
		encode(t, f, change(event.Insert, newLayout(t, "t", intCol("id")), image(nil, 1)), nil)
	}
	if len(f.shapes) > maxShapes {
		t.Errorf("%d shapes kept", len(f.shapes))
	}
}

func wide(t testing.TB, kind event.Kind) *event.Change {
	columns := []schema.Column{keyCol(intCol("id"))}
	for _, name := range strings.Fields("customer_id status amount region") {
		columns = append(columns, intCol(name))
	}
	for _, name := range strings.Fields("city street comment code note extra last") {
		columns = append(columns, textCol(name))
	}
	l := newLayout(t, "wide", columns...)
	var images [][]byte
	for i := range 45 {
		row := []any{i, i * 1000, 3, 123456, 7, "Hangzhou", "a street of some length 42", "say \"hi\"", "AB-123", nil, "中文", "0123456789"}
		images = append(images, image(nil, row...))
		if kind == event.Update {
			row[2], row[8] = 4, "CD-456"
			images = append(images, image(nil, row...))
		}
	}
	return change(kind, l, images...)
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, kind := range []event.Kind{event.Insert, event.Update, event.Delete} {
		f, c := NewFlat(Config{}), wide(t, kind)
		var dst, key []byte
		run := func() {
			if err := f.Open(c); err != nil {
				t.Fatal(err)
			}
			dst, _ = f.Append(dst[:0], nil, 1, 2)
			for i := range f.Rows() {
				key, _ = f.AppendKey(key[:0], i, 0)
			}
		}
		run()
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%s: %v allocations per event", kind, n)
		}
		if !json.Valid(bytes.TrimSpace(dst)) {
			t.Errorf("%s: not JSON: %s", kind, dst)
		}
	}
}

func benchmark(b *testing.B, kind event.Kind) {
	f, c := NewFlat(Config{}), wide(b, kind)
	var dst []byte
	rows := 0
	for b.Loop() {
		if err := f.Open(c); err != nil {
			b.Fatal(err)
		}
		dst, _ = f.Append(dst[:0], nil, 1, 2)
		rows += f.Rows()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
	b.ReportMetric(float64(len(dst))/float64(c.Rows), "bytes/row")
}

func BenchmarkInsert(b *testing.B) { benchmark(b, event.Insert) }
func BenchmarkUpdate(b *testing.B) { benchmark(b, event.Update) }
