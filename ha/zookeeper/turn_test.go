package zookeeper_test

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

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
