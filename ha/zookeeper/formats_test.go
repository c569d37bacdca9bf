package zookeeper_test

import (
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// TestPauseOfAnotherBuild: whatever stands in the node pauses; what this build
// knows of it is shown.
func TestPauseOfAnotherBuild(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a := start(t, config(s, "a:1"), &starter{node: "a", log: newLog()})
		defer a.stop()
		settle(time.Second)
		for text, want := range map[string]string{
			`{"since":"2026-11-30T12:00:00Z","reason":"move"}`:                                 "paused since 2026-11-30T12:00:00Z: move",
			`{"version":2,"since":"2026-11-30T12:00:00Z","reason":"move","tables":["shop.a"]}`: "paused since 2026-11-30T12:00:00Z: move",
			`{"version":2,"since":1796067488,"reason":["of another kind"]}`:                    "paused since 0001-01-01T00:00:00Z: its node cannot be read",
			"": "paused since 0001-01-01T00:00:00Z: its node cannot be read",
		} {
			s.Put(pausedAt, []byte(text))
			all, err := zookeeper.Survey(t.Context(), config(s, "").Config, dest)
			if err != nil || all[0].Pause == nil || all[0].Pause.String() != want {
				t.Errorf("%s: %+v, %v, want %q", text, all, err, want)
			}
		}
	})
}

// TestHandOverMarkOfAnotherBuild: one that this build cannot read is none: the
// node waits, as after a crash, and takes over.
func TestHandOverMarkOfAnotherBuild(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		other := s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"a:1"}`))
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(20 * time.Second)
		s.Put(releasedAt, []byte(`{"version":2,"czxid":7,"to":"b:1"}`))
		left := time.Since(l.began)
		s.Expire(other)
		settle(10 * time.Second)
		within(t, "the take-over", l.at(t, "b starts", 1)-left, 2*time.Second, 2500*time.Millisecond)
		b.stop()
	})
}
