//go:build stack

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// TestStackMySQL: Canal's tables on both servers keep what a tracker stores, at any position, and what Canal stored in
// them is taken up.
func TestStackMySQL(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			stack, err := local.FromEnv()
			if err != nil {
				t.Fatal(err)
			}
			addr, err := stack.Server(server)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := stack.Admin(server)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			name := fmt.Sprint("tsdb", rand.IntN(1e6))
			if err := local.Exec(conn, "CREATE DATABASE "+name, "USE "+name); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = local.Exec(conn, "DROP DATABASE "+name) }()
			open := func(destination string) *MySQL {
				h := NewMySQL(MySQLConfig{Addr: addr, Database: name, User: stack.AdminUser, Password: stack.AdminPassword}, destination, slog.New(slog.DiscardHandler))
				t.Cleanup(h.Close)
				return h
			}
			at := func(n int) position.Position {
				return position.Position{File: "binlog.000002", Offset: uint64(100 * n), ServerID: 11, Time: time.Unix(int64(1700000000+n), 0), Host: "db", Port: 3306}
			}
			tracker := func(destination string, n int) *schema.Tracker {
				c := schema.DefaultConfig()
				c.SnapshotEvery = time.Nanosecond
				tr := schema.NewTracker(c, nil, open(destination))
				if err := tr.Load(t.Context(), at(n)); err != nil {
					t.Fatal(err)
				}
				return tr
			}
			tr := tracker("orders", 0)
			var want []*schema.Table
			for i, sql := range []string{"CREATE TABLE t (id INT PRIMARY KEY, g INT AS (id), s VARCHAR(9) CHARSET gbk INVISIBLE COMMENT '*/')",
				"ALTER TABLE t ADD a INT", "CREATE TABLE u (x INT)", "ALTER TABLE t ADD b TEXT, DROP a", "DROP TABLE u"} {
				if _, err := tr.Apply(t.Context(), schema.Statement{SQL: sql, Database: "d", At: at(i + 1)}); err != nil {
					t.Fatal(err)
				}
				want = append(want, tr.Known("d", "t"))
			}
			for i, table := range want {
				if d := cmp.Diff(table, tracker("orders", i+1).Known("d", "t")); d != "" {
					t.Errorf("at %d: %s", i+1, d)
				}
				if theirs := readAsCanal(t, conn, "orders", at(i+1)).Known("d", "t"); plain(theirs) != plain(table) {
					t.Errorf("at %d Canal reads %s, want %s", i+1, plain(theirs), plain(table))
				}
			}
			if tracker("users", 5).Known("d", "t") != nil {
				t.Error("another destination has the table")
			}

			// Canal's rows: a first dump that stands at no event, and a statement at its start.
			if err := local.Exec(conn,
				`INSERT INTO meta_snapshot VALUES (NULL, NOW(), NOW(), 'canal', '0', 0, '-1', -2, '{"`+"`d`"+`":"CREATE TABLE `+"`old` (`a` int unsigned, `b` text) ENGINE=InnoDB; CREATE TABLE `c` (`x` int); "+`"}', NULL)`,
				`INSERT INTO meta_history VALUES (NULL, NOW(), NOW(), 'canal', 'binlog.000002', 250, '11', 1700000002000, 'd', 'd', 'old', 'alter table old drop b', 'ALTER', NULL)`,
				`INSERT INTO meta_history VALUES (NULL, NOW(), NOW(), 'canal', 'binlog.000002', 450, '11', 1700000004000, 'd', 'd', 'old', 'alter table old drop a', 'ALTER', NULL)`); err != nil {
				t.Fatal(err)
			}
			canal := tracker("canal", 4)
			if old := canal.Known("d", "old"); old == nil || len(old.Columns) != 1 || old.Columns[0].Type != "int unsigned" || canal.Known("d", "c") == nil {
				t.Errorf("%+v", old)
			}
			turns(t, conn, open, at)
			lost(t, open)
		})
	}
}

// lacking is a source that never got the statements of server 1 from a number on.
type lacking struct{ schema.Source }

func (lacking) Lacks(_ context.Context, gtids string) (bool, error) { return gtids == "0-1-9", nil }

func (lacking) LowerCase(context.Context) (int, error) { return 0, nil }

// lost: a statement that the source never got is listed, and does not hold, whether or not a snapshot was taken behind it; what the
// source did in its place does, though it is older than what was lost, or of the same second.
func lost(t *testing.T, open func(string) *MySQL) {
	t.Helper()
	for _, every := range []time.Duration{time.Nanosecond, time.Hour} {
		for _, second := range []int{5, 9} { // of what the source did
			destination := fmt.Sprint("lost", every, second)
			at := func(server, n, second int) position.Position {
				return position.Position{File: "binlog.000007", Offset: uint64(100 * n), GTIDs: fmt.Sprintf("0-%d-%d", server, n), ServerID: uint32(server), Host: "db", Port: 3306,
					Time: time.Unix(int64(1700000000+second), 0)}
			}
			load := func(at position.Position) *schema.Tracker {
				c := schema.DefaultConfig()
				c.SnapshotEvery = every
				tr := schema.NewTracker(c, lacking{}, open(destination))
				if err := tr.Load(t.Context(), at); err != nil {
					t.Fatal(err)
				}
				return tr
			}
			apply := func(tr *schema.Tracker, sql string, at position.Position) {
				if _, err := tr.Apply(t.Context(), schema.Statement{SQL: sql, Database: "d", At: at, Start: at.Offset - 50}); err != nil {
					t.Fatal(err)
				}
			}
			tr := load(at(1, 2, 2))
			apply(tr, "CREATE TABLE t (a INT)", at(1, 3, 3))
			apply(tr, "ALTER TABLE t RENAME COLUMN a TO x", at(1, 9, 9))
			common := at(1, 7, 12) // the time stays that of the position
			common.File, common.Offset = "", 0
			if ahead, err := tr.Ahead(t.Context(), at(1, 11, 12), common); err != nil || len(ahead) != 1 {
				t.Errorf("%s: ahead: %q, %v", destination, ahead, err)
			}
			tr = load(common)
			if got, want := plain(tr.Known("d", "t")), "a INT key=false null=true, "; got != want {
				t.Errorf("%s: at the last common one: %s", destination, got)
			}
			theirs := at(2, 20, second)
			theirs.File = "binlog.000001"
			apply(tr, "ALTER TABLE t ADD b INT", theirs)
			for _, n := range []int{20, 30} {
				then := at(2, n, n+second)
				then.File = "binlog.000001"
				if got, want := plain(load(then).Known("d", "t")), "a INT key=false null=true, b INT key=false null=true, "; got != want {
					t.Errorf("%s: at %s: %s", destination, then.GTIDs, got)
				}
			}
		}
	}
}

// turns: a statement that Canal stored, at the start of its event, is read again by us, whose positions are ends. It is one
// statement still, in its place, and Canal, which reads on from there, stores it no second time.
func turns(t *testing.T, conn *client.Conn, open func(string) *MySQL, at func(int) position.Position) {
	t.Helper()
	loaded := func(at position.Position) *schema.Tracker {
		tr := schema.NewTracker(schema.DefaultConfig(), nil, open("turns"))
		if err := tr.Load(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	store := func(offset, second int, sql string) error {
		return local.Exec(conn, fmt.Sprintf("INSERT INTO meta_history VALUES (NULL, NOW(), NOW(), 'turns', 'binlog.000002', %d, '11', %d, 'd', 'd', 't', '%s', 'ALTER', NULL)",
			offset, (1700000000+second)*1000, sql))
	}
	if err := local.Exec(conn, `INSERT INTO meta_snapshot VALUES (NULL, NOW(), NOW(), 'turns', '0', 0, '-1', -2, '{"`+"`d`"+`":"CREATE TABLE `+"`t` (`a` int); "+`"}', NULL)`); err != nil {
		t.Fatal(err)
	}
	first, second := "ALTER TABLE t ADD x INT FIRST", "ALTER TABLE t ADD y INT"
	if err := errors.Join(store(250, 3, first), store(350, 3, second)); err != nil {
		t.Fatal(err)
	}
	// Canal's cursor stands at the start of a statement that it has sent: that is read again. By GTIDs it is not.
	here := at(3)
	here.Offset = 250
	if got, want := plain(loaded(here).Known("d", "t")), "a int key=false null=true, "; got != want {
		t.Errorf("at the first statement we read %s, want %s", got, want)
	}
	here.GTIDs = "df7e4cd1-ecf0-11f1-b394-02fc00000001:1-7"
	if got, want := plain(loaded(here).Known("d", "t")), "x INT key=false null=true, a int key=false null=true, "; got != want {
		t.Errorf("behind the first statement we read %s, want %s", got, want)
	}
	if _, err := loaded(at(2)).Apply(t.Context(), schema.Statement{SQL: first, Database: "d", Start: 250, At: at(3)}); err != nil {
		t.Fatal(err)
	}
	if err := store(250, 3, first); err == nil {
		t.Error("Canal, reading it again, stores it a second time")
	}
	want := "x INT key=false null=true, a int key=false null=true, y INT key=false null=true, "
	if got := plain(loaded(at(5)).Known("d", "t")); got != want {
		t.Errorf("we read %s, want %s", got, want)
	}
	if got := plain(readAsCanal(t, conn, "turns", at(5)).Known("d", "t")); got != want {
		t.Errorf("Canal reads %s, want %s", got, want)
	}
}

// readAsCanal does what Canal does when it starts at a position: the newest snapshot before it, whose data is an object of
// schema and CREATE TABLE texts, then the statements since, but those behind the position on the same server.
func readAsCanal(t *testing.T, conn *client.Conn, destination string, at position.Position) *schema.Tracker {
	t.Helper()
	tr := schema.NewTracker(schema.DefaultConfig(), nil, nil)
	apply := func(database, text string) {
		for _, sql := range lex.SplitStatements(text) {
			// What does not apply is only logged: the statement of a snapshot's own second is read again.
			_, _ = tr.Apply(t.Context(), schema.Statement{SQL: sql, Database: database, Captured: func(string, string) bool { return true }})
		}
	}
	query := func(columns, rest string, args ...any) *mysql.Result {
		r, err := conn.Execute("SELECT "+columns+" WHERE destination = ? AND "+rest, append([]any{destination}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	since := int64(0)
	if r := query("binlog_timestamp, data FROM meta_snapshot", "binlog_timestamp < ? ORDER BY binlog_timestamp DESC, id DESC LIMIT 1", at.Time.UnixMilli()); r.RowNumber() > 0 {
		since, _ = r.GetInt(0, 0)
		data, _ := r.GetString(0, 1)
		var texts map[string]string
		if err := json.Unmarshal([]byte(data), &texts); err != nil {
			t.Fatal(err)
		}
		for database, text := range texts {
			apply(strings.Trim(database, "`"), text)
		}
	}
	r := query("use_schema, sql_text, binlog_master_id, binlog_file, binlog_offest FROM meta_history",
		"binlog_timestamp BETWEEN ? AND ? ORDER BY binlog_timestamp, id", since, at.Time.UnixMilli())
	for i := range r.RowNumber() {
		var text [4]string
		for j := range text {
			text[j], _ = r.GetString(i, j)
		}
		offset, _ := r.GetUint(i, 4)
		if text[2] == fmt.Sprint(at.ServerID) && (text[3] > at.File || text[3] == at.File && offset > at.Offset) {
			continue
		}
		apply(strings.Clone(text[0]), strings.Clone(text[1]))
	}
	return tr
}
