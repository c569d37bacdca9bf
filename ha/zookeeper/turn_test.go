package zookeeper_test

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// Each owner that vanishes is waited for anew: neither the mark of an earlier
// hand-over nor the time since an earlier one vanished makes it shorter.
func TestEveryLossHasTheWholeDelay(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		other := []byte(`{"active":true,"address":"10.9.9.9:11111"}`)
		first := s.PutEphemeral(runningAt, other)
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		settle(time.Second)
		s.Put(releasedAt, []byte(strconv.FormatInt(owner(t, s).Czxid-1, 10)))
		s.Expire(first)
		settle(1500 * time.Millisecond)
		second := s.PutEphemeral(runningAt, other)
		settle(time.Second)
		gone := time.Since(l.began)
		s.Expire(second)
		settle(10 * time.Second)
		sameLines(t, l, "a starts")
		within(t, "the delay", l.at(t, "a starts", 1)-gone, 2*time.Second, 2300*time.Millisecond)
		a.stop()
	})
}

// A running node that no session has goes by itself never: that is said, once, and
// it is honoured until it is deleted.
func TestRunningNodeOfNobodyIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Put(runningAt, []byte(`{"active":true,"address":"b:1"}`))
		l, said := newLog(), &bytes.Buffer{}
		a := startLogged(t, config(s, "a:1"), &starter{node: "a", log: l}, slog.New(slog.NewTextHandler(said, nil)))
		settle(time.Minute)
		sameLines(t, l)
		s.Remove(runningAt)
		settle(5 * time.Second)
		sameLines(t, l, "a starts")
		a.stop()
		if text := said.String(); strings.Count(text, "nobody's") != 1 || !strings.Contains(text, runningAt) {
			t.Errorf("it was not said once:\n%s", text)
		}
	})
}

// A node that stops while its request to become the owner is under way does not
// own the destination afterwards: nothing of it would run.
func TestStopWhileItIsElected(t *testing.T) {
	for after := time.Millisecond; after < 100*time.Millisecond; after += 4 * time.Millisecond {
		bubble(t, func(t *testing.T, s *zktest.Server) {
			client, stop := startClient(t, config(s, "a:1"))
			settle(time.Second)
			s.Delay(10 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			l, err := client.Elector(dest, zookeeper.DefaultElectorConfig()).Campaign(ctx)
			cancel()
			if err == nil {
				if err := l.Resign(t.Context(), false); err != nil {
					t.Error(err)
				}
			}
			settle(2 * time.Second)
			if n, ok := s.Get(runningAt); ok {
				t.Errorf("stopped after %v: the running node is left: %+v", after, n)
			}
			s.Delay(0)
			stop()
		})
	}
}

// The connection is lost in the moment of a hand-over, before or after ZooKeeper
// has carried it out: it is a clean one all the same, and no loss is counted.
func TestHandOverOutlivesALostConnection(t *testing.T) {
	for name, fault := range map[string]func(s *zktest.Server){
		"answer lost": func(s *zktest.Server) { s.Lose("multi") },
		"before it":   func(s *zktest.Server) { s.Down(); time.AfterFunc(300*time.Millisecond, s.Up) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				l := newLog()
				a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
				settle(time.Second)
				b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
				settle(time.Second)
				epoch := owner(t, s).Czxid
				fault(s)
				a.stopMonitor(nil)
				<-a.monitorDone
				settle(1500 * time.Millisecond)
				sameLines(t, l, "a starts", "a drained", "b starts")
				if mark, _ := s.Get(releasedAt); string(mark.Data) != strconv.FormatInt(epoch, 10) {
					t.Errorf("the mark is %q, want %d", mark.Data, epoch)
				}
				a.stopClient()
				b.stop()
			})
		})
	}
}

// What was handed over is not lost: a node that is told to let go again and again
// is not held back.
func TestHandOversAreNoLosses(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l, said := newLog(), &bytes.Buffer{}
		a := startLogged(t, config(s, "a:1"), &starter{node: "a", log: l}, slog.New(slog.NewTextHandler(said, nil)))
		settle(time.Second)
		for range 5 {
			if err := a.elector.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			settle(6 * time.Second)
			owner(t, s)
		}
		a.stop()
		if strings.Contains(said.String(), "too often") {
			t.Errorf("it was held back:\n%s", said.String())
		}
	})
}
