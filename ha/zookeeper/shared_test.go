package zookeeper_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

const (
	clusterAt = "/otter/canal/cluster/a:1"
	standbyAt = "/otter/canal/destinations/example/cluster/a:1"
)

// A process that came back finds its own entries of the session before: they
// are made again in the moment in which that one ends.
func TestEntriesOfAnOlderSessionAreMadeAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		old := []int64{s.PutEphemeral(clusterAt, nil), s.PutEphemeral(standbyAt, nil)}
		a := start(t, config(s, "a:1"), &starter{node: "a", log: newLog()})
		settle(2500 * time.Millisecond)
		if err := a.client.Shared(); err != nil {
			t.Errorf("before the session timeout: %v", err)
		}
		s.Expire(old[0])
		s.Expire(old[1])
		settle(20 * time.Millisecond)
		if n, ok := s.Get(clusterAt); !ok || n.Owner != owner(t, s).Owner {
			t.Errorf("the node is not shown: %v, %v", n, ok)
		}
		s.Expire(owner(t, s).Owner) // in a new session they come back, too
		settle(3 * time.Second)
		for _, path := range []string{clusterAt, standbyAt} {
			if n, ok := s.Get(path); !ok || n.Owner != owner(t, s).Owner {
				t.Errorf("%s is not shown in the new session: %v, %v", path, n, ok)
			}
		}
		a.stop()
	})
}

// Another process has this node's address: that is said, once, and no longer
// when it has gone.
func TestTwoNodesWithOneAddress(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		other := s.PutEphemeral(clusterAt, nil)
		var said bytes.Buffer
		c := config(s, "a:1")
		client := zookeeper.New(c, slog.New(slog.NewTextHandler(&said, nil)))
		stop := run(t, client)
		settle(5 * time.Second)
		if err := client.Shared(); err != nil {
			t.Errorf("within the session timeout: %v", err)
		}
		settle(5 * time.Second)
		err := client.Shared()
		if !errors.Is(err, session.ErrShared) || !strings.Contains(err.Error(), clusterAt) || !strings.Contains(err.Error(), "canal.register.ip") {
			t.Errorf("after the session timeout: %v", err)
		}
		settle(10 * time.Second)
		s.Expire(other)
		settle(time.Second)
		if err := client.Shared(); err != nil {
			t.Errorf("the other one is gone: %v", err)
		}
		if n, ok := s.Get(clusterAt); !ok || n.Owner == other {
			t.Error("the node is not shown after the other one has gone")
		}
		stop()
		if n := strings.Count(said.String(), "another process uses"); n != 1 {
			t.Errorf("it was said %d times:\n%s", n, said.String())
		}
	})
}

// The owner is asked to let go and then paused: that request is no proof that it
// has stopped. The whole session and the whole delay pass.
func TestRequestToAPausedOwnerIsNoHandOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		c := config(s, "a:1")
		cut := unreachable(&c)
		a := start(t, c, &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(10 * time.Second)
		asked := time.Since(l.began)
		s.Pause(owner(t, s).Owner)
		cut.Store(true)
		s.Put(runningAt, []byte(`{"active":false,"address":"a:1"}`))
		var gone time.Duration
		for gone == 0 {
			settle(10 * time.Millisecond)
			if _, ok := s.Get(runningAt); !ok {
				gone = time.Since(l.began)
			}
		}
		settle(10 * time.Second)
		within(t, "the session", gone-asked, 4*time.Second, 6100*time.Millisecond)
		within(t, "the delay after it", l.at(t, "b starts", 1)-gone, 1990*time.Millisecond, 2300*time.Millisecond)
		if _, ok := s.Get(releasedAt); ok {
			t.Error("there is a mark of a hand-over that nobody made")
		}
		cut.Store(false)
		a.stop()
		b.stop()
	})
}

// 100 short losses of the connection cost neither the session nor the role, and
// watches go on working (HA-08).
func TestManyShortLosses(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		before := owner(t, s)
		for i := range 100 {
			s.Down()
			settle(time.Duration(100+i*4) * time.Millisecond)
			s.Up()
			settle(2 * time.Second)
		}
		if now := owner(t, s); now.Owner != before.Owner || now.Czxid != before.Czxid {
			t.Errorf("running node %+v, before %+v", now, before)
		}
		sameLines(t, l, "a starts")
		s.Put(runningAt, []byte(`{"active":false,"address":"a:1"}`))
		settle(time.Second)
		sameLines(t, l, "a starts", "a drained", "b starts")
		a.stop()
		b.stop()
	})
}
