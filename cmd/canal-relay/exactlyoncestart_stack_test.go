//go:build stack

package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// executed is the GTID set of a server's binlog.
func executed(w *world, conn *client.Conn) string {
	w.Helper()
	variable := map[string]string{"mysql": "gtid_executed", "mariadb": "gtid_binlog_pos"}[w.server]
	r, err := conn.Execute("SELECT REPLACE(@@global." + variable + ", '\\n', '')")
	w.must(err)
	set, err := r.GetString(0, 0)
	w.must(err)
	return strings.Clone(set)
}

// TestStackExactlyOnceFromGTIDs: a destination that begins at a GTID set alone, and whose first transaction is larger than
// all batches that may be under way: it is cut as any other, and an owner that is killed in it loses and repeats nothing.
func TestStackExactlyOnceFromGTIDs(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newExactly(t, server, map[string]string{"canal.relay.memory": "1MiB"})
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE wide (id INT PRIMARY KEY AUTO_INCREMENT, pad VARCHAR(200))",
				"INSERT INTO wide (pad) VALUES (REPEAT('a', 150))")
			begin, err := local.End(conn)
			w.must(err)
			w.from = begin
			keys := w.conf.Destinations[w.name]
			delete(keys, "canal.instance.master.journal.name")
			delete(keys, "canal.instance.master.position")
			keys["canal.instance.gtidon"], keys["canal.instance.master.gtid"] = "true", executed(w, conn)
			statements := []string{"BEGIN"}
			for range 16 { // 65,535 rows of 160 bytes: 10 MiB, in batches of 64 KiB
				statements = append(statements, "INSERT INTO wide (pad) SELECT pad FROM wide")
			}
			w.exec(conn, append(statements, "COMMIT", "CREATE TABLE finished (id INT PRIMARY KEY)")...)
			w.start()
			w.until(ctx, "a part of the transaction is committed", func() bool {
				var shown decided
				w.answer(&shown, "cursor", "show")
				return shown.Record.Sent > 0 || shown.Record.Offset > int(begin.Offset)
			})
			_ = w.active(ctx).Stop(syscall.SIGKILL, 30*time.Second)
			w.start()
			if changes, _ := w.prove(ctx, conn); changes < 65_535 {
				t.Errorf("%d changes", changes)
			}
			if strings.Contains(w.log(0), "may lose records") {
				t.Error("who asked for the record made its topic")
			}
		})
	}
}
