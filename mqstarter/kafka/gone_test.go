package kafka

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
)

// TestPositionTopicIsDeleted: exactly-once whose position topic is deleted during a term ends the term within a moment, and
// the next one makes the topic again; what readers did not see is sent again then.
func TestPositionTopicIsDeleted(t *testing.T) {
	t.Parallel()
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "zk", nil)
	p, _, err := l.owner(t, 5)
	if err == nil {
		err = deliver(t, p, parcelOf(100, 0, "a"))
	}
	if err == nil {
		err = c.DeleteTopic("test-positions")
	}
	if err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	err = deliver(t, p, parcelOf(200, 0, "b"))
	var again interface{ Again() bool }
	if took := time.Since(asked); !errors.As(err, &again) || took > 4*topics.Patience {
		t.Fatalf("after %v: %v", took, err)
	}
	t.Log(err)
	p, from, err := l.owner(t, 5)
	if err != nil || !from.IsZero() {
		t.Fatalf("the next claim: %+v, %v", from, err)
	}
	if err := deliver(t, p, parcelOf(200, 0, "b"), parcelOf(300, 0, "end")); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, "changes", "end"); len(got) != 3 {
		t.Errorf("readers have %q", got)
	}
}
