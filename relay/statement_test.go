package relay

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"
	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
)

// relayed runs a made-up log through a relay and returns its changes.
func relayed(t *testing.T, c Config, fill func(l *binlogtest.Log)) ([]string, error) {
	t.Helper()
	l := binlogtest.NewLog("log.000001", 0)
	fill(l)
	path := filepath.Join(t.TempDir(), l.Name)
	if err := l.Write(path); err != nil {
		t.Fatal(err)
	}
	c.Files = true
	r := New(c, position.Resume{}, binlog.NewFiles(path), nil, nil)
	var group errgroup.Group
	group.Go(func() error { return r.Run(t.Context()) })
	batches, _ := drain(t.Context(), r, nil)
	var lines []string
	for _, b := range batches {
		lines = append(lines, b.lines...)
	}
	return lines, group.Wait()
}

func queries(sql ...string) func(*binlogtest.Log) {
	return func(l *binlogtest.Log) {
		for _, q := range sql {
			l.GTID()
			l.Query("d", q)
		}
	}
}

// TestAnnounced shows which table a statement is announced under, if any.
func TestAnnounced(t *testing.T) {
	tests := []struct {
		sql  []string
		want []string // kind, schema and table of each message
	}{
		{[]string{"CREATE TABLE keep_a (id INT)"}, []string{"CREATE d.keep_a"}},
		{[]string{"CREATE TABLE other (id INT)", "RENAME TABLE other TO keep_a"}, []string{"RENAME d.keep_a"}},
		{[]string{"CREATE TABLE keep_a (id INT)", "RENAME TABLE keep_a TO gone"}, []string{"CREATE d.keep_a", "RENAME d.gone"}},
		{[]string{"DROP TABLE `other`,`keep_b`,`keep_c`"}, []string{"ERASE d.keep_b"}},
		{[]string{"RENAME TABLE x TO y, keep_a TO z, keep_b TO w"}, []string{"RENAME d.z"}},
		{[]string{"TRUNCATE other"}, nil},
		{[]string{"GRANT SELECT ON *.* TO x"}, nil},
		{[]string{"CREATE TABLE keep_commit (id INT)", "DROP TABLE keep_commit"}, []string{"CREATE d.keep_commit", "ERASE d.keep_commit"}},
	}
	for _, tt := range tests {
		t.Run(tt.sql[len(tt.sql)-1], func(t *testing.T) {
			lines, err := relayed(t, config(t, `d\.keep_.*`, nil), queries(tt.sql...))
			if err != io.EOF {
				t.Fatal(err)
			}
			for i, l := range lines {
				lines[i] = strings.Join(strings.Fields(l)[:2], " ")
			}
			if !slices.Equal(lines, tt.want) {
				t.Errorf("%q, want %q", lines, tt.want)
			}
		})
	}
}

// TestDrop tries the flags that drop kinds of event.
func TestDrop(t *testing.T) {
	all := func(l *binlogtest.Log) {
		queries("CREATE TABLE t (id INT, v LONGBLOB)", "CREATE DATABASE e")(l)
		l.Transaction("d", "t", []byte("v"), 1)
		l.GTID()
		l.Query("d", "BEGIN")
		l.Query("d", "UPDATE t SET id = 2")
		l.Query("d", "DELETE FROM other")
		l.Commit()
	}
	tests := []struct {
		name string
		drop filter.Config
		want string
	}{
		{"nothing", filter.Config{}, "CREATE QUERY INSERT UPDATE"},
		{"insert", filter.Config{DMLInsert: true}, "CREATE QUERY UPDATE"},
		{"update", filter.Config{DMLUpdate: true}, "CREATE QUERY INSERT"},
		{"rows", filter.Config{Rows: true}, "CREATE QUERY UPDATE"},
		{"query.dml", filter.Config{QueryDML: true}, "CREATE QUERY INSERT"},
		{"query.dcl", filter.Config{QueryDCL: true}, "CREATE INSERT UPDATE"},
		{"query.ddl", filter.Config{QueryDDL: true}, "INSERT"},
	}
	for _, tt := range tests {
		c := config(t, `d\.t`, nil)
		c.Drop = tt.drop
		lines, err := relayed(t, c, all)
		for i, l := range lines {
			lines[i], _, _ = strings.Cut(l, " ")
		}
		if got := strings.Join(lines, " "); got != tt.want || err != io.EOF {
			t.Errorf("%s: %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestStatementStop(t *testing.T) {
	c := config(t, `d\.t`, nil)
	c.StatementDML = StatementStop
	_, err := relayed(t, c, func(l *binlogtest.Log) {
		l.GTID()
		l.Query("d", "BEGIN")
		l.Query("d", "INSERT INTO other VALUES (1)") // not captured: passes
		l.Query("d", "INSERT INTO t VALUES (1)")
		l.Commit()
	})
	if !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), "d.t") || !strings.Contains(err.Error(), "log.000001:") {
		t.Error(err)
	}
}

// TestIncident ends the term: they must not pass unseen.
func TestIncident(t *testing.T) {
	_, err := relayed(t, config(t, `d\.t`, nil), func(l *binlogtest.Log) {
		l.Bytes = append(l.Bytes, binlogtest.Event(byte(replication.INCIDENT_EVENT), 0, 0, 0, []byte{1, 0})...)
	})
	if !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), "incident") {
		t.Error(err)
	}
}
