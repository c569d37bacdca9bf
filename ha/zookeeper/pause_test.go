package zookeeper_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

const pausedAt = "/otter/canal/destinations/example/relay/paused"

// TestPauseOutlivesTheOwner: a pause is told at the beginning of each term and
// when it changes, whoever owns the destination.
func TestPauseOutlivesTheOwner(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a := start(t, config(s, "a:1"), &starter{node: "a", log: newLog()})
		defer a.stop()
		settle(time.Second)
		tell := config(s, "").Config
		pauses := a.client.Pauses(dest)
		var said string
		hear := func(term <-chan *zookeeper.Pause) {
			settle(time.Second)
			select {
			case p := <-term:
				if said = "none"; p != nil {
					said = p.String()
				}
			default:
				said = "nothing"
			}
		}
		expect := func(want string) {
			t.Helper()
			if said != want {
				t.Errorf("told %q, want %q", said, want)
			}
		}
		since := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		const first, second = "paused since 2026-11-30T12:00:00Z: move", "paused since 2026-11-30T12:00:00Z: rest"
		for term, begins := range []string{"none", second} {
			ctx, end := context.WithCancel(t.Context())
			to, ended := make(chan *zookeeper.Pause), make(chan struct{})
			go func() {
				defer close(ended)
				if err := pauses.Watch(ctx, to); err != nil {
					t.Error(err)
				}
			}()
			hear(to)
			expect(begins)
			hear(to)
			expect("nothing")
			if term == 0 {
				if before, owner, err := zookeeper.SetPause(t.Context(), tell, dest, &zookeeper.Pause{Since: since, Reason: "move"}); before != nil || owner.Address != "a:1" || err != nil {
					t.Error(before, owner, err)
				}
				hear(to)
				expect(first)
				if before, _, err := zookeeper.SetPause(t.Context(), tell, dest, &zookeeper.Pause{Since: since, Reason: "rest"}); before.String() != first || err != nil {
					t.Error(before, err)
				}
				hear(to)
				expect(second)
			}
			end()
			<-ended
		}
		all, err := zookeeper.Survey(t.Context(), tell, dest)
		if err != nil || all[0].Pause.String() != second {
			t.Errorf("%+v, %v", all, err)
		}
		for _, want := range []string{second, ""} {
			before, _, err := zookeeper.SetPause(t.Context(), tell, dest, nil)
			if err != nil || before != nil && before.String() != want || before == nil && want != "" {
				t.Errorf("resumed from %v, %v, want %q", before, err, want)
			}
		}
		if _, found := s.Get(pausedAt); found {
			t.Error("the node is still there")
		}
		s.Put(pausedAt, []byte("?"))
		ctx, end := context.WithCancel(t.Context())
		defer end()
		to := make(chan *zookeeper.Pause)
		go func() { _ = pauses.Watch(ctx, to) }()
		hear(to)
		expect("paused since 0001-01-01T00:00:00Z: its node cannot be read")
	})
}

// TestPauseThatMayNotBeRead: a node that is closed to this one is an error that names it, not a wait without end.
func TestPauseThatMayNotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a := start(t, config(s, "a:1"), &starter{node: "a", log: newLog()})
		defer a.stop()
		settle(time.Second)
		other := config(s, "").Config
		other.Auth = "admin:secret"
		if _, _, err := zookeeper.SetPause(t.Context(), other, dest, &zookeeper.Pause{Reason: "rest"}); err != nil {
			t.Fatal(err)
		}
		err := a.client.Pauses(dest).Watch(t.Context(), make(chan *zookeeper.Pause))
		if err == nil || !strings.Contains(err.Error(), pausedAt) || !strings.Contains(err.Error(), "canal.relay.zookeeper.auth") {
			t.Errorf("error %v", err)
		}
	})
}
