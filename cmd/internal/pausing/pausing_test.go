package pausing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records is what starters did.
type records struct {
	mu    sync.Mutex
	lines []string
}

func (r *records) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// expect compares what was recorded since the last time, sorted.
func (r *records) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.lines)
	if !slices.Equal(r.lines, want) {
		t.Errorf("got %q, want %q", r.lines, want)
	}
	r.lines = nil
}

// pauses tells a Starter what the test wants.
type pauses chan *zookeeper.Pause

func (p pauses) watch(ctx context.Context, to chan<- *zookeeper.Pause) error {
	for {
		select {
		case pause := <-p:
			if pause == hidden {
				return errHidden
			}
			select {
			case to <- pause:
			case <-ctx.Done():
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// hidden makes it impossible to tell whether there is a pause.
var hidden, errHidden = &zookeeper.Pause{}, errors.New("may not be read")

// settling is a starter that needs a while to drain, and stops at once when it must not.
type settling struct {
	*records
	drain time.Duration
	err   error
}

func (s *settling) Run(ctx context.Context, epoch int64) error {
	s.add("runs %d", epoch)
	<-ctx.Done()
	var c interface {
		Drain() bool
		Cut() <-chan struct{}
	}
	if !errors.As(context.Cause(ctx), &c) || !c.Drain() {
		s.add("dropped: %v", context.Cause(ctx))
		return nil
	}
	select {
	case <-time.After(s.drain):
		s.add("drained: %v", context.Cause(ctx))
		return s.err
	case <-c.Cut():
		s.add("cut: %v", context.Cause(ctx))
		return nil
	}
}

func TestPause(t *testing.T) {
	for name, tc := range map[string]struct {
		drained error
		end     func(p pauses, cancel context.CancelCauseFunc)
		want    []string
	}{
		"resumed": {end: func(p pauses, cancel context.CancelCauseFunc) {
			time.Sleep(time.Minute)
			p <- nil
			time.Sleep(time.Minute)
			cancel(ending{})
		}, want: []string{"drained: the destination is paused", "drained: told to end", "runs 7"}},
		"shutdown while paused":   {end: func(_ pauses, cancel context.CancelCauseFunc) { time.Sleep(time.Minute); cancel(ending{}) }, want: []string{"drained: the destination is paused"}},
		"shutdown while settling": {end: func(_ pauses, cancel context.CancelCauseFunc) { cancel(ending{}) }, want: []string{"drained: the destination is paused"}},
		"lost while settling":     {end: func(_ pauses, cancel context.CancelCauseFunc) { cancel(errors.New("lost")) }, want: []string{"cut: the destination is paused"}},
		"lost at last": {end: func(_ pauses, cancel context.CancelCauseFunc) {
			cut := make(chan struct{})
			cancel(ending{cut})
			time.Sleep(time.Second)
			close(cut)
		}, want: []string{"cut: the destination is paused"}},
		"unsettled": {drained: mqstarter.ErrUnsettled, end: func(_ pauses, cancel context.CancelCauseFunc) { time.Sleep(time.Minute); cancel(ending{}) },
			want: []string{"drained: the destination is paused"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, p := &records{}, make(pauses)
				var shown atomic.Pointer[zookeeper.Pause]
				s := &Starter{Starter: &settling{records: r, drain: 3 * time.Second, err: tc.drained}, Watch: p.watch, Shown: &shown, Log: slog.New(slog.DiscardHandler)}
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan error, 1)
				go func() { done <- s.Run(ctx, 7) }()
				r.expect(t) // not before it is known that there is no pause
				p <- nil
				r.expect(t, "runs 7")
				p <- &zookeeper.Pause{Reason: "rest"}
				synctest.Wait()
				if shown.Load() == nil {
					t.Error("the pause is not shown")
				}
				tc.end(p, cancel)
				if err := <-done; err != nil {
					t.Error(err)
				}
				r.expect(t, tc.want...)
				if shown.Load() != nil {
					t.Error("a pause is shown after the term")
				}
			})
		})
	}
}

// TestPauseThatCannotBeTold: a destination is not read while nobody can tell whether it may be; that ends the term with
// the reason, after what was sent has settled.
func TestPauseThatCannotBeTold(t *testing.T) {
	for name, tc := range map[string]struct {
		before []*zookeeper.Pause
		want   []string
	}{
		"at the beginning": {},
		"at work":          {before: []*zookeeper.Pause{nil}, want: []string{"drained: the destination is paused", "runs 7"}},
		"paused":           {before: []*zookeeper.Pause{{Reason: "rest"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, p := &records{}, make(pauses)
				var shown atomic.Pointer[zookeeper.Pause]
				s := &Starter{Starter: &settling{records: r, drain: 3 * time.Second}, Watch: p.watch, Shown: &shown, Log: slog.New(slog.DiscardHandler)}
				done := make(chan error, 1)
				go func() { done <- s.Run(t.Context(), 7) }()
				for _, pause := range tc.before {
					p <- pause
				}
				time.Sleep(time.Minute)
				p <- hidden
				if err := <-done; !errors.Is(err, errHidden) {
					t.Errorf("the term ended with %v", err)
				}
				r.expect(t, tc.want...)
			})
		})
	}
}

// TestLook: a paused destination is looked at when it has settled, and every minute; so is one that works.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := &records{}, make(pauses)
		var shown atomic.Pointer[zookeeper.Pause]
		looks := &records{}
		s := &Starter{Starter: &settling{records: r, drain: 3 * time.Second}, Watch: p.watch, Shown: &shown, Log: slog.New(slog.DiscardHandler),
			Look: func(context.Context) { looks.add("look") }}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx, 7) }()
		p <- nil
		time.Sleep(2*time.Minute + 30*time.Second)
		looks.expect(t, "look", "look")
		p <- &zookeeper.Pause{Reason: "rest"}
		time.Sleep(2 * time.Second)
		looks.expect(t)
		time.Sleep(2 * time.Second)
		looks.expect(t, "look")
		time.Sleep(2*time.Minute + time.Second)
		looks.expect(t, "look", "look")
		p <- nil
		time.Sleep(2 * time.Minute)
		looks.expect(t, "look", "look")
		cancel(ending{})
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// ending is a cause that lets a term settle, until its channel is closed.
type ending struct{ cut chan struct{} }

func (ending) Error() string          { return "told to end" }
func (ending) Drain() bool            { return true }
func (e ending) Cut() <-chan struct{} { return e.cut }
