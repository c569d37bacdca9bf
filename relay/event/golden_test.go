package event

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/schema"
)

// flat is a recorded message of Canal.
type flat struct {
	Data, Old      []map[string]*string
	Database       string
	Table, Type    string
	IsDDL          bool `json:"isDdl"`
	MysqlType      json.RawMessage
	PKNames        []string
	SQLType        map[string]int32
	names, typings []string // of MysqlType, in order
}

// recorded reads the messages of rows from a golden file.
func recorded(t *testing.T, file string) []*flat {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var messages []*flat
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var record struct{ Value string }
		m := new(flat)
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(record.Value), m); err != nil {
			t.Fatal(err)
		}
		if m.IsDDL || m.Data == nil {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(m.MysqlType))
		_, _ = d.Token()
		for d.More() {
			name, _ := d.Token()
			typing, _ := d.Token()
			m.names = append(m.names, name.(string))
			m.typings = append(m.typings, typing.(string))
		}
		messages = append(messages, m)
	}
	return messages
}

// rowEvent is a row event as the relay gets it.
type rowEvent struct {
	kind   Kind
	event  *replication.RowsEvent
	image  []byte
	header *replication.EventHeader
}

// rowEvents reads a binlog file's row events; go-mysql decodes their rows too
// when decode is set.
func rowEvents(t testing.TB, file string, decode bool) []rowEvent {
	t.Helper()
	var events []rowEvent
	p := replication.NewBinlogParser()
	p.SetTimestampStringLocation(time.UTC)
	p.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, data []byte) error {
		at, err := e.DecodeHeader(data)
		if err != nil {
			return err
		}
		if decode {
			if err := e.DecodeData(at, data); err != nil {
				return err
			}
		}
		events = append(events, rowEvent{event: e, image: data[at:]})
		return nil
	})
	err := p.ParseFile(file, 4, func(e *replication.BinlogEvent) error {
		if _, ok := e.Event.(*replication.RowsEvent); !ok {
			return nil
		}
		last := &events[len(events)-1]
		last.header = e.Header
		last.image = bytes.Clone(last.image)
		switch last.event.Type() {
		case replication.EnumRowsEventTypeInsert:
			last.kind = Insert
		case replication.EnumRowsEventTypeDelete:
			last.kind = Delete
		default:
			last.kind = Update
		}
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("%s: %v", file, err)
	}
	return events
}

// change makes the change that the relay would make.
func (e *rowEvent) change(l *Layout) *Change {
	return &Change{Kind: e.kind, Layout: l, Schema: l.Table.Schema, Table: l.Table.Name,
		Present: e.event.ColumnBitmap1, PresentAfter: e.event.ColumnBitmap2, Image: e.image}
}

// tracked makes the table that the schema would have, from the types that a
// message announces. The sets of table 08 stand in its table map.
func tracked(m *flat) *schema.Table {
	t := &schema.Table{Schema: m.Database, Name: m.Table}
	for i, name := range m.names {
		c := schema.Column{Name: name, Type: m.typings[i], Nullable: true}
		lower := strings.ToLower(c.Type)
		c.Unsigned = strings.Contains(lower, " unsigned")
		word, rest, hasArgs := strings.Cut(lower, "(")
		c.Base = strings.Fields(word)[0]
		if strings.HasSuffix(word, " varying") {
			c.Base = "varchar"
		}
		if hasArgs {
			args, _, _ := strings.Cut(rest, ")")
			c.Args = strings.Split(args, ",")
		}
		if b, ok := synonyms[c.Base]; ok {
			c.Base = b
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

var synonyms = map[string]string{
	"integer": "int", "int4": "int", "int8": "bigint", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint",
	"bool": "tinyint", "boolean": "tinyint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "character": "char", "nchar": "char",
	"national": "varchar", "nvarchar": "varchar", "long": "mediumtext", "varcharacter": "varchar", "float4": "float", "float8": "double",
	"real": "double",
}

// right are the texts where Canal's are wrong (design, "Values"), by scenario
// and Canal's text.
var right = map[string]map[string]string{
	"07-text-utf8": {"grÃ¶Ã\u009fe a": "größe a", "grÃ¶Ã\u009fe j": "größe j", "other Ã¼": "other ü"},
	"10-json": {
		`["a", "", "after"]`:         `["a\u0000b", "\u0000", "after"]`,
		`{"z": 2, "k": 1}`:           `{"z": 2, "k\u0000ey": 1}`,
		`["", "é", "\u0005", "bin"]`: `["\u0000ÿA", "é", "\u0005", "bin\u0000\u0000"]`,
	},
	"47-row-metadata-full": {"\uFFFD": "é"},
}

// rightParts are parts of texts that stand differently.
var rightParts = strings.NewReplacer(`"ctl": ""`, `"ctl": "\u0000\u0001\u0008\u000c\u001f\u007f\u0080\u009f\u00a0"`,
	`-01:02:03.500000", "00:02:03.000000"`, `-01:02:03.500000", "100:02:03.000000"`)

// otherTexts are scenarios most of whose texts are wrong in Canal: TestCharsets
// and TestMariaDBTypes have the right ones.
var otherTexts = map[string]bool{"08-charsets": true, "48-mariadb-types": true}

func TestGolden(t *testing.T) {
	folders, _ := filepath.Glob("testdata/golden/*")
	if len(folders) == 0 {
		t.Fatal("no golden binlogs")
	}
	for _, folder := range folders {
		for _, server := range []string{"mysql", "mariadb"} {
			binlog := filepath.Join(folder, server+".binlog")
			messages := filepath.Join(folder, strings.TrimPrefix(server+".flat.jsonl", "mysql."))
			if _, err := os.Stat(messages); err != nil {
				continue
			}
			t.Run(filepath.Base(folder)+"/"+server, func(t *testing.T) {
				golden(t, filepath.Base(folder), binlog, recorded(t, messages))
			})
		}
	}
}

func golden(t *testing.T, scenario, binlog string, messages []*flat) {
	zone := "Asia/Shanghai"
	if strings.Contains(scenario, "utc") {
		zone = "UTC"
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	style, _ := NewStyle(location, true, "UTF-8")
	events := rowEvents(t, binlog, false)
	if len(events) != len(messages) {
		t.Fatalf("%d row events, %d messages", len(events), len(messages))
	}
	var it RowIter
	tables := map[string]*schema.Table{} // the last message that had every column
	for i := range events {
		m := messages[i]
		table := tables[m.Table]
		if n := int(events[i].event.ColumnCount); len(m.names) == n {
			table = tracked(m)
			tables[m.Table] = table
		}
		if table == nil { // the first images are partial: a later message has all columns
			for _, later := range messages[i:] {
				if later.Table == m.Table && len(later.names) == int(events[i].event.ColumnCount) {
					table = tracked(later)
					break
				}
			}
		}
		l, err := NewLayout(table, events[i].event.Table)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		c := events[i].change(l)
		if err := c.Locate(&it); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if it.Len() != len(m.Data) {
			t.Fatalf("message %d: %d rows, want %d", i, it.Len(), len(m.Data))
		}
		types := map[string]int32{}
		for row := range m.Data {
			got := texts(t, l, &it, it.Row(row), style, types)
			hashTexts(t, l, &it, it.Row(row), style, m.Data[row])
			for name, want := range m.Data[row] {
				compareText(t, scenario, fmt.Sprintf("message %d row %d %s", i, row, name), name, got, want)
			}
			if len(got) != len(m.Data[row]) {
				t.Errorf("message %d row %d: columns %v, want %v", i, row, got, m.Data[row])
			}
		}
		if scenario != "07-text-utf8" && scenario != "48-mariadb-types" && !maps.Equal(types, m.SQLType) {
			t.Errorf("message %d: sqlType %v, want %v", i, types, m.SQLType)
		}
	}
}

// texts are the texts of a row's columns, nil for NULL; types takes their SQL types.
func texts(t *testing.T, l *Layout, it *RowIter, fields []Field, s Style, types map[string]int32) map[string]*string {
	t.Helper()
	got := map[string]*string{}
	for i, f := range fields {
		if !f.Present() {
			continue
		}
		col := &l.Columns[i]
		types[col.Name] = col.SQLType(it.Bytes(f), f.Null(), &Style{})
		got[col.Name] = nil
		if f.Null() {
			continue
		}
		b, err := AppendText(nil, col, it.Bytes(f), s)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		got[col.Name] = &text
		if col.UTF8() && text != string(it.Bytes(f)) {
			t.Errorf("%s says that its bytes %q are its text %q", col.Name, it.Bytes(f), text)
		}
		if quoted, _ := json.Marshal(text); col.Plain() && string(quoted) != `"`+text+`"` {
			t.Errorf("%s says that %s needs no escaping", col.Name, quoted)
		}
	}
	return got
}

// hashTexts checks that the partition hash takes Canal's texts, also where they
// are wrong. JSON is no key.
func hashTexts(t *testing.T, l *Layout, it *RowIter, fields []Field, s Style, want map[string]*string) {
	t.Helper()
	s.Decimal = false
	for i, f := range fields {
		col := &l.Columns[i]
		if !f.Present() || f.Null() || col.kind == jsonKind {
			continue
		}
		got, err := AppendHashText(nil, col, it.Bytes(f), s)
		if err != nil {
			t.Fatal(err)
		}
		if w := want[col.Name]; w == nil || string(got) != *w {
			t.Errorf("%s hashes %.200q, Canal's text is %.200q", col.Name, got, *w)
		}
	}
}

func compareText(t *testing.T, scenario, where, name string, got map[string]*string, want *string) {
	t.Helper()
	g, ok := got[name]
	switch {
	case !ok:
		t.Errorf("%s is missing", where)
	case g == nil || want == nil:
		if g != want {
			t.Errorf("%s: NULL is %v, want %v", where, g == nil, want == nil)
		}
	case *g != *want:
		if r, ok := right[scenario][*want]; ok && r == *g || rightParts.Replace(*want) == *g || otherTexts[scenario] {
			return
		}
		t.Errorf("%s: %.300q, want %.300q", where, *g, *want)
	}
}

func mustLoad(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
