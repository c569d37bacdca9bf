package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

func TestFirstNodeStartsAtOnceAndTheTreeIsCanals(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "10.0.0.1:11111"), &starter{node: "a", log: l})
		settle(time.Second)
		within(t, "the first start", l.at(t, "a starts", 1), 0, 20*time.Millisecond)
		n := owner(t, s)
		if got, want := string(n.Data), `{"active":true,"address":"10.0.0.1:11111"}`; got != want {
			t.Errorf("running node holds %s, want %s", got, want)
		}
		if n.Owner == 0 {
			t.Error("running node is not ephemeral")
		}
		for _, path := range []string{"/otter/canal/cluster/10.0.0.1:11111", "/otter/canal/destinations/example/cluster/10.0.0.1:11111"} {
			if n, ok := s.Get(path); !ok || n.Owner == 0 || len(n.Data) != 0 {
				t.Errorf("%s: found %v, %+v; want an empty ephemeral node", path, ok, n)
			}
		}
		if role, _, _ := a.monitor.State(); role != ha.Active {
			t.Errorf("role is %s, want active", role)
		}
		a.stop()
		if role, _, _ := a.monitor.State(); role != ha.Stopped {
			t.Errorf("role is %s, want stopped", role)
		}
		for _, path := range []string{runningAt, "/otter/canal/cluster/10.0.0.1:11111", "/otter/canal/destinations/example/cluster/10.0.0.1:11111"} {
			if _, ok := s.Get(path); ok {
				t.Errorf("%s is left behind", path)
			}
		}
	})
}

func TestCleanHandoverIsImmediate(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(20 * time.Second)
		epoch := owner(t, s).Czxid
		a.stop()
		settle(time.Second)
		sameLines(t, l, "a starts", "a drained", "b starts")
		within(t, "the hand-over", l.at(t, "b starts", 1)-l.at(t, "a drained", 1), 0, 500*time.Millisecond)
		mark, _ := s.Get(releasedAt)
		if got, want := string(mark.Data), strconv.FormatInt(epoch, 10); got != want {
			t.Errorf("the mark is %q, want %q", got, want)
		}
		if owner(t, s).Czxid <= epoch {
			t.Error("the epoch did not grow")
		}
		b.stop()
	})
}

func TestCrashIsTakenOverAfterSessionAndDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		crashed := time.Since(l.began)
		session := owner(t, s).Owner
		s.Expire(session) // and the process is gone: it never comes back
		a.stopMonitor(nil)
		settle(10 * time.Second)
		within(t, "the take-over", l.at(t, "b starts", 1)-crashed, 2*time.Second, 2500*time.Millisecond)
		a.stop()
		b.stop()
	})
}

// The link goes silent: the owner must stop by its own clock, before the server
// lets anybody else in.
func TestSilentLinkEndsTheTermBeforeTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		c := config(s, "a:1")
		cut := unreachable(&c)
		a := start(t, c, &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(10 * time.Second)
		session := owner(t, s).Owner
		if !a.client.Holds(dest) || b.client.Holds(dest) {
			t.Error("not the owner, and only it, holds the destination")
		}
		silent := time.Since(l.began)
		s.Pause(session)
		cut.Store(true)
		settle(20 * time.Second)
		if a.client.Holds(dest) || !b.client.Holds(dest) {
			t.Error("the silent node holds the destination, or the new owner does not")
		}
		dropped := l.at(t, "a dropped", 1)
		within(t, "stopping", dropped-silent, 2*time.Second, 4*time.Second)
		within(t, "the take-over", l.at(t, "b starts", 1)-dropped, 2*time.Second, 6*time.Second)
		cut.Store(false)
		settle(5 * time.Second)
		sameLines(t, l, "a starts", "a dropped", "b starts")
		a.stop()
		b.stop()
	})
}

// The owner's ZooKeeper server is cut off from the others. It goes on answering
// pings, but the session expires behind its back: the owner leaves it while the
// lease lasts, and stops in time if it finds no other server.
func TestIsolatedServer(t *testing.T) {
	for _, alone := range []bool{false, true} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			l := newLog()
			c := config(s, "a:1")
			cut := unreachable(&c)
			a := start(t, c, &starter{node: "a", log: l})
			settle(time.Second)
			b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
			settle(10 * time.Second)
			isolated := time.Since(l.began)
			cut.Store(alone)
			s.Isolate(owner(t, s).Owner)
			settle(20 * time.Second)
			if alone {
				sameLines(t, l, "a starts", "a dropped", "b starts")
				within(t, "stopping", l.at(t, "a dropped", 1)-isolated, 2*time.Second, 4*time.Second)
				within(t, "the take-over", l.at(t, "b starts", 1)-l.at(t, "a dropped", 1), 2*time.Second, 6*time.Second)
			} else {
				sameLines(t, l, "a starts")
			}
			a.stop()
			b.stop()
		})
	}
}

func TestShortLinkLossChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		before := owner(t, s)
		for range 20 {
			s.Down()
			time.Sleep(300 * time.Millisecond)
			s.Up()
			settle(3 * time.Second)
		}
		sameLines(t, l, "a starts")
		if after := owner(t, s); after.Czxid != before.Czxid || after.Owner != before.Owner {
			t.Errorf("running node was %+v, is %+v", before, after)
		}
		// Watches still work: a request to let go is heard.
		s.Put(runningAt, []byte(`{"active":false,"address":"a:1"}`))
		settle(time.Second)
		sameLines(t, l, "a starts", "a drained")
		a.stop()
	})
}

func TestExpiredSessionIsRetakenAtOnceByItsOwner(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		before := owner(t, s)
		s.Expire(before.Owner)
		settle(20 * time.Second)
		sameLines(t, l, "a starts", "a dropped", "a starts")
		within(t, "retaking", l.at(t, "a starts", 2)-l.at(t, "a dropped", 1), 0, 1500*time.Millisecond)
		after := owner(t, s)
		if after.Owner == before.Owner || after.Czxid <= before.Czxid {
			t.Errorf("running node was %+v, is %+v", before, after)
		}
		if got := s.Children("/otter/canal/cluster"); len(got) != 2 {
			t.Errorf("cluster shows %v after the new session, want both nodes", got)
		}
		if got := s.Children("/otter/canal/destinations/example/cluster"); len(got) != 2 {
			t.Errorf("the destination's cluster shows %v after the new session, want both nodes", got)
		}
		a.stop()
		b.stop()
	})
}

// The lease ends by the clock while the session lives on at the server. What the
// former term sent may still be under way: the next one must not bear its epoch.
func TestLostLeaseIsRetakenUnderANewEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		c := config(s, "a:1")
		cut := unreachable(&c)
		a := start(t, c, &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		before := owner(t, s)
		cut.Store(true)
		s.Pause(before.Owner)
		for len(l.all()) < 2 {
			settle(10 * time.Millisecond)
		}
		cut.Store(false)
		settle(10 * time.Second)
		sameLines(t, l, "a starts", "a dropped", "a starts")
		after := owner(t, s)
		if after.Owner != before.Owner {
			t.Fatalf("the session of %+v ended: the test is void", before)
		}
		if after.Czxid <= before.Czxid {
			t.Errorf("running node was %+v, is %+v: the epoch did not grow", before, after)
		}
		a.stop()
		b.stop()
	})
}

// A restarted process finds the running node of its former self. It waits for
// that session to end, and then needs no delay.
func TestRestartedProcessRetakesWithoutDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		former := s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"a:1"}`))
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(3 * time.Second)
		sameLines(t, l)
		s.Expire(former)
		settle(100 * time.Millisecond)
		sameLines(t, l, "a starts")
		a.stop()
		b.stop()
	})
}

func TestForeignOwnerIsHonoured(t *testing.T) {
	for name, data := range map[string]string{
		"java":       `{"active":true,"address":"10.9.9.9:11111","cid":3}`,
		"unreadable": `?`,
		"empty":      ``,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				java := s.PutEphemeral(runningAt, []byte(data))
				l := newLog()
				a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
				settle(time.Minute)
				sameLines(t, l)
				if n := owner(t, s); n.Owner != java || string(n.Data) != data {
					t.Errorf("the foreign node was touched: %+v", n)
				}
				gone := time.Since(l.began)
				s.Expire(java)
				settle(10 * time.Second)
				within(t, "taking over from a foreign owner", l.at(t, "a starts", 1)-gone, 2*time.Second, 2300*time.Millisecond)
				a.stop()
			})
		})
	}
}

func TestReleaseGoesToTheOtherNode(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		if err := b.elector.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(30 * time.Second)
		sameLines(t, l, "a starts", "a drained", "b starts")
		a.stop()
		b.stop()
	})
}

func TestReleaseWithoutAnotherNodeIsTakenBackLater(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		if err := a.elector.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(30 * time.Second)
		sameLines(t, l, "a starts", "a drained", "a starts")
		within(t, "taking back", l.at(t, "a starts", 2)-l.at(t, "a drained", 1), 5*time.Second, 6*time.Second)
		a.stop()
	})
}

// Canal's nodes leave a destination that another one gave up alone for five
// seconds, and need a while to notice and to come. They get their turn.
func TestReleaseGoesToCanal(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		const canal = "10.9.9.9:11111"
		s.PutEphemeral("/otter/canal/destinations/"+dest+"/cluster/"+canal, nil)
		if err := a.elector.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(6500 * time.Millisecond)
		sameLines(t, l, "a starts", "a drained")
		java := s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"`+canal+`"}`))
		settle(time.Minute)
		sameLines(t, l, "a starts", "a drained")
		s.Expire(java)
		settle(5 * time.Second)
		if err := a.elector.Release(t.Context()); err != nil { // and when it does not come
			t.Fatal(err)
		}
		settle(10 * time.Second)
		within(t, "taking back", l.at(t, "a starts", 3)-l.at(t, "a drained", 2), 8*time.Second, 9*time.Second)
		a.stop()
	})
}

func TestFailedTermGoesToTheOtherNodeWithoutAMark(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		broken := &starter{node: "a", log: l, fail: func() error { return errors.New("purged") }}
		a := start(t, config(s, "a:1"), broken)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(30 * time.Second)
		lines := l.all()
		if last := lines[len(lines)-1]; last != "b starts" {
			t.Fatalf("got %q, want b to run in the end", lines)
		}
		if _, ok := s.Get(releasedAt); ok {
			t.Error("a failed term left the hand-over mark")
		}
		if role, _, reason := a.monitor.State(); role != ha.Standby || len(lines) > 1 && lines[0] == "a starts" && reason != "purged" {
			t.Errorf("a is %s (%q), want standby after its failure", role, reason)
		}
		a.stop()
		b.stop()
	})
}

func TestRemovedDestinationLeavesNoMark(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		a.stopMonitor(ha.ErrRemoved)
		<-a.monitorDone
		sameLines(t, l, "a starts", "a drained")
		if _, ok := s.Get(runningAt); ok {
			t.Error("the running node is left")
		}
		if _, ok := s.Get(releasedAt); ok {
			t.Error("a removed destination left the hand-over mark")
		}
		if got := s.Children("/otter/canal/destinations/example/cluster"); len(got) != 0 {
			t.Errorf("cluster of the destination still shows %v", got)
		}
		a.stop()
	})
}

func TestDeletedRunningNodeEndsTheTerm(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		s.Remove(runningAt)
		settle(time.Second)
		sameLines(t, l, "a starts", "a dropped", "a starts")
		a.stop()
	})
}

func TestDamagedRunningNodeIsWrittenAgain(t *testing.T) {
	for _, data := range []string{"", "{", `{"active":true,"address":"x:9"}`, `{"active":false}`, "null"} {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			l := newLog()
			a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
			settle(time.Second)
			s.Put(runningAt, []byte(data))
			settle(time.Second)
			sameLines(t, l, "a starts")
			if got, want := string(owner(t, s).Data), `{"active":true,"address":"a:1"}`; got != want {
				t.Errorf("after %q the node holds %q, want %q", data, got, want)
			}
			a.stop()
		})
	}
}

func TestStuckTermKeepsTheRunningNode(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		stuck := make(chan struct{})
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l, stuck: stuck})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		before := owner(t, s)
		a.stopMonitor(nil)
		<-a.monitorDone
		if !errors.Is(a.err, ha.ErrExitTimeout) {
			t.Fatalf("Run returned %v, want ErrExitTimeout", a.err)
		}
		settle(time.Minute)
		if after := owner(t, s); after.Czxid != before.Czxid {
			t.Error("the running node of a term that may still write was given up")
		}
		sameLines(t, l, "a starts")
		// Nor does the end of the process give it up: the session expires.
		left := time.Since(l.began)
		a.stopClient()
		settle(4 * time.Second)
		owner(t, s)
		settle(10 * time.Second)
		sameLines(t, l, "a starts", "b starts")
		within(t, "the take-over", l.at(t, "b starts", 1)-left, 6*time.Second, 9*time.Second)
		close(stuck)
		b.stop()
	})
}

func TestLostReplyOfCreateIsUnderstood(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Put("/otter/canal/destinations/example", nil)
		s.Put("/otter/canal/cluster", nil)
		client, stop := startClient(t, config(s, "a:1"))
		settle(time.Second)
		s.Lose("create")
		m := ha.NewMonitor(dest, client.Elector(dest, zookeeper.DefaultElectorConfig()), &starter{node: "a", log: newLog()}, ha.DefaultConfig(), quiet(t))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		settle(5 * time.Second)
		if role, _, _ := m.State(); role != ha.Active {
			t.Errorf("role is %s, want active: the node was created although no answer came", role)
		}
		s.Lose("multi")
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Get(runningAt); ok {
			t.Error("the running node is left")
		}
		stop()
	})
}

// A node that keeps losing its session does not take part at full speed.
func TestOwnerThatChangesTooOftenBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		for range 4 {
			s.Expire(owner(t, s).Owner)
			settle(2 * time.Second)
			if _, ok := s.Get(runningAt); !ok {
				break
			}
		}
		if _, ok := s.Get(runningAt); ok {
			t.Fatalf("the fourth loss in a minute was retaken at once: %q", l.all())
		}
		settle(10 * time.Second)
		owner(t, s)
		if a.elector.Changes() < 3 {
			t.Errorf("%d changes were counted, want 3 or more", a.elector.Changes())
		}
		a.stop()
	})
}

// Owners die one after another: a standby that lost nothing itself follows on the last of them without a further wait.
func TestOwnersThatDieDoNotHoldUpAHealthyStandby(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		session := s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"b:0"}`))
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		for i := range 5 {
			settle(3 * time.Second)
			s.Expire(session)
			session = s.PutEphemeral(runningAt, fmt.Appendf(nil, `{"active":true,"address":"b:%d"}`, i+1))
		}
		settle(3 * time.Second)
		died := time.Since(l.began)
		s.Expire(session)
		settle(20 * time.Second)
		within(t, "the take-over", l.at(t, "a starts", 1)-died, 2*time.Second, 2500*time.Millisecond)
		if n := a.elector.Changes(); n < 6 {
			t.Errorf("%d changes were counted", n)
		}
		a.stop()
	})
}

// However often the owner has changed, nobody stays away from a destination for
// much longer than a crash costs anyway, and each such wait is told once.
func TestBackOffFromChangesIsShortAndTold(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		var said bytes.Buffer
		client := zookeeper.New(config(s, "a:1"), slog.New(slog.NewTextHandler(&said, nil)))
		stop := run(t, client)
		m := ha.NewMonitor(dest, client.Elector(dest, zookeeper.DefaultElectorConfig()), &starter{node: "a", log: newLog()}, ha.DefaultConfig(), quiet(t))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		settle(time.Second)
		waited := 0
		for range 10 {
			began := time.Now()
			s.Expire(owner(t, s).Owner)
			settle(100 * time.Millisecond)
			for _, ok := s.Get(runningAt); !ok; _, ok = s.Get(runningAt) {
				settle(100 * time.Millisecond)
			}
			d := time.Since(began)
			within(t, "a change of the owner", d, 0, 11*time.Second)
			if d > 3*time.Second {
				waited++
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		stop()
		if n := strings.Count(said.String(), "loses the destination too often"); n != waited || n == 0 {
			t.Errorf("it waited %d times and told so %d times:\n%s", waited, n, said.String())
		}
	})
}

func TestTooShortGrantedSessionIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Limits(time.Second, 3*time.Second)
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		sameLines(t, l)
		if role, _, reason := a.monitor.State(); role != ha.Failed || reason == "" {
			t.Errorf("role is %s (%q), want failed with a reason", role, reason)
		}
		a.stop()
	})
}

func TestZooKeeperAbsentAtStartIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Down()
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Minute)
		if a.client.Connected() {
			t.Error("Connected without a server")
		}
		s.Up()
		settle(3 * time.Second)
		sameLines(t, l, "a starts")
		if !a.client.Connected() {
			t.Error("not Connected")
		}
		a.stop()
	})
}
