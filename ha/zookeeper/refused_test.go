package zookeeper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// TestElectionThatIsNotLetIn: a node that the access lists keep from being elected says so as its state, with the key to set,
// instead of standing by for good; it takes part once it may.
func TestElectionThatIsNotLetIn(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		secured := config(s, "a:1")
		secured.Auth = "relay:secret"
		a := start(t, secured, &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, config(s, "b:1"), &starter{node: "b", log: l})
		settle(time.Second)
		failed := func(at string) {
			t.Helper()
			if role, _, reason := b.monitor.State(); role != ha.Failed || !strings.Contains(reason, at) || !strings.Contains(reason, "canal.relay.zookeeper.auth") {
				t.Errorf("b is %s: %q", role, reason)
			}
		}
		failed("create /otter/canal/cluster")
		for _, path := range []string{"/otter/canal", "/otter/canal/cluster", "/otter/canal/destinations", "/otter/canal/destinations/" + dest + "/cluster"} {
			s.Open(path)
		}
		settle(time.Minute)
		failed("look at the running node")
		s.Open(runningAt)
		settle(2 * time.Minute)
		if role, _, reason := b.monitor.State(); role != ha.Standby {
			t.Errorf("b is %s: %q", role, reason)
		}
		a.stop()
		b.stop()
	})
}
