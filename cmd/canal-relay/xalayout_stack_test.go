//go:build stack

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackXALayout: the rows of an XA transaction are read with the layout of the time of their commit, which is that of
// their prepare: neither server lets a table change while a prepared transaction has rows of it, nor after a restart. One
// that was prepared in an earlier file than the stream's first is named and counted. On MySQL transactions are compressed.
func TestStackXALayout(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			w.patient()
			w.must(w.CreateTopic(ctx, w.name, 1))
			if server == "mysql" {
				w.exec(w.admin(), "SET PERSIST binlog_transaction_compression = ON")
				defer func() {
					w.exec(w.admin(), "SET PERSIST binlog_transaction_compression = OFF", "RESET PERSIST binlog_transaction_compression")
				}()
			}
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100))", "CREATE TABLE early (id INT PRIMARY KEY)")
			w.prepare("early", "INSERT INTO early VALUES (100)")
			w.exec(conn, "FLUSH BINARY LOGS")
			w.prepare("samefile", "INSERT INTO early VALUES (101)")
			var err error
			w.from, err = local.End(conn)
			w.must(err)
			keys := w.conf.Destinations[w.name]
			keys["canal.instance.master.journal.name"], keys["canal.instance.master.position"] = w.from.File, fmt.Sprint(w.from.Offset)
			w.exec(conn, "INSERT INTO t VALUES (1, '')")
			w.prepare("held", "INSERT INTO t VALUES (10, REPEAT('a', 90))", "UPDATE t SET v = 'b' WHERE id = 10")
			node := w.start()
			w.ids(ctx, 1)
			w.cannotChange()
			w.servers("restart", server)
			conn = w.admin()
			w.exec(conn, "USE "+w.name)
			w.cannotChange()
			w.must(node.Stop(syscall.SIGTERM, 30*time.Second))
			node = w.start() // it must read the rows again
			w.exec(conn, "XA COMMIT '"+w.name+"held'", "ALTER TABLE t ADD n INT FIRST", "INSERT INTO t VALUES (7, 2, '')", "INSERT INTO t VALUES (8, 3, REPEAT('c', 90))",
				"XA COMMIT '"+w.name+"early'", "XA COMMIT '"+w.name+"samefile'", "INSERT INTO t VALUES (9, 4, '')")
			if got, want := w.ids(ctx, 4), []string{"1", "10", "10", "XACOMMIT", "2", "3", "XACOMMIT", "101", "XACOMMIT", "4"}; !slices.Equal(got, want) {
				t.Errorf("the topic has %v, want %v", got, want)
			}
			if server == "mysql" && w.payloads(conn) < 2 {
				t.Error("the transactions are not compressed")
			}
			if got, want := w.columns(ctx, 4), []string{"id,v", "id,v", "id,v", "id,n,v", "id,n,v", "id", "id,n,v"}; !slices.Equal(got, want) {
				t.Errorf("rows have %q, want %q", got, want)
			}
			log, want := w.log(1), "prepared before the stream began: its rows are not sent"
			if strings.Count(log, want) != 1 || !strings.Contains(log, fmt.Sprintf("X'%x'", w.name+"early")) {
				t.Errorf("the log does not name the transaction that was prepared earlier")
			}
			series, err := node.Get(ctx, "/metrics")
			w.must(err)
			if want := fmt.Sprintf(`canal_relay_unusual_total{destination=%q,what="xa_unknown"} 1`, w.name); !strings.Contains(string(series), want) {
				t.Errorf("metrics lack %s", want)
			}
		})
	}
}

// cannotChange: no statement changes table t now.
func (w *world) cannotChange() {
	w.Helper()
	other := w.admin()
	w.exec(other, "USE "+w.name, "SET lock_wait_timeout = 1", "SET innodb_lock_wait_timeout = 1")
	for _, sql := range []string{"ALTER TABLE t ADD n INT, ALGORITHM=INSTANT", "ALTER TABLE t RENAME COLUMN v TO w", "RENAME TABLE t TO u", "DROP TABLE t"} {
		if err := local.Exec(other, sql); err == nil || !strings.Contains(err.Error(), "1205") {
			w.Errorf("%s beside a prepared XA transaction: %v", sql, err)
		}
	}
}

// payloads counts the compressed transactions in the destination's first binlog file.
func (w *world) payloads(conn *client.Conn) (n int) {
	w.Helper()
	r, err := conn.Execute("SHOW BINLOG EVENTS IN '" + w.from.File + "'")
	w.must(err)
	for i := range r.RowNumber() {
		if kind, _ := r.GetString(i, 2); kind == "Transaction_payload" {
			n++
		}
	}
	return n
}
