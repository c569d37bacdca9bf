package ha

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// endingLease tells what became of it at the moment at which the Monitor turns from a term that ended by itself.
type endingLease struct {
	*fakeLease
	news  error
	asked int
}

func (l *endingLease) Lost() <-chan error {
	if l.asked++; l.asked == 2 { // by wait, and now by what stops the term
		l.lost <- l.news
	}
	return l.lost
}

// TestNewsOfALeaseAtTheEndOfATerm: a lease that goes, or is asked for, just when a term ends by itself is gone for the next term
// of the same ownership, too: there must be none.
func TestNewsOfALeaseAtTheEndOfATerm(t *testing.T) {
	for range 30 { // which of the two is heard first is left to chance
		for _, news := range []error{ErrLost, ErrReleased} {
			synctest.Test(t, func(t *testing.T) {
				w := &world{began: time.Now()}
				elected := &endingLease{fakeLease: &fakeLease{w: w, epoch: 1, lost: make(chan error, 2)}, news: news}
				s := &fakeStarter{w: w, name: "s", err: retried{errors.New("fenced")}, after: time.Second}
				m := NewMonitor("example", w, s, DefaultConfig(), slog.New(slog.NewTextHandler(io.Discard, nil)))
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				e := m.own(ctx, elected)
				if got := w.said(); !errors.Is(e.cause, news) || !slices.Equal(got, []string{"s starts 1", "s fails"}) {
					t.Errorf("%v: ended by %v after %q", news, e.cause, got)
				}
			})
		}
		if t.Failed() {
			return
		}
	}
}
