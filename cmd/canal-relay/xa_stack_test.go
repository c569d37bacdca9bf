//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/relay/position"
)

// TestStackXA: XA transactions are prepared in one binlog file and decided in another one, and the owner is killed
// between the two: rows come with XA COMMIT, in its place, and never with XA ROLLBACK. EV-03.
func TestStackXA(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, map[string]string{"canal.relay.takeover.delay": "200ms"})
			if err := w.CreateTopic(ctx, w.name, 1); err != nil {
				t.Fatal(err)
			}
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)", "INSERT INTO t VALUES (1, '')")
			node := w.start()
			w.prepare("small", "INSERT INTO t VALUES (10, 'a'), (11, 'b')", "UPDATE t SET v = 'c' WHERE id = 11")
			w.prepare("back", "INSERT INTO t VALUES (20, 'no')")
			w.prepare("large", "INSERT INTO t VALUES (30, REPEAT('x', 800000))", "INSERT INTO t VALUES (31, REPEAT('y', 800000))")
			w.exec(conn, "FLUSH BINARY LOGS", "INSERT INTO t VALUES (2, '')")
			w.ids(ctx, 2)
			w.until(ctx, "the prepared transactions in the stored position", func() bool { return len(w.undecided()) == 3 })
			if err := node.Stop(syscall.SIGKILL, 30*time.Second); err != nil {
				t.Log(err)
			}
			w.start()
			w.exec(conn, "XA ROLLBACK '"+w.name+"back'", "INSERT INTO t VALUES (3, '')", "XA COMMIT '"+w.name+"large'", "XA COMMIT '"+w.name+"small'")
			w.prepare("now", "INSERT INTO t VALUES (40, 'a')")
			w.exec(conn, "XA COMMIT '"+w.name+"now'", "XA START '"+w.name+"one'", "INSERT INTO t VALUES (41, 'b')", "XA END '"+w.name+"one'",
				"XA COMMIT '"+w.name+"one' ONE PHASE", "INSERT INTO t VALUES (4, '')")
			want := []string{"1", "2", "XAROLLBACK", "3", "30", "31", "XACOMMIT", "10", "11", "11", "XACOMMIT", "40", "XACOMMIT", "41", "4"}
			if got := w.ids(ctx, 4); !w.same(got, want) {
				t.Errorf("the topic has %v\nwant %v", got, want)
			}
			w.until(ctx, "a stored position without them", func() bool { return len(w.undecided()) == 0 })
		})
	}
}

// prepare leaves a prepared XA transaction on the server.
func (w *world) prepare(id string, statements ...string) {
	w.Helper()
	conn := w.admin()
	id = "'" + w.name + id + "'"
	w.exec(conn, append(append([]string{"USE " + w.name, "XA START " + id}, statements...), "XA END "+id, "XA PREPARE "+id)...)
	_ = conn.Close()
	w.Cleanup(func() { _, _ = w.admin().Execute("XA ROLLBACK " + id) })
	// Its transaction is detached when the server has let go of the session.
	session := fmt.Sprint("SELECT COUNT(*) FROM information_schema.processlist WHERE id = ", conn.GetConnectionID())
	other := w.admin()
	w.until(w.Context(), "the end of the session", func() bool { return w.text(other, session, 0) == "0" })
}

// ids reads the topic until a row with this id, and lists ids, and what is said of XA transactions of this test.
func (w *world) ids(ctx context.Context, last int) (all []string) {
	w.Helper()
	err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct {
			Data      []map[string]string
			Type, SQL string
		}
		if err := json.Unmarshal(r.Value, &m); err != nil {
			w.Fatal(err)
		}
		if strings.HasPrefix(m.Type, "XA") && strings.Contains(m.SQL, fmt.Sprintf("%x", w.name)) {
			all = append(all, m.Type)
		}
		for _, row := range m.Data {
			all = append(all, row["id"])
		}
		return len(all) == 0 || all[len(all)-1] != fmt.Sprint(last)
	})
	if err != nil {
		w.Fatalf("%v after %v", err, all)
	}
	return all
}

// undecided is what the stored position says of prepared transactions.
func (w *world) undecided() []position.XA {
	w.Helper()
	conn, _, err := zk.Connect([]string{w.ZooKeeper}, 5*time.Second, zk.WithLogInfo(false))
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	raw, _, err := conn.Get("/otter/canal/destinations/" + w.name + "/relay/state")
	if err != nil {
		return nil
	}
	state, err := position.ParseState(raw)
	if err != nil {
		w.Fatal(err)
	}
	return state.Prepared
}
