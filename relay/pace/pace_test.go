package pace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRate: what is read takes its time, in small pieces and in large ones, and
// what was not used earlier is not caught up on.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1 << 20)
		for _, piece := range []int{100, 4 << 10, 1 << 20} {
			time.Sleep(time.Hour)
			began, n := time.Now(), 0
			for ; n < 10<<20; n += piece {
				if err := p.Wait(t.Context(), piece); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took < 9800*time.Millisecond || took > 11*time.Second {
				t.Errorf("10 MiB in pieces of %d bytes took %s at 1 MiB a second", piece, took)
			}
		}
	})
}

func TestNoRate(t *testing.T) {
	if err := New(0).Wait(t.Context(), 1<<40); err != nil {
		t.Error(err)
	}
}

func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the lease may be gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		began := time.Now()
		if err := New(1).Wait(ctx, 1000); !errors.Is(err, why) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
