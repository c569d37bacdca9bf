//go:build stack

package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackPromotedReplica: a source is killed while it is written to, and its replica, which has more than the relay has seen,
// is promoted and written to. The relay finds the replica by itself (standby.address and Canal's detecting rule), or behind the
// address that it has. Nothing is lost, all is in order, and nothing is there twice.
func TestStackPromotedReplica(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			all := []*failover{newFailover(t, server, "at-least-once", server == "mysql"), newFailover(t, server, "exactly-once", server == "mariadb")}
			began := time.Now()
			r := newReplica(ctx, all[0].world, all[0].name, all[1].name)
			for _, f := range all {
				f.fromHere(r.server) // the same place
			}
			t.Logf("replica after %v", time.Since(began).Round(time.Millisecond))
			for _, f := range all {
				f.begin(ctx, r)
			}
			executed := r.executed(r.server)
			for _, f := range all {
				f.link.hold()
			}
			r.await(ctx, executed) // it has what any relay may have
			r.source.servers("kill", server)
			r.promote()
			t.Logf("promoted after %v", time.Since(began).Round(time.Millisecond))
			for _, f := range all {
				f.goOn(ctx, r)
			}
		})
	}
}

// failover is a destination whose source fails.
type failover struct {
	*world
	standby   bool // the replica is configured; otherwise it takes the source's address
	link      *netLink
	writer    sync.WaitGroup
	committed atomic.Int64
	rows      int
}

func newFailover(t *testing.T, server, delivery string, standby bool) *failover {
	t.Helper()
	w := newWorld(t, server, map[string]string{"canal.relay.delivery": delivery, "canal.instance.gtidon": fmt.Sprint(standby)})
	w.conf.Server["canal.relay.cluster"] = w.name
	addr, err := w.Server(server)
	w.must(err)
	f := &failover{world: w, standby: standby, link: newNetLink(t, "", addr)}
	w.conf.Destinations[w.name]["canal.instance.master.address"] = f.link.addr()
	return f
}

// begin starts the node and the writer, and waits until changes flow.
func (f *failover) begin(ctx context.Context, r *replica) {
	f.Helper()
	if f.standby {
		maps.Copy(f.conf.Destinations[f.name], map[string]string{"canal.instance.standby.address": r.addr,
			"canal.instance.detecting.enable": "true", "canal.instance.detecting.sql": "select 1", "canal.instance.detecting.interval.time": "1",
			"canal.instance.detecting.retry.threshold": "1", "canal.instance.detecting.heartbeatHaEnable": "true"})
	}
	conn := f.admin()
	f.exec(conn, "USE "+f.name, "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, pad VARCHAR(200))")
	f.writer.Go(func() {
		for f.transaction(conn) == nil { //nolint:revive // until the server is killed
		}
	})
	node := f.start()
	f.active(ctx)
	f.until(ctx, "changes of "+f.name, func() bool { return f.committed.Load() > 20 && f.acked(ctx, node) > 5000 })
}

// transaction writes one of 20 rows, or one that takes several batches.
func (f *failover) transaction(conn *client.Conn) error {
	n, first := 20, f.rows
	if f.committed.Load()%10 == 9 {
		n = 4000
	}
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d,0,'%0150d')", first+i, i)
	}
	f.rows += n // also when nobody knows whether it was committed
	err := local.Exec(conn, "BEGIN", "INSERT INTO t (id, n, pad) VALUES "+strings.Join(rows, ","),
		fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id BETWEEN %d AND %d", first, first+9), "COMMIT")
	if err == nil {
		f.committed.Add(1)
	}
	return err
}

// goOn lets the relay find the replica, writes there, restarts the node, and proves what is in the topic.
func (f *failover) goOn(ctx context.Context, r *replica) {
	f.Helper()
	f.writer.Wait()
	if !f.standby {
		f.link.redirect(r.addr)
	}
	f.link.reset()
	f.link.mend()
	f.Stack, f.from = r.stack, r.from
	conn := f.admin()
	f.exec(conn, "USE "+f.name)
	for range 20 {
		f.must(f.transaction(conn))
	}
	f.exec(conn, "ALTER TABLE t ADD COLUMN later INT NULL", "UPDATE t SET later = 1 WHERE id < 10")
	node := f.active(ctx)
	f.prove(ctx, conn)
	f.stop(node)
	f.exec(conn, "INSERT INTO t (id, n) VALUES (-1, 0)")
	f.start() // its position is the replica's
	f.active(ctx)
	changes, repeats := f.prove(ctx, conn)
	f.nothingTwice(repeats)
	if f.standby && !strings.Contains(f.log(0), "going on at the other server") {
		f.Errorf("nothing is said of the change")
	}
	f.Logf("%s, standby %v, once %v: %d changes, %d sent twice", f.name, f.standby, f.once(), changes, repeats)
}

// replica is a second server, which becomes a replica by GTID of a world's server.
type replica struct {
	source *world
	stack  local.Stack // in which it takes the server's place
	addr   string
	conn   *client.Conn
	server *client.Conn // to what it replicates
	from   local.Mark
}

// newReplica starts one and waits until it replicates databases from here on.
func newReplica(ctx context.Context, w *world, databases ...string) *replica {
	w.Helper()
	second := w.server + "2"
	w.Cleanup(func() {
		w.servers("kill", second)
		w.servers("wipe", second)
		w.servers("up", w.server)
	})
	w.servers("up", second)
	r := &replica{source: w, stack: w.Stack, addr: w.stackEnv("CANAL_RELAY_" + strings.ToUpper(second))}
	r.stack.MySQL, r.stack.MariaDB = cmp.Or(map[string]string{"mysql": r.addr}[w.server], r.stack.MySQL), cmp.Or(map[string]string{"mariadb": r.addr}[w.server], r.stack.MariaDB)
	var err error
	r.conn, err = r.stack.Admin(w.server)
	w.must(err)
	w.Cleanup(func() { _ = r.conn.Close() })
	r.server = w.admin()
	addr, err := w.Server(w.server)
	w.must(err)
	host, port, _ := strings.Cut(addr, ":")
	executed := r.executed(r.server)
	if w.server == "mysql" {
		w.exec(r.conn, "RESET BINARY LOGS AND GTIDS", "SET GLOBAL gtid_purged = '"+executed+"'")
	} else {
		w.exec(r.conn, "RESET MASTER", "SET GLOBAL gtid_slave_pos = '"+executed+"'")
	}
	w.exec(r.conn, "SET SESSION sql_log_bin = 0")
	for _, name := range databases {
		w.exec(r.conn, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4")
	}
	if w.server == "mysql" {
		w.exec(r.conn, "CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE = ('"+strings.Join(databases, ".%','")+".%')",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%s, SOURCE_USER='%s', SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1", host, port, w.AdminUser),
			"START REPLICA")
	} else {
		w.exec(r.conn, "SET GLOBAL replicate_wild_do_table = '"+strings.Join(databases, ".%,")+".%'",
			fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='%s', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1", host, port, w.AdminUser),
			"START SLAVE")
	}
	r.begin(ctx)
	return r
}

// begin waits until the replica has what the source has, and marks where it is.
func (r *replica) begin(ctx context.Context) {
	r.source.Helper()
	r.await(ctx, r.executed(r.server))
	var err error
	r.from, err = local.End(r.conn)
	r.source.must(err)
}

// executed is what a server has executed.
func (r *replica) executed(conn *client.Conn) string {
	what := "@@global.gtid_executed"
	if r.source.server == "mariadb" {
		what = "@@global.gtid_binlog_pos"
	}
	return r.ask(conn, "SELECT "+what)
}

func (r *replica) ask(conn *client.Conn, query string) string {
	r.source.Helper()
	rows, err := conn.Execute(query)
	r.source.must(err)
	text, err := rows.GetString(0, 0)
	r.source.must(err)
	return strings.Join(strings.Fields(text), "")
}

// await waits until the replica has executed a set.
func (r *replica) await(ctx context.Context, executed string) {
	r.source.Helper()
	query := "SELECT WAIT_FOR_EXECUTED_GTID_SET('" + executed + "', 1)"
	if r.source.server == "mariadb" {
		query = "SELECT MASTER_GTID_WAIT('" + executed + "', 1)"
	}
	r.source.until(ctx, "the replica at "+executed, func() bool { return r.ask(r.conn, query) == "0" })
}

// promote lets the replica apply what it has received, and makes it a source of its own.
func (r *replica) promote() {
	w := r.source
	w.Helper()
	if w.server == "mysql" {
		w.exec(r.conn, "STOP REPLICA IO_THREAD")
		received := r.ask(r.conn, "SELECT received_transaction_set FROM performance_schema.replication_connection_status")
		r.await(w.Context(), received)
		w.exec(r.conn, "STOP REPLICA", "RESET REPLICA ALL")
		return
	}
	w.exec(r.conn, "STOP SLAVE IO_THREAD")
	status, err := r.conn.Execute("SHOW SLAVE STATUS")
	w.must(err)
	received, err := status.GetStringByName(0, "Gtid_IO_Pos")
	w.must(err)
	r.await(w.Context(), received)
	w.exec(r.conn, "STOP SLAVE", "RESET SLAVE ALL")
}

// stackEnv is what the stack exports now.
func (w *world) stackEnv(name string) string {
	w.Helper()
	script := strings.Fields(os.Getenv("CANAL_RELAY_STACK_SCRIPT"))
	out, err := exec.Command(script[0], append(script[1:], "env")...).Output()
	w.must(err)
	for line := range strings.Lines(string(out)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "export "+name+"="); ok {
			return value
		}
	}
	w.Fatalf("%s does not export %s", filepath.Base(script[0]), name)
	return ""
}

// replaceSource kills the source in the middle of a load, once its replica has all that a relay may have, and lets the replica
// take its place and its address.
func (s *soak) replaceSource(ctx context.Context) {
	s.Helper()
	ways := []*netLink{s.front, s.slots[0].mysql, s.slots[1].mysql}
	for _, way := range ways[1:] {
		way.hold()
	}
	s.replica.await(ctx, s.replica.executed(s.replica.server))
	s.servers("kill", s.server)
	s.replica.promote()
	for _, way := range ways {
		way.redirect(s.replica.addr)
		way.reset()
		way.mend()
	}
	s.from = s.replica.from
}
