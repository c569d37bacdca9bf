//go:build stack

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
)

var (
	seed       = flag.Uint64("seed", 0, "seed of the randomised tests; 0 takes the same one in every run")
	valueRows  = flag.Int("value-rows", 60, "rows a row image in the randomised value test")
	valueZones = []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo"}
)

// newRand makes the random numbers of a test and logs their seed, which a failure shows.
func newRand(t *testing.T) *rand.Rand {
	s := *seed
	if s == 0 {
		s = 1 // what a run says of a change must not depend on chance
	}
	t.Logf("-seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// TestStackValues: random rows of every type are inserted, changed and deleted under every row image. Each value of each
// message, old ones included, is read three ways: by tail from the server's binlog, by go-mysql's decoder, and by SELECT.
func TestStackValues(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			r := newRand(t)
			zone := valueZones[r.IntN(len(valueZones))]
			t.Logf("time zone %s", zone)
			location, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, server, nil)
			conn := w.admin()
			common, odd := valueTypes(server, location)
			v := &valueTable{world: w, conn: conn, r: r, name: "vals", types: common}
			o := &valueTable{world: w, conn: conn, r: r, name: "odd", types: odd}
			path := w.ownBinlog(conn, func() {
				w.exec(conn, "SET SESSION time_zone = '+00:00', sql_mode = ''")
				for _, image := range []string{"FULL", "MINIMAL", "NOBLOB"} {
					w.exec(conn, "SET SESSION binlog_row_image = "+image)
					v.write(*valueRows, image)
				}
				w.exec(conn, "SET SESSION binlog_row_image = FULL")
				if server == "mariadb" {
					w.exec(conn, "SET GLOBAL mysql56_temporal_format = OFF")
					defer w.exec(conn, "SET GLOBAL mysql56_temporal_format = ON")
				}
				o.write(*valueRows, "FULL")
			})
			ours := tailChanges(t, w, path, zone, nil)
			compareDecoded(t, v.changes, w.decode(path, location, "vals"), ours["vals"])
			compareSelected(t, v.changes, ours["vals"], canalStyle)
			compareSelected(t, o.changes, ours["odd"], canalStyle)
			selected := tailChanges(t, w, path, zone, map[string]string{"canal.relay.values": "mysql"})
			compareSelected(t, v.changes, selected["vals"], mysqlStyle)
			compareSelected(t, o.changes, selected["odd"], mysqlStyle)
			compareCompat(t, common, ours["vals"], tailChanges(t, w, path, zone, map[string]string{"canal.relay.compat.decimal": "true"})["vals"])
		})
	}
}

// ownBinlog runs what is written into one binlog file of its own and returns the file's path.
func (w *world) ownBinlog(conn *client.Conn, write func()) string {
	w.Helper()
	w.exec(conn, "SET NAMES utf8mb4", "USE "+w.name, "FLUSH BINARY LOGS")
	file := w.text(conn, "SHOW BINARY LOGS", -1)
	write()
	w.exec(conn, "FLUSH BINARY LOGS")
	return filepath.Join(filepath.Dir(w.text(conn, "SELECT @@global.log_bin_basename", 0)), file)
}

// text is the first column of a row of a query's result, -1 for the last row.
func (w *world) text(conn *client.Conn, query string, row int) string {
	w.Helper()
	r, err := conn.Execute(query)
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	if row < 0 {
		row += r.RowNumber()
	}
	text, err := r.GetString(row, 0)
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return text
}

// values are the values of a row, nil for NULL.
type values []*string

// valueColumn is a column with its name.
type valueColumn struct {
	name string
	*valueType
}

// valueShape is a table as it is at one moment.
type valueShape struct {
	name    string
	columns []valueColumn
	key     []string
}

// valueChange is a change of one row as SELECT saw it before and after, in both styles.
type valueChange struct {
	*valueShape
	kind, image, sql string
	before, after    [styles]values
	written          []written // of each column of an inserted row, nil for others
}

// The styles of values, and what of a value SELECT is asked for to compare with each.
const (
	canalStyle = iota
	mysqlStyle
	styles
)

// valueTable is a table with a column of each type: c0, which is the key, c1, which every update changes, and so on.
type valueTable struct {
	*world
	conn    *client.Conn
	r       *rand.Rand
	name    string
	types   []valueType
	next    int // key of the next row
	changes []valueChange
	shaped  *valueShape
}

// write inserts rows under a row image, a few a statement, changes them and deletes most of them again.
func (v *valueTable) write(rows int, image string) {
	v.Helper()
	if v.next == 0 {
		columns := []string{"c0 INT PRIMARY KEY", "c1 INT NOT NULL"}
		for i, t := range v.types[2:] {
			columns = append(columns, fmt.Sprintf("c%d %s NULL", i+2, t.ddl))
		}
		v.exec(v.conn, "CREATE TABLE "+v.name+" ("+strings.Join(columns, ", ")+") DEFAULT CHARSET utf8mb4")
	}
	v.block(1, -1, image)
	v.block(1, 0, image)
	for end := v.next + rows - 2; v.next < end; {
		v.block(1+v.r.IntN(4), 12, image)
	}
}

// block writes a few rows; one value in so many is NULL, with 0 none and with -1 all.
func (v *valueTable) block(rows, nulls int, image string) {
	v.Helper()
	from, to := v.next, v.next+rows-1
	v.next += rows
	named, all := v.some(image), make([]string, rows)
	for i := range all {
		row := []string{fmt.Sprint(from + i), fmt.Sprint(i)}
		for _, c := range named {
			row = append(row, v.literal(c, nulls))
		}
		all[i] = "(" + strings.Join(row, ",") + ")"
	}
	v.exec(v.conn, "INSERT INTO "+v.name+" (c0,c1"+columnList(named)+") VALUES "+strings.Join(all, ","))
	a := v.selectRows(from, to)
	v.add("INSERT", nil, a)

	for range 1 + v.r.IntN(2) {
		set := ""
		for _, c := range v.some("MINIMAL") {
			set += fmt.Sprintf(", c%d = %s", c, v.literal(c, 12))
		}
		v.exec(v.conn, fmt.Sprintf("UPDATE %s SET c1 = c1 + 10%s WHERE c0 BETWEEN %d AND %d", v.name, set, from, to))
		b := v.selectRows(from, to)
		v.add("UPDATE", a, b)
		a = b
	}
	switch v.r.IntN(4) {
	case 0: // stays
	case 1:
		const away = 10_000_000
		v.exec(v.conn, fmt.Sprintf("UPDATE %s SET c0 = c0 + %d WHERE c0 = %d", v.name, away, from))
		v.add("UPDATE", a[:1], v.selectRows(from+away, from+away))
	default:
		v.exec(v.conn, fmt.Sprintf("DELETE FROM %s WHERE c0 BETWEEN %d AND %d", v.name, from, to))
		v.add("DELETE", a, nil)
	}
}

// some are the columns that a statement names, without c0 and c1: all under FULL.
func (v *valueTable) some(image string) []int {
	var list []int
	for c := 2; c < len(v.types); c++ {
		if image == "FULL" || v.r.IntN(3) > 0 {
			list = append(list, c)
		}
	}
	return list
}

func (v *valueTable) literal(column, nulls int) string {
	if nulls < 0 || nulls > 0 && v.r.IntN(nulls) == 0 {
		return "NULL"
	}
	return v.types[column].value(v.r)
}

func columnList(columns []int) string {
	text := ""
	for _, c := range columns {
		text += fmt.Sprintf(",c%d", c)
	}
	return text
}

func (v *valueTable) add(kind string, before, after [][styles]values) {
	v.changes = append(v.changes, pairs(v.shape(), kind, before, after)...)
}

// pairs are the changes of rows; before or after is nil where there are none.
func pairs(shape *valueShape, kind string, before, after [][styles]values) []valueChange {
	all := make([]valueChange, max(len(before), len(after)))
	for i := range all {
		all[i] = valueChange{valueShape: shape, kind: kind}
		if before != nil {
			all[i].before = before[i]
		}
		if after != nil {
			all[i].after = after[i]
		}
	}
	return all
}

func (v *valueTable) shape() *valueShape {
	if v.shaped == nil {
		v.shaped = &valueShape{name: v.name, key: []string{"c0"}}
		for i := range v.types {
			v.shaped.columns = append(v.shaped.columns, valueColumn{fmt.Sprintf("c%d", i), &v.types[i]})
		}
	}
	return v.shaped
}

func (v *valueTable) selectRows(from, to int) [][styles]values {
	v.Helper()
	return v.selected(v.conn, v.shape(), fmt.Sprintf("c0 BETWEEN %d AND %d ORDER BY c0", from, to))
}

// selected are rows as SELECT shows them, for each style.
func (w *world) selected(conn *client.Conn, shape *valueShape, where string) [][styles]values {
	w.Helper()
	var columns []string
	for _, t := range shape.columns {
		name := "`" + t.name + "`"
		show, _ := t.inMySQLStyle()
		columns = append(columns, fmt.Sprintf(t.sel, name), fmt.Sprintf(show, name))
	}
	r, err := conn.Execute(fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(columns, ", "), shape.name, where))
	if err != nil {
		w.Fatal(err)
	}
	rows := make([][styles]values, r.RowNumber())
	for i := range rows {
		raw := r.RowDatas[i] // as it was sent: the client makes numbers of numbers
		for c := range shape.columns {
			for style := range styles {
				text, null, n, err := mysql.LengthEncodedString(raw)
				if err != nil {
					w.Fatal(err)
				}
				raw = raw[n:]
				value := string(text)
				if rows[i][style] = append(rows[i][style], &value); null {
					rows[i][style][c] = nil
				}
			}
		}
	}
	return rows
}

// messageRow is one row of a message.
type messageRow struct {
	kind, table string
	data, old   map[string]*string
	key         []string
}

// tailChanges is tailRows by table.
func tailChanges(t *testing.T, w *world, path, zone string, keys map[string]string) map[string][]messageRow {
	t.Helper()
	changes := map[string][]messageRow{}
	for _, c := range tailRows(t, w, path, zone, keys) {
		changes[c.table] = append(changes[c.table], c)
	}
	return changes
}

// tailRows runs tail over a binlog file in a time zone and returns the rows of its messages.
func tailRows(t *testing.T, w *world, path, zone string, keys map[string]string) (all []messageRow) {
	t.Helper()
	for _, rec := range tailFile(t, w, path, zone, keys) {
		var m struct {
			Type, Table string
			IsDdl       bool
			Data, Old   []map[string]*string
			PkNames     []string
		}
		if err := json.Unmarshal([]byte(rec.Value), &m); err != nil {
			t.Fatal(err)
		}
		for i, row := range m.Data {
			c := messageRow{kind: m.Type, table: m.Table, data: row, key: m.PkNames}
			if m.Old != nil {
				c.old = m.Old[i]
			}
			all = append(all, c)
		}
	}
	return all
}

// tailFile is what tail prints for a binlog file; keys are further keys of instance.properties.
func tailFile(t *testing.T, w *world, path, zone string, keys map[string]string) []record {
	t.Helper()
	return tailRecords(t, w, zone, keys, "--binlog", path)
}

func tailRecords(t *testing.T, w *world, zone string, keys map[string]string, args ...string) []record {
	t.Helper()
	dir, conf := t.TempDir(), w.conf
	instance := map[string]string{}
	for _, m := range []map[string]string{conf.Destinations[w.name], keys} {
		for k, v := range m {
			instance[k] = v
		}
	}
	conf.Destinations = map[string]map[string]string{w.name: instance}
	if err := conf.Write(dir); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	env := func(name string) (string, bool) { return zone, name == "TZ" }
	args = slices.Concat([]string{"tail", "--conf", dir, "--destination", w.name, "--output", "jsonl"}, args)
	if code := run(t.Context(), args, env, &out, &errs); code != 0 {
		t.Fatalf("tail ended with %d: %s", code, errs.String())
	}
	return parseRecords(t, out.Bytes())
}
