//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackTriggers: pt-online-schema-change's statements with its table refused by the filter, while rows change through
// its triggers: rows have the names of their time.
func TestStackTriggers(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			w.conf.Destinations[w.name]["canal.instance.filter.regex"] = w.name + `\.t`
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			w.start()
			table := func(sql string) string { return strings.ReplaceAll(sql, "@", "`"+w.name+"`.") }
			for _, sql := range []string{
				"USE " + w.name, "CREATE TABLE t (id INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 2), (2, 3)",
				"CREATE TABLE @`_t_new` (\n  `id` int NOT NULL,\n  `b` int DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB",
				"ALTER TABLE @`_t_new` ADD n INT DEFAULT 7 AFTER id, ADD c BIGINT UNSIGNED",
				"CREATE TRIGGER `pt_osc_t_del` AFTER DELETE ON @`t` FOR EACH ROW DELETE IGNORE FROM @`_t_new` WHERE @`_t_new`.`id` <=> OLD.`id`",
				"CREATE TRIGGER `pt_osc_t_upd` AFTER UPDATE ON @`t` FOR EACH ROW BEGIN DELETE IGNORE FROM @`_t_new` WHERE !(OLD.`id` <=> NEW.`id`) AND @`_t_new`.`id` <=> OLD.`id`; " +
					"REPLACE INTO @`_t_new` (`id`, `b`) VALUES (NEW.`id`, NEW.`b`); END",
				"CREATE TRIGGER `pt_osc_t_ins` AFTER INSERT ON @`t` FOR EACH ROW REPLACE INTO @`_t_new` (`id`, `b`) VALUES (NEW.`id`, NEW.`b`)",
				"INSERT INTO t VALUES (3, 4)", "UPDATE t SET b = 5 WHERE id = 1",
				"INSERT LOW_PRIORITY IGNORE INTO @`_t_new` (`id`, `b`) SELECT `id`, `b` FROM @`t` LOCK IN SHARE MODE /*pt-online-schema-change 4711 copy table*/",
				"DELETE FROM t WHERE id = 2", "ANALYZE TABLE @`_t_new` /* pt-online-schema-change */",
				"RENAME TABLE @`t` TO @`_t_old`, @`_t_new` TO @`t`", "DROP TABLE IF EXISTS @`_t_old`",
				"INSERT INTO t VALUES (4, 6, 7, 8)",
			} {
				w.exec(conn, table(sql))
			}
			if got, want := w.ids(ctx, 4), []string{"1", "2", "3", "1", "2", "4"}; !slices.Equal(got, want) {
				t.Errorf("the topic has %v, want %v", got, want)
			}
			old := "b,id"
			if got, want := w.columns(ctx, 4), []string{old, old, old, old, old, "b,c,id,n"}; !slices.Equal(got, want) {
				t.Errorf("rows have %q, want %q", got, want)
			}
		})
	}
}

// TestStackCreateSelect: CREATE TABLE … SELECT of 10,000 rows, with the owner killed again and again while they come: the
// statement comes before its rows, and every row comes. DDL-04.
func TestStackCreateSelect(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.relay.takeover.delay": "200ms"})
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			node := w.start()
			w.exec(conn, "USE "+w.name, "CREATE TABLE big (id INT PRIMARY KEY, v VARCHAR(200))",
				"INSERT INTO big WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, REPEAT('v', 200) FROM s",
				"CREATE TABLE copy AS SELECT a.id * 10 + b.id - 11 AS id, a.v AS word FROM big a, big b WHERE b.id <= 10 ORDER BY 1")
			for range 3 {
				if err := node.Stop(syscall.SIGKILL, 30*time.Second); err != nil {
					t.Log(err)
				}
				node = w.start()
				w.active(ctx)
				time.Sleep(100 * time.Millisecond) // some of the rows are on their way
			}
			w.exec(conn, "INSERT INTO big VALUES (20000, '')")
			ids := w.ids(ctx, 20000)
			next := 0
			for _, id := range ids[1000:] {
				if id == fmt.Sprint(next) {
					next++
				}
			}
			if next != 10000 {
				t.Errorf("%d of the rows came, in order, among %d", next, len(ids))
			}
			if names := w.columns(ctx, 20000); names[len(names)-2] != "id,word" {
				t.Errorf("the copy's rows have %q", names[len(names)-2])
			}
		})
	}
}

// TestStackLagging: a relay that was stopped reads old rows with the layout of their time, whatever the tables became; a
// destination that starts in the past without a history says that it cannot, and sends nothing wrong. DDL-01.
func TestStackLagging(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.relay.values": "mysql"})
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			node := w.start()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, y INT, e ENUM('x','y'))", "INSERT INTO t VALUES (0, 1, 'x')")
			w.ids(ctx, 0)
			w.must(node.Stop(syscall.SIGTERM, 30*time.Second))
			begin, err := local.End(conn)
			w.must(err)
			w.exec(conn, "INSERT INTO t VALUES (1, 1, 'y')", "ALTER TABLE t ADD COLUMN x INT AFTER id", "INSERT INTO t VALUES (2, 5, 1, 'y')",
				"ALTER TABLE t DROP COLUMN y", "INSERT INTO t VALUES (3, 5, 'y')", "ALTER TABLE t MODIFY e ENUM('w','x','y')", "INSERT INTO t VALUES (4, 5, 'y')",
				"DROP TABLE t", "CREATE TABLE t (e ENUM('a','b'), x INT, id INT PRIMARY KEY)", "INSERT INTO t VALUES ('b', 6, 5)")
			w.start()
			w.ids(ctx, 5)
			want := []string{"e=x id=0 y=1", "e=y id=1 y=1", "e=y id=2 x=5 y=1", "e=y id=3 x=5", "e=y id=4 x=5", "e=b id=5 x=6"}
			if got := w.rows(ctx, 5); !slices.Equal(got, want) {
				t.Errorf("rows are %q\nwant %q", got, want)
			}

			other := w.name + "past" // the same source, from the past, with no history
			keys := maps.Clone(w.conf.Destinations[w.name])
			keys["canal.instance.master.journal.name"], keys["canal.instance.master.position"] = begin.File, fmt.Sprint(begin.Offset)
			keys["canal.mq.topic"] = other
			w.conf.Destinations[other] = keys
			w.must(w.CreateTopic(ctx, other, 1))
			defer func() { _ = w.DeleteTopic(context.Background(), other) }()
			w.awaitFailure(ctx, w.start(), "past", regexp.MustCompile(regexp.QuoteMeta("rows of "+w.name+".t: ")+".*"+regexp.QuoteMeta(schemaMismatch)))
			if n, err := w.TopicLength(ctx, other); n != 0 || err != nil {
				t.Errorf("%d records were sent, %v", n, err)
			}
			if !strings.Contains(w.log(2), "read with the source's present definition") {
				t.Error("it does not say where the definition comes from")
			}
		})
	}
}

const schemaMismatch = "the tracked table is not the one in the binlog"

// rows lists the rows of the topic until one with this id.
func (w *world) rows(ctx context.Context, last int) (all []string) {
	w.Helper()
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct{ Data []map[string]string }
		w.must(json.Unmarshal(r.Value, &m))
		more := true
		for _, row := range m.Data {
			var cells []string
			for _, name := range slices.Sorted(maps.Keys(row)) {
				cells = append(cells, name+"="+row[name])
			}
			all = append(all, strings.Join(cells, " "))
			more = row["id"] != fmt.Sprint(last)
		}
		return more
	}))
	return all
}

// TestStackNames: after statements with odd names, swaps, renamed columns and version comments, each row has the columns
// that information_schema has at that moment. DDL-06, DDL-07, DDL-12, DDL-13, DDL-20.
func TestStackNames(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			w.must(w.CreateTopic(ctx, w.name, 1))
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "SET SESSION group_concat_max_len = 10000")
			w.start()
			var want []string
			for n, step := range []struct{ sql, table string }{
				{"CREATE TABLE x (id INT PRIMARY KEY, a INT)", "x"},
				{"CREATE TABLE y (id INT PRIMARY KEY, b INT)", "y"},
				{"RENAME TABLE x TO /* a comment */ `to`,\n y TO x, `to`\nTO y", "x"},
				{"ALTER TABLE y RENAME AS `rename table`", "rename table"},
				{"ALTER TABLE x /*!80000 ADD COLUMN vis INT */ COMMENT 'v'", "x"},
				{"ALTER TABLE x COMMENT 'w' /*!99999 , ADD COLUMN never INT */ /*M!100100 , ADD COLUMN mm INT */", "x"},
				{"CREATE TABLE `we.ird ``tbl` (`id` INT PRIMARY KEY, `a.b` INT, `order` INT, `yes` INT, `sequence` INT, `encrypted` INT)", "we.ird `tbl"},
				{"ALTER TABLE `we.ird ``tbl` RENAME COLUMN `a.b` TO a1, RENAME COLUMN `order` TO b1", "we.ird `tbl"},
				{"ALTER TABLE `we.ird ``tbl` CHANGE a1 a2 INT AFTER yes, ADD COLUMN k INT AFTER b1", "we.ird `tbl"},
				{"CREATE TABLE dx (id INT PRIMARY KEY, u VARCHAR(36) DEFAULT (uuid()), d DATE DEFAULT (curdate()), c VARCHAR(9) DEFAULT ('a b'), " +
					"n DECIMAL(5,2) DEFAULT +1.25, CONSTRAINT ck CHECK (n > 0))", "dx"},
				{"DROP TABLE IF EXISTS nosuch, dx", "x"},
			} {
				w.exec(conn, step.sql, fmt.Sprintf("INSERT INTO `%s` (id) VALUES (%d)", strings.ReplaceAll(step.table, "`", "``"), n))
				names := strings.Split(w.text(conn, "SELECT GROUP_CONCAT(column_name) FROM information_schema.columns WHERE table_schema = '"+w.name+
					"' AND table_name = '"+step.table+"'", 0), ",")
				slices.Sort(names)
				want = append(want, strings.Join(names, ","))
			}
			if got := w.columns(ctx, len(want)-1); !slices.Equal(got, want) {
				t.Errorf("rows have %q\nwant %q", got, want)
			}
		})
	}
}
