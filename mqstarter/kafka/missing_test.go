package kafka

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
)

// remade starts a producer that has written to a topic of three partitions,
// deletes the topic, and sends to its last partition. Brokers before 2.8 know no
// topic IDs, by which franz-go notices that a topic was made anew.
func remade(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, chan error, *lines) {
	t.Helper()
	c := cluster(t, append(options, kfake.SeedTopics(3, "changes"))...)
	p, log := producer(t, c.ListenAddrs(), func(c *Config) { c.Create = CreateNever; c.MetadataMaxAge = time.Second })
	claim(t, p)
	if err := outcome(t, send(t, p, record("changes", 0, "a"), record("changes", 2, "b"))); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteTopic("changes"); err != nil {
		t.Fatal(err)
	}
	return c, send(t, p, record("changes", 2, "c")), log
}

func gone(t *testing.T, log *lines, done chan error) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); log.count("a topic is gone") == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("that the topic is gone was not said")
		}
	}
	select {
	case err := <-done:
		t.Fatalf("a record for a topic that is away was settled: %v", err)
	default:
	}
}

func made(t *testing.T, c *kfake.Cluster, partitions int32) {
	t.Helper()
	if err := c.CreateTopic("changes", partitions, nil); err != nil {
		t.Fatal(err)
	}
}

// TestTopicMadeAnew is the field case KD-06: a topic that is gone during a term
// is waited for, which is said once; one with fewer partitions is a named
// failure, also where records for what is left could be written; and the next
// term goes on.
func TestTopicMadeAnew(t *testing.T) {
	old := kfake.MaxVersions(kversion.V2_7_0())
	t.Run("with as many partitions", func(t *testing.T) {
		t.Parallel()
		c, done, log := remade(t, old)
		gone(t, log, done)
		time.Sleep(topics.Patience + time.Second) // it is looked for again, and not said again
		made(t, c, 3)
		if err := outcome(t, done); err != nil {
			t.Fatal(err)
		}
		if n := log.count("a topic is gone"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	t.Run("with fewer", func(t *testing.T) {
		t.Parallel()
		c, done, log := remade(t, old)
		gone(t, log, done)
		made(t, c, 2)
		err := outcome(t, done)
		if err == nil || !strings.Contains(err.Error(), "topic changes had 3 partitions and has 2") {
			t.Fatal(err)
		}
		p, _ := producer(t, c.ListenAddrs(), nil)
		claim(t, p)
		for _, partition := range []int32{1, 2} { // the refused one last: nothing is sent behind it
			if err := outcome(t, send(t, p, record("changes", partition, "c"))); (err == nil) != (partition == 1) {
				t.Errorf("the next term, partition %d: %v", partition, err)
			}
		}
	})
	t.Run("with topic IDs", func(t *testing.T) {
		t.Parallel()
		c, done, _ := remade(t)
		made(t, c, 3)
		err := outcome(t, done)
		if !errors.Is(err, kerr.UnknownTopicID) || !strings.Contains(err.Error(), "deleted and made anew") {
			t.Fatal(err)
		}
		p, _ := producer(t, c.ListenAddrs(), nil)
		claim(t, p)
		if err := outcome(t, send(t, p, record("changes", 2, "c"))); err != nil {
			t.Error("the next term:", err)
		}
	})
}
