package relay

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestIsolate: a DDL is alone in its batch, and the batch before it resumes
// before it.
func TestIsolate(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	l.GTID()
	l.Query("d", "CREATE TABLE d.t (id INT, v LONGBLOB)")
	l.Transaction("d", "t", []byte("x"), 1, 2)
	before := uint64(len(l.Bytes))
	l.GTID()
	l.Query("d", "CREATE TABLE d.u (id INT, v LONGBLOB)")
	after := uint64(len(l.Bytes))
	l.Transaction("d", "t", []byte("x"), 3)
	l.Transaction("d", "t", []byte("x"), 4)
	path := filepath.Join(t.TempDir(), l.Name)
	if err := l.Write(path); err != nil {
		t.Fatal(err)
	}
	c := config(t, `d\..*`, nil)
	c.Isolate = true
	var got []string
	batches := runFiles(t, c, path)
	for _, b := range batches {
		text := strings.Join(b.lines, "; ")
		if b.Alone {
			text = "alone: " + text
		}
		got = append(got, text)
	}
	want := []string{
		"alone: CREATE d.t rows=1 ddl=true CREATE TABLE d.t (id INT, v LONGBLOB)",
		"INSERT d.t rows=1 ddl=false; INSERT d.t rows=1 ddl=false",
		"alone: CREATE d.u rows=1 ddl=true CREATE TABLE d.u (id INT, v LONGBLOB)",
		"INSERT d.t rows=1 ddl=false; INSERT d.t rows=1 ddl=false",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("batches\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if at := batches[1].Resume.Offset; at >= before || batches[1].Resume.GTIDs != binlogtest.UUID+":1-2" {
		t.Errorf("what stands before the DDL resumes at %+v, the DDL begins at %d", batches[1].Resume, before)
	}
	if at := batches[2].Resume.Offset; at != after {
		t.Errorf("the DDL resumes at %d, it ends at %d", at, after)
	}
}

// TestSkipTables: with canal.instance.filter.table.error=true a table whose
// definition cannot be had costs its rows, one warning, and nothing else.
func TestSkipTables(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	l.Transaction("d", "gone", []byte("x"), 1, 2)
	l.Transaction("d", "t", []byte("x"), 3)
	s := binlogtest.Start(t, "9.7.4", l)
	s.Define("d", "t", binlogtest.CreateTable)
	c := config(t, `d\..*`, reader(t, s, nil))
	c.SkipTables = true
	var log bytes.Buffer
	r := New(c, position.Resume{Position: position.Position{File: l.Name, Offset: 4}}, reader(t, s, nil), nil, slog.New(slog.NewTextHandler(&log, nil)))
	rows := rowsOf(follow(t, r, func(b []seen) bool { return len(rowsOf(b)) > 0 }, nil))
	if len(rows) != 1 || rows[0] != binlogtest.UUID+":2#0" {
		t.Errorf("rows %v", rows)
	}
	if n := strings.Count(log.String(), "table=d.gone"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, &log)
	}
}
