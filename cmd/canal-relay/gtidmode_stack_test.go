//go:build stack

package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// gtidModes is how a server's gtid_mode may change: a step at a time, from ON to OFF and back.
var gtidModes = []string{"ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"}

// TestStackGTIDMode, case GT-10: gtid_mode is switched off and on again under a node, which is restarted after each step.
// Transactions with and without GTIDs arrive once, in order.
func TestStackGTIDMode(t *testing.T) {
	for _, gtid := range []string{"false", "true"} {
		t.Run("gtidon_"+gtid, func(t *testing.T) {
			w := newWorld(t, "mysql", map[string]string{"canal.instance.gtidon": gtid})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
			w.Cleanup(func() { // wherever the test ended; and no other one is to meet a transaction without GTID
				c := w.admin()
				for _, mode := range gtidModes[3:] {
					_ = local.Exec(c, "SET GLOBAL gtid_mode = "+mode)
				}
				w.exec(c, "FLUSH BINARY LOGS")
			})
			node := w.start()
			w.active(ctx)
			var want []string
			insert := func() {
				want = append(want, fmt.Sprint(len(want)))
				w.exec(conn, "INSERT INTO t VALUES ("+want[len(want)-1]+")")
			}
			for _, mode := range gtidModes {
				insert()
				w.exec(conn, "SET GLOBAL gtid_mode = "+mode)
				insert()
				w.wantIDs(ctx, want...)
				w.stop(node)
				insert()
				node = w.start()
				insert()
				w.wantIDs(ctx, want...)
			}
		})
	}
}
