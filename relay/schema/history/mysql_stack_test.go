//go:build stack

package history

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
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
			}
			if tracker("users", 5).Known("d", "t") != nil {
				t.Error("another destination has the table")
			}

			// Canal's rows: a first dump that stands at no event, and a statement at its start.
			if err := local.Exec(conn,
				`INSERT INTO meta_snapshot VALUES (NULL, NOW(), NOW(), 'canal', '0', 0, '-1', -2, '{"d":"CREATE TABLE `+"`old` (`a` int unsigned, `b` text) ENGINE=InnoDB; CREATE TABLE `c` (`x` int); "+`"}', NULL)`,
				`INSERT INTO meta_history VALUES (NULL, NOW(), NOW(), 'canal', 'binlog.000002', 250, '11', 1700000002000, 'd', 'd', 'old', 'alter table old drop b', 'ALTER', NULL)`,
				`INSERT INTO meta_history VALUES (NULL, NOW(), NOW(), 'canal', 'binlog.000002', 450, '11', 1700000004000, 'd', 'd', 'old', 'alter table old drop a', 'ALTER', NULL)`); err != nil {
				t.Fatal(err)
			}
			canal := tracker("canal", 4)
			if old := canal.Known("d", "old"); old == nil || len(old.Columns) != 1 || old.Columns[0].Type != "int unsigned" || canal.Known("d", "c") == nil {
				t.Errorf("%+v", old)
			}
		})
	}
}
