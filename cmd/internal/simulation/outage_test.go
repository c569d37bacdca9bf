package simulation

import (
	"testing"
	"time"
)

// TestLongOutages, cases PC-01 and KD-19: ZooKeeper is away for a minute, Kafka for twenty. Nobody writes without a lease,
// what is held meanwhile is bounded, and when the server is back everything follows in order, and so does the cursor.
func TestLongOutages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first uint64
		fault func(*world)
	}{
		{"ZooKeeper", 1, func(w *world) {
			w.zk.Down()
			time.Sleep(time.Minute)
			w.zk.Up()
		}},
		{"Kafka", 101, func(w *world) {
			for _, n := range w.nodes {
				n.process.kafka.cut(true)
			}
			time.Sleep(20 * time.Minute)
			for _, n := range w.nodes {
				n.process.kafka.heal()
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, tt.first, 6, func(t *testing.T, seed uint64) bool {
				w, log := try(t, seed, nil, func(w *world) {
					time.Sleep(10 * time.Second)
					tt.fault(w)
				})
				report(t, w, log)
				if most := w.history.most.Load(); most > window {
					t.Errorf("%v: %d batches were held at a time", w, most)
				}
				if w.recovery > time.Minute {
					t.Errorf("%v: it took %v until all was sent and saved", w, w.recovery)
				}
				return !t.Failed()
			})
		})
	}
}
