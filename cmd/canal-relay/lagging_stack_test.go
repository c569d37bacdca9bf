//go:build stack

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackLaggingReplica: a replica is promoted that lacks transactions which readers have. That is told, once, and whatever is
// written to it is sent, also where its numbers have grown past those of the lost ones before it is seen, and after a crash; with the
// columns that its tables have, which a lost statement had renamed, and of a table that was made anew in the place of a lost one;
// whether table definitions are kept in Kafka or in Canal's tables.
func TestStackLaggingReplica(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			once, crashes := newFailover(t, server, "exactly-once", false), newFailover(t, server, "at-least-once", false)
			crashes.structures()
			r := newReplica(ctx, once.world, once.name, crashes.name)
			var nodes []*local.Node
			for _, f := range []*failover{once, crashes} {
				f.fromHere(r.server)
				f.exec(r.server, "USE "+f.name, "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1), (2)")
				nodes = append(nodes, f.start())
				f.active(ctx)
				f.arrives(ctx, f.name, `"id":"2"`)
			}
			r.await(ctx, r.executed(r.server))
			r.promote()
			for _, f := range []*failover{once, crashes} {
				f.exec(r.server, "USE "+f.name, "INSERT INTO t VALUES (11)", "INSERT INTO t VALUES (12)", "ALTER TABLE u RENAME COLUMN a TO x, RENAME COLUMN b TO a",
					"CREATE TABLE v (id INT PRIMARY KEY, lost INT)", "INSERT INTO v VALUES (1, 1)", "INSERT INTO t VALUES (13)")
				f.arrives(ctx, f.name, `"id":"13"`)
			}
			_ = nodes[1].Stop(syscall.SIGKILL, 20*time.Second)
			once.failsOver(r)
			crashes.failsOver(r)
			nodes[1] = crashes.start() // it looks for what it has sent behind its cursor
			for i, f := range []*failover{once, crashes} {
				f.went(ctx, nodes[i])
				f.exec(r.conn, "USE "+f.name, "INSERT INTO t VALUES (41)", "INSERT INTO u VALUES (42, 5, 6)", "INSERT INTO v VALUES (42, 5)")
				f.start()
				f.arrives(ctx, f.name, `"id":"41"`)
				f.arrives(ctx, f.name, `"id":"42","y":"5","b":"6"`)
				f.arrives(ctx, f.name, `"id":"42","made":"5"`)
			}
			if n := strings.Count(once.log(0)+once.log(1), "the source does not have transactions"); n != 1 {
				t.Errorf("told %d times", n)
			}
		})
	}
}

// structures keeps table definitions in Canal's tables, on a server that does not fail.
func (f *failover) structures() {
	f.Helper()
	other := map[string]string{"mysql": "mariadb", "mariadb": "mysql"}[f.server]
	conn, err := f.Admin(other)
	f.must(err)
	f.Cleanup(func() {
		_ = local.Exec(conn, "DROP DATABASE IF EXISTS "+f.name+"_store")
		_ = conn.Close()
	})
	f.exec(conn, "CREATE DATABASE "+f.name+"_store")
	addr, err := f.Server(other)
	f.must(err)
	maps.Copy(f.conf.Destinations[f.name], map[string]string{"canal.instance.tsdb.url": "jdbc:mysql://" + addr + "/" + f.name + "_store",
		"canal.instance.tsdb.dbUsername": f.AdminUser, "canal.instance.tsdb.dbPassword": f.AdminPassword})
}

// failsOver gives the replica the source's address, when it has been written to.
func (f *failover) failsOver(r *replica) {
	f.Helper()
	f.Stack = r.stack
	f.exec(r.conn, "SET SESSION sql_log_bin = 1", "USE "+f.name, "INSERT INTO u VALUES (19, 1, 2)", "ALTER TABLE u RENAME COLUMN a TO y", "INSERT INTO u VALUES (20, 3, 4)",
		"CREATE TABLE v (id INT PRIMARY KEY, made INT)", "INSERT INTO v VALUES (20, 3)")
	for id := 21; id < 40; id++ {
		f.exec(r.conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", id))
	}
	f.link.redirect(r.addr)
	f.link.reset()
}

// went: all that was written to the replica is in the topic, the loss is counted, and the node ends.
func (f *failover) went(ctx context.Context, node *local.Node) {
	f.Helper()
	f.arrives(ctx, f.name, `"id":"39"`)
	f.arrives(ctx, f.name, `"id":"19","a":"1","b":"2"`)
	f.arrives(ctx, f.name, `"id":"20","y":"3","b":"4"`)
	f.arrives(ctx, f.name, `"id":"20","made":"3"`)
	var got, want []string
	for id := 21; id < 40; id++ {
		want = append(want, fmt.Sprint(id))
	}
	f.must(f.ReadTopic(ctx, f.name, func(record *kgo.Record) bool {
		for _, row := range docRow.FindAllSubmatch(record.Value, -1) {
			got = append(got, string(row[1]))
		}
		return !bytes.Contains(record.Value, []byte(`"id":"39"`))
	}))
	if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		f.Errorf("%q were sent, want %q at the end", got, want)
	}
	series, err := node.Get(ctx, "/metrics")
	lost, other := bytes.Contains(series, []byte(`what="source_lacks_transactions"} 1`)), bytes.Contains(series, []byte(`what="tail_scan_other_history"} 1`))
	if err != nil || !lost && (f.once() || !other) { // its cursor may be from before what was lost
		f.Errorf("no metric: %v", err)
	}
	f.stop(node)
}
