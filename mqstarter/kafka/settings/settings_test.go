package settings

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestLosing: which settings let a topic lose records that must stay, and what to do about it.
func TestLosing(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	const compact, both = "compact", "compact,delete"
	const advice = "; an administrator mends it with kafka-configs --bootstrap-server b:9092,c:9092 --alter --topic "
	for name, tt := range map[string]struct {
		made         map[string]string
		last, all    string // of a topic whose last records of each key must stay, of one where all must
		missingTopic bool
	}{
		"default": {
			last: "retention.ms=604800000" + advice + "default --add-config cleanup.policy=compact",
			all:  "retention.ms=604800000" + advice + "default --add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1",
		},
		"for-ever": {made: map[string]string{"retention.ms": "-1"}},
		"by-size": {
			made: map[string]string{"retention.ms": "-1", "retention.bytes": "1000000"},
			last: "retention.bytes=1000000" + advice + "by-size --add-config cleanup.policy=compact",
			all:  "retention.bytes=1000000" + advice + "by-size --add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1",
		},
		"compacted": {
			made: map[string]string{"cleanup.policy": compact},
			all:  "cleanup.policy=compact" + advice + "compacted --add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1",
		},
		"both": {
			made: map[string]string{"cleanup.policy": both, "retention.ms": "1000"},
			last: "retention.ms=1000" + advice + "both --add-config cleanup.policy=compact",
			all:  "cleanup.policy=compact,delete, retention.ms=1000" + advice + "both --add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1",
		},
		"none": {missingTopic: true},
	} {
		if !tt.missingTopic {
			if err := cluster.CreateTopic(name, 1, tt.made); err != nil {
				t.Fatal(err)
			}
		}
		for compacted, want := range map[bool]string{true: tt.last, false: tt.all} {
			got, err := Losing(t.Context(), client, []string{"b:9092", "c:9092"}, name, compacted)
			if err != nil || got != want {
				t.Errorf("%s, compacted %v: %q, %v, want %q", name, compacted, got, err, want)
			}
		}
	}
}
