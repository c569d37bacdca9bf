//go:build stack

package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestStackPurgedCursor, case PC-04: the source has purged what follows the stored position. The destination fails by that name,
// sends nothing and leaves the position, which an operator replaces; that stays written down.
func TestStackPurgedCursor(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		for _, gtid := range []string{"false", "true"} {
			t.Run(server+"/gtid_"+gtid, func(t *testing.T) {
				w := newWorld(t, server, map[string]string{"canal.instance.gtidon": gtid})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				conn := w.admin()
				w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
				node := w.start()
				w.wantIDs(ctx, "1")
				w.stop(node)
				stored := w.storedCursor(ctx)
				w.exec(conn, "INSERT INTO t VALUES (2)")
				gone := w.purged()
				w.exec(conn, "INSERT INTO t VALUES (3)")
				node = w.start()
				reason := w.awaitFailure(ctx, node, "", regexp.MustCompile(`the binlog at this position was purged: .*the source still has \S+ to \S+(, which lack the transactions \S+)?: to go on at the end`))
				if strings.Contains(reason, "still has "+gone) {
					t.Errorf("%s is gone: %s", gone, reason)
				}
				if got := w.storedCursor(ctx); got != stored {
					t.Errorf("the position went from %s to %s", stored, got)
				}
				var done struct{ New place }
				w.answer(&done, "cursor", "set", "earliest", "--reason", "two is lost", "--release")
				w.wantIDs(ctx, "1", "3")
				var shown place
				w.answer(&shown, "cursor", "show")
				var reasons []string
				for _, past := range shown.Past {
					reasons = append(reasons, past.Reason)
				}
				if all := strings.Join(reasons, "; "); !strings.Contains(all, "set by an operator: two is lost; replaced by an operator") {
					t.Errorf("reasons of the last positions: %s", all)
				}
			})
		}
	}
}
