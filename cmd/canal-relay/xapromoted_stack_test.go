//go:build stack

package main

import (
	"context"
	"syscall"
	"testing"
	"time"
)

// TestStackXAPromoted: an XA transaction is prepared on a source, and committed on the replica that was promoted in its place and
// at its address, by another owner: its rows are found there, in another file at another place.
func TestStackXAPromoted(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			f := newFailover(t, server, "at-least-once", false)
			r := newReplica(ctx, f.world, f.name)
			f.fromHere(r.server)
			f.exec(r.server, "USE "+f.name, "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)", "INSERT INTO t VALUES (1, '')")
			node := f.start()
			f.active(ctx)
			f.prepare("large", "INSERT INTO t VALUES (30, REPEAT('x', 800000))", "INSERT INTO t VALUES (31, REPEAT('y', 800000))")
			f.exec(r.server, "INSERT INTO t VALUES (2, '')")
			f.ids(ctx, 2)
			f.until(ctx, "the prepared transaction in the stored position", func() bool { return len(f.undecided()) == 1 })
			source := f.admin()
			t.Cleanup(func() { _, _ = source.Execute("XA ROLLBACK '" + f.name + "large'") })
			_ = node.Stop(syscall.SIGKILL, 20*time.Second)
			r.await(ctx, r.executed(r.server))
			r.promote()
			f.Stack = r.stack
			f.exec(r.conn, "SET SESSION sql_log_bin = 1", "USE "+f.name, "FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, '')", "XA COMMIT '"+f.name+"large'", "INSERT INTO t VALUES (4, '')")
			f.link.redirect(r.addr)
			f.link.reset()
			f.start()
			if got, want := f.ids(ctx, 4), []string{"1", "2", "3", "30", "31", "XACOMMIT", "4"}; !f.same(got, want) {
				t.Errorf("the topic has %v\nwant %v", got, want)
			}
		})
	}
}
