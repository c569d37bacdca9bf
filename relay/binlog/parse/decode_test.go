package parse

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// theirs reads an event as go-mysql does.
func theirs(t *testing.T, p *replication.BinlogParser, raw []byte) *replication.BinlogEvent {
	t.Helper()
	e, err := p.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shown is what of an event anybody looks at.
func shown(e replication.Event) any {
	if r, ok := e.(*replication.RowsEvent); ok {
		return []any{r.Version, r.TableID, r.Flags, r.ColumnCount, r.ColumnBitmap1, r.ColumnBitmap2, r.Table}
	}
	return e
}

// TestDecodeAsGoMySQL reads recorded binlogs of both servers with one parser for
// all files, so that table maps come again, and compares each event with what
// go-mysql makes of it.
func TestDecodeAsGoMySQL(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../testdata/*.mysql", "../../testdata/*.mariadb", "../../../mqstarter/message/testdata/*/*.binlog"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 15 {
		t.Fatalf("only %d recorded files", len(files))
	}
	parsers := map[string]*Parser{mysql.MySQLFlavor: New(mysql.MySQLFlavor), mysql.MariaDBFlavor: New(mysql.MariaDBFlavor)}
	kinds := map[replication.EventType]int{}
	for _, file := range append(files, files...) {
		flavor := mysql.MySQLFlavor
		if strings.Contains(filepath.Base(file), "mariadb") {
			flavor = mysql.MariaDBFlavor
		}
		their := newDecoder(flavor, true).p
		for _, raw := range split(t, file) {
			if replication.EventType(raw[4]) == replication.TRANSACTION_PAYLOAD_EVENT {
				continue // of our own making
			}
			want := theirs(t, their, raw)
			got, err := parsers[flavor].Parse(raw)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kinds[got.Header.EventType]++
			for _, e := range []*replication.BinlogEvent{got, Keep(got)} {
				if !reflect.DeepEqual(e.Header, want.Header) || !reflect.DeepEqual(e.RawData, want.RawData) || !reflect.DeepEqual(shown(e.Event), shown(want.Event)) {
					t.Fatalf("%s: %s that ends at %d:\ngot  %+v\nwant %+v", file, e.Header.EventType, e.Header.LogPos, e.Event, want.Event)
				}
			}
		}
	}
	for _, kind := range []replication.EventType{replication.GTID_EVENT, replication.MARIADB_GTID_EVENT, replication.XID_EVENT, replication.TABLE_MAP_EVENT,
		replication.WRITE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv1, replication.WRITE_ROWS_EVENTv2, replication.UPDATE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv2} {
		if kinds[kind] == 0 {
			t.Errorf("no %s was compared", kind)
		}
	}
}

// statement is the table map and the row event of a statement that inserts one
// row with one INT, as in a file; without the map if bare.
func statement(id uint64, bare bool) (events [][]byte) {
	head := append(binary.LittleEndian.AppendUint64(nil, id)[:6], 1, 0) // the end of a statement
	if !bare {
		body := append(append([]byte{}, head...), "\x01d\x00\x01t\x00\x01\x03\x00\x00"...)
		events = append(events, wrap(replication.TABLE_MAP_EVENT, body, true))
	}
	return append(events, wrap(replication.WRITE_ROWS_EVENTv2, append(head, 2, 0, 1, 0xff, 0, 7, 0, 0, 0), true))
}

// TestTableMaps: a row event needs a table map in its own statement, however
// many there were.
func TestTableMaps(t *testing.T) {
	p := formatted(t)
	for id := range uint64(3*maxMaps + 2) {
		for _, raw := range statement(id+1, false) {
			e, err := p.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := e.Event.(*replication.RowsEvent); ok && (r.Table == nil || r.Table.TableID != id+1) {
				t.Fatalf("rows of table %d have the map %+v", id+1, r.Table)
			}
		}
		if n := len(p.d.maps); n > maxMaps+1 {
			t.Fatalf("%d table maps are remembered", n)
		}
	}
	if _, err := p.Parse(statement(3*maxMaps+2, true)[0]); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "no table map") {
		t.Errorf("rows without a table map in their statement: %v", err)
	}
	if e, err := p.Parse(statement(dummyTable, true)[0]); err != nil || e.Event.(*replication.RowsEvent).Table != nil {
		t.Errorf("rows of no table: %v", err)
	}
}

// TestDecodeAllocates reads a file again and again: what stands in every
// transaction costs no memory.
func TestDecodeAllocates(t *testing.T) {
	var events [][]byte
	p := formatted(t)
	for _, raw := range split(t, "../../testdata/gtid.mysql") {
		if frequent(replication.EventType(raw[4])) {
			events = append(events, raw)
		}
	}
	if len(events) < 10 {
		t.Fatalf("only %d events", len(events))
	}
	n := testing.AllocsPerRun(10, func() {
		for _, raw := range events {
			if _, err := p.Parse(raw); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 0 {
		t.Errorf("%.0f allocations for %d events", n, len(events))
	}
}

func BenchmarkParse(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/gtid.mysql")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	events, p := split(b, "../../testdata/gtid.mysql"), formatted(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			if _, err := p.Parse(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
