package simulation

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

var (
	seeds = flag.Int("seeds", defaultSeeds, "how many seeds TestSimulation tries")
	first = flag.Uint64("first", 1, "the first of them")
	one   = flag.Uint64("seed", 0, "only this seed, with its log")
	with  = flag.String("plant", "", "with -seed: the name of a bug to plant")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// try runs one seed in a bubble.
func try(t *testing.T, seed uint64, p *plant, faults func(*world)) (w *world, log *bytes.Buffer) {
	log = &bytes.Buffer{}
	synctest.Test(t, func(t *testing.T) { w = simulate(t, seed, p, &locked{w: log}, faults) })
	return w, log
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// each calls f with seeds on all processors until it returns false.
func each(t *testing.T, first uint64, n int, f func(t *testing.T, seed uint64) bool) {
	var next atomic.Uint64
	var over atomic.Bool
	for i := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker", i), func(t *testing.T) {
			t.Parallel()
			for !over.Load() {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					return
				}
				if !f(t, first+i) {
					over.Store(true)
				}
			}
		})
	}
}

// TestSimulation breaks no promise under any schedule.
func TestSimulation(t *testing.T) {
	if *one != 0 {
		var p *plant
		if i := slices.IndexFunc(plants, func(p *plant) bool { return p.name == *with }); i >= 0 {
			p = plants[i]
		}
		w, log := try(t, *one, p, (*world).faults)
		t.Logf("%s\n%v", log.Bytes(), w)
		report(t, w, nil)
		return
	}
	began := time.Now()
	var owners, stales, done atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		each(t, *first, *seeds, func(t *testing.T, seed uint64) bool {
			w, log := try(t, seed, nil, (*world).faults)
			owners.Add(int64(w.owners))
			stales.Add(int64(w.stales))
			done.Add(1)
			report(t, w, log)
			return !t.Failed()
		})
	})
	t.Logf("%d seeds in %v, %.1f a second; %d owners, %d late requests of former owners", done.Load(), time.Since(began).Round(time.Millisecond),
		float64(done.Load())/time.Since(began).Seconds(), owners.Load(), stales.Load())
}

func report(t *testing.T, w *world, log *bytes.Buffer) {
	t.Helper()
	broken := w.broken()
	if len(broken) == 0 {
		return
	}
	if log != nil {
		t.Logf("%s", log.Bytes())
	}
	t.Errorf("%v\n%s\nagain: make simulate SEED=%d", w, strings.Join(broken, "\n"), w.seed)
}
