//go:build stack

package main

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackMovedAddress: a cursor of Canal that was stored at another server with this one's address, as a virtual IP leaves it
// behind: whatever the source answers for such a file position, it goes on by the time.
func TestStackMovedAddress(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		for name, move := range map[string]func(*local.Mark){
			"within_an_event": func(m *local.Mark) { m.Offset -= 45 },
			"another_event":   func(m *local.Mark) { m.Offset -= 31 }, // the XID of the third row
			"past_the_end":    func(m *local.Mark) { m.Offset += 1 << 24 },
			"no_such_file":    func(m *local.Mark) { m.File += "9" },
		} {
			t.Run(server+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, server, map[string]string{"canal.instance.fallbackIntervalInSeconds": "1"})
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				conn := w.admin()
				w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "DO SLEEP(3)")
				r, err := conn.Execute("SELECT UNIX_TIMESTAMP()")
				w.must(err)
				stored, err := r.GetInt(0, 0)
				w.must(err)
				w.exec(conn, "INSERT INTO t VALUES (2)", "DO SLEEP(2)", "INSERT INTO t VALUES (3)")
				at, err := local.End(conn)
				w.must(err)
				move(&at)
				addr, err := w.Server(server)
				w.must(err)
				_, port, err := net.SplitHostPort(addr)
				w.must(err)
				w.putCursor(w.name, fmt.Sprintf(`{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":%s}},`+
					`"postion":{"gtid":"","included":false,"journalName":"%s","position":%d,"serverId":777,"timestamp":%d}}`, port, at.File, at.Offset, stored*1000))
				w.start()
				w.wantIDs(ctx, "2", "3")
			})
		}
	}
}
