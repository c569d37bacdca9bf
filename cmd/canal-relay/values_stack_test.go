//go:build stack

package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/replication"
)

var (
	seed      = flag.Uint64("seed", 0, "seed of the randomised tests; 0 takes a new one")
	valueRows = flag.Int("value-rows", 400, "rows in the randomised value test")
)

// valueType is a column type with random values and the ways to compare three readings of one.
type valueType struct {
	ddl    string
	value  func(r *rand.Rand) string                   // an SQL literal
	sel    string                                      // what to SELECT, %s is the column
	equal  func(ours, selected string) bool            // nil: the same text
	direct func(ours string, decoded any) (bool, bool) // go-mysql's value: equal, comparable; nil: its text is the same
	only   string                                      // one server
}

// TestStackValues: random rows of every type, read three ways from the same binlog: by tail, by go-mysql's decoder, and
// by SELECT.
func TestStackValues(t *testing.T) {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			t.Logf("seed %d", s)
			r := rand.New(rand.NewPCG(s, 0))
			w := newWorld(t, server, nil)
			conn := w.admin()
			types := valueTypesOf(server)
			w.exec(conn, "SET SESSION time_zone = '+00:00', sql_mode = ''", "SET NAMES utf8mb4", "USE "+w.name, "FLUSH BINARY LOGS")
			from := w.mark(conn)
			w.exec(conn, createValues(types))
			for row := range *valueRows {
				values := []string{strconv.Itoa(row)}
				for _, v := range types {
					if r.IntN(12) == 0 {
						values = append(values, "NULL")
					} else {
						values = append(values, v.value(r))
					}
				}
				w.exec(conn, "INSERT INTO vals VALUES ("+strings.Join(values, ",")+")")
			}
			w.exec(conn, "FLUSH BINARY LOGS")
			path := filepath.Join(w.variable(conn, "log_bin_basename"), "..", from)
			ours := tailRows(t, w, path)
			w.compareSelected(conn, types, ours)
			compareDecoded(t, server, path, w.name, types, ours)
		})
	}
}

func valueTypesOf(server string) []valueType {
	var all []valueType
	for _, v := range valueTypes {
		if v.only == "" || v.only == server {
			all = append(all, v)
		}
	}
	return all
}

func createValues(types []valueType) string {
	columns := []string{"id INT PRIMARY KEY"}
	for i, v := range types {
		columns = append(columns, fmt.Sprintf("c%d %s NULL", i, v.ddl))
	}
	return "CREATE TABLE vals (" + strings.Join(columns, ", ") + ") DEFAULT CHARSET utf8mb4"
}

func (w *world) mark(conn *client.Conn) string {
	r, err := conn.Execute("SHOW BINARY LOGS")
	if err != nil {
		w.Fatal(err)
	}
	file, _ := r.GetString(r.RowNumber()-1, 0)
	return file
}

func (w *world) variable(conn *client.Conn, name string) string {
	r, err := conn.Execute("SELECT @@global." + name)
	if err != nil {
		w.Fatal(err)
	}
	v, _ := r.GetString(0, 0)
	return v
}

// tailRows runs tail over a binlog file and returns the rows of its INSERT messages, null as "\x00".
func tailRows(t *testing.T, w *world, path string) []map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := w.conf.Write(dir); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	env := func(name string) (string, bool) { return "UTC", name == "TZ" }
	code := run(t.Context(), []string{"tail", "--conf", dir, "--destination", w.name, "--output", "jsonl", "--binlog", path}, env, &out, &errs)
	if code != 0 {
		t.Fatalf("tail ended with %d: %s", code, errs.String())
	}
	var rows []map[string]string
	for _, rec := range parseRecords(t, out.Bytes()) {
		var m struct {
			Type string
			Data []map[string]*string
		}
		if err := json.Unmarshal([]byte(rec.Value), &m); err != nil {
			t.Fatal(err)
		}
		if m.Type != "INSERT" {
			continue
		}
		for _, row := range m.Data {
			plain := map[string]string{}
			for k, v := range row {
				plain[k] = "\x00"
				if v != nil {
					plain[k] = *v
				}
			}
			rows = append(rows, plain)
		}
	}
	return rows
}

func (w *world) compareSelected(conn *client.Conn, types []valueType, ours []map[string]string) {
	w.Helper()
	columns := []string{"id"}
	for i, v := range types {
		columns = append(columns, fmt.Sprintf(v.sel, fmt.Sprintf("c%d", i)))
	}
	r, err := conn.Execute("SELECT " + strings.Join(columns, ", ") + " FROM vals ORDER BY id")
	if err != nil {
		w.Fatal(err)
	}
	if r.RowNumber() != len(ours) {
		w.Fatalf("%d rows selected, tail has %d", r.RowNumber(), len(ours))
	}
	for row := range r.RowNumber() {
		for i, v := range types {
			selected := "\x00"
			if null, _ := r.IsNull(row, i+1); !null {
				selected, _ = r.GetString(row, i+1)
			}
			mine := ours[row][fmt.Sprintf("c%d", i)]
			equal := mine == selected
			if !equal && v.equal != nil && mine != "\x00" && selected != "\x00" {
				equal = v.equal(mine, selected)
			}
			if !equal {
				w.Errorf("row %d, %s: tail has %q, SELECT %q", row, v.ddl, mine, selected)
			}
		}
	}
}

// compareDecoded compares with go-mysql's own decoder where its values can be compared.
func compareDecoded(t *testing.T, server, path, database string, types []valueType, ours []map[string]string) {
	t.Helper()
	parser := replication.NewBinlogParser()
	parser.SetFlavor(server)
	parser.SetTimestampStringLocation(time.UTC)
	row, compared := 0, 0
	err := parser.ParseFile(path, 4, func(e *replication.BinlogEvent) error {
		ev, ok := e.Event.(*replication.RowsEvent)
		if !ok || string(ev.Table.Schema) != database {
			return nil
		}
		for _, values := range ev.Rows {
			for i, v := range types {
				mine := ours[row][fmt.Sprintf("c%d", i)]
				equal, can := sameDecoded(v, mine, values[i+1])
				if can {
					compared++
				}
				if can && !equal {
					t.Errorf("row %d, %s: tail has %q, go-mysql %v", row, v.ddl, mine, values[i+1])
				}
			}
			row++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if row != len(ours) || compared == 0 {
		t.Errorf("go-mysql has %d rows, tail %d; %d values compared", row, len(ours), compared)
	}
}

func sameDecoded(v valueType, mine string, decoded any) (equal, comparable bool) {
	switch {
	case decoded == nil || mine == "\x00":
		return decoded == nil && mine == "\x00", true
	case v.direct != nil:
		return v.direct(mine, decoded)
	default:
		if b, ok := decoded.([]byte); ok {
			return mine == string(b), true
		}
		return mine == fmt.Sprint(decoded), true
	}
}

func parsedFloats(bits int) func(a, b string) bool {
	return func(a, b string) bool {
		x, err := strconv.ParseFloat(a, bits)
		y, err2 := strconv.ParseFloat(b, 64)
		return err == nil && err2 == nil && x == y
	}
}

func sameHex(ours, selected string) bool {
	raw := make([]byte, 0, len(ours))
	for _, c := range ours {
		if c > 0xff {
			return false
		}
		raw = append(raw, byte(c))
	}
	return strings.EqualFold(hex.EncodeToString(raw), selected)
}

func sameJSON(ours, selected string) bool {
	var a, b any
	return json.Unmarshal([]byte(ours), &a) == nil && json.Unmarshal([]byte(selected), &b) == nil && reflect.DeepEqual(a, b)
}

func notComparable(string, any) (bool, bool) { return false, false }

// unsignedOf compares what go-mysql reads as a signed number, since it may not know the sign.
func unsignedOf(bits int) func(string, any) (bool, bool) {
	return func(mine string, decoded any) (bool, bool) {
		text := fmt.Sprint(decoded)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return mine == text, true
		}
		if n >= 0 {
			return mine == text, true
		}
		return mine == strconv.FormatUint(uint64(n)&(1<<bits-1), 10) || bits == 64 && mine == strconv.FormatUint(uint64(n), 10), true
	}
}

func floatDecoded(bits int) func(string, any) (bool, bool) {
	return func(mine string, decoded any) (bool, bool) {
		x, err := strconv.ParseFloat(mine, bits)
		switch v := decoded.(type) {
		case float32:
			return err == nil && float32(x) == v, true
		case float64:
			return err == nil && x == v, true
		}
		return false, true
	}
}

// zeroFraction forgives go-mysql that it leaves out a fraction of zeros.
func zeroFraction(mine string, decoded any) (bool, bool) {
	text := fmt.Sprint(decoded)
	head, fraction, _ := strings.Cut(mine, ".")
	return mine == text || head == text && strings.Trim(fraction, "0") == "", true
}
