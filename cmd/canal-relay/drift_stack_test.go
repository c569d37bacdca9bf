//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStackDrift: gh-ost's statements with its tables refused by the filter, and changes that are not logged while nobody
// reads: rows have the names of their time. Both with the history in Canal's tables.
func TestStackDrift(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			addr, err := w.Server(server)
			if err != nil {
				t.Fatal(err)
			}
			w.patient()
			keys := w.conf.Destinations[w.name]
			keys["canal.instance.filter.regex"] = w.name + `\.(t|r)`
			keys["canal.instance.tsdb.url"] = "jdbc:mysql://" + addr + "/" + w.name + "_store"
			keys["canal.instance.tsdb.dbUsername"], keys["canal.instance.tsdb.dbPassword"] = w.AdminUser, w.AdminPassword
			if err := w.CreateTopic(ctx, w.name, 1); err != nil {
				t.Fatal(err)
			}
			conn := w.admin()
			w.exec(conn, "CREATE DATABASE "+w.name+"_store", "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, b INT)", "INSERT INTO t VALUES (1, 2)",
				"CREATE TABLE r (id INT PRIMARY KEY, old INT)", "INSERT INTO r VALUES (8, 9)",
				"create /* gh-ost */ table `_t_gho` like `t`", "alter /* gh-ost */ table `_t_gho` ADD n INT AFTER id, RENAME COLUMN b TO c",
				"INSERT INTO _t_gho (id, c) SELECT id, b FROM t",
				"rename /* gh-ost */ table `t` to `_t_del`, `_t_gho` to `t`", "drop /* gh-ost */ table if exists `_t_del`", "INSERT INTO t VALUES (2, 3, 4)")
			defer w.exec(conn, "DROP DATABASE "+w.name+"_store")
			node := w.start()
			w.ids(ctx, 2)
			if err := node.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
				t.Error(err)
			}
			w.exec(conn, "SET SESSION SQL_LOG_BIN = 0", "ALTER TABLE t RENAME COLUMN c TO hidden",
				"DROP TABLE r", "CREATE TABLE r (id INT PRIMARY KEY, z VARCHAR(9), y INT)", "SET SESSION SQL_LOG_BIN = 1") // as a backup is restored
			w.start()
			w.until(ctx, "what is said of the tables", func() bool {
				log := w.log(1)
				return strings.Count(log, "a table is not what its logged changes made of it") >= 2 &&
					strings.Contains(log, "table="+w.name+".t") && strings.Contains(log, "table="+w.name+".r")
			})
			w.exec(conn, "INSERT INTO t VALUES (3, 4, 5)", "INSERT INTO r VALUES (10, 'z', 1)")
			w.ids(ctx, 10)
			want := []string{"b,id", "id,old", "c,id,n", "hidden,id,n", "id,y,z"}
			if got := w.columns(ctx, 10); !slices.Equal(got, want) {
				t.Errorf("rows have %q, want %q", got, want)
			}
		})
	}
}

// columns lists the names in each row of the topic until a row with this id.
func (w *world) columns(ctx context.Context, last int) (all []string) {
	w.Helper()
	err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct{ Data []map[string]string }
		if err := json.Unmarshal(r.Value, &m); err != nil {
			w.Fatal(err)
		}
		more := true
		for _, row := range m.Data {
			all = append(all, strings.Join(slices.Sorted(maps.Keys(row)), ","))
			more = row["id"] != fmt.Sprint(last)
		}
		return more
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}
