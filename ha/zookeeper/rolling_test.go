package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// TestRollingRestart, case HA-08: the servers of an ensemble are away one after the other, which refuse connections or take them and
// say nothing. The session and the owner stay, and watches work behind it.
func TestRollingRestart(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprint("silent ", silent), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				var away atomic.Value
				away.Store("")
				c := config(s, "a:1")
				c.Servers = "zk1:2181,zk2:2181,zk3:2181"
				c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if address != away.Load() {
						return s.Dial(ctx, network, address)
					}
					if !silent {
						return nil, errors.New("connection refused")
					}
					mine, theirs := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, theirs) }()
					return mine, nil
				}
				l := newLog()
				a := start(t, c, &starter{node: "a", log: l})
				settle(time.Second)
				before := owner(t, s)
				for i := range 30 {
					away.Store(fmt.Sprintf("zk%d:2181", i%3+1))
					s.Cut()
					settle(5 * time.Second)
				}
				if now := owner(t, s); now.Owner != before.Owner || now.Czxid != before.Czxid {
					t.Errorf("running node %+v, before %+v", now, before)
				}
				sameLines(t, l, "a starts")
				s.Put(runningAt, []byte(`{"active":false,"address":"a:1"}`))
				settle(time.Second)
				sameLines(t, l, "a starts", "a drained")
				a.stop()
			})
		})
	}
}
