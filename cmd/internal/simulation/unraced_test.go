//go:build !race

package simulation

import (
	"sync/atomic"
	"testing"
)

// What takes many seeds or many destinations is left out under the race detector:
// it is slow with so many goroutines, and gives up on them now and then (Go 1.26:
// ThreadSanitizer, CHECK failed: tsan_rtl.cpp:346).

const defaultSeeds = 20

// TestFencingAlone: with exactly-once, readers have everything once also when
// connections are not guarded by the lease.
func TestFencingAlone(t *testing.T) {
	p := &plant{once: true, allowed: true, readers: true}
	each(t, *first, min(*seeds, 50), func(t *testing.T, seed uint64) bool {
		w, log := try(t, seed, p, (*world).faults)
		report(t, w, log)
		return !t.Failed()
	})
}

// TestPlantedBugs finds each bug, which shows that TestSimulation would.
func TestPlantedBugs(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			var found atomic.Pointer[world]
			var tried atomic.Int64
			t.Run("seeds", func(t *testing.T) {
				each(t, *first, 1000, func(t *testing.T, seed uint64) bool {
					w, _ := try(t, seed, p, (*world).faults)
					tried.Add(1)
					if p.found(w) != "" {
						found.CompareAndSwap(nil, w)
					}
					return found.Load() == nil
				})
			})
			w := found.Load()
			if w == nil {
				t.Fatalf("not found by %d seeds", tried.Load())
			}
			t.Logf("found by seed %d, one of %d: %s", w.seed, tried.Load(), p.found(w))
		})
	}
}
