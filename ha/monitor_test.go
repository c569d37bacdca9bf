package ha

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an election with one candidate, and a log of everything in order.
type world struct {
	mu    sync.Mutex
	lines []string
	lease *fakeLease
	epoch int64
	began time.Time

	resigning func() // if not nil, called while a lease is given back
}

func (w *world) add(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%4.1fs ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// said returns the log without its times.
func (w *world) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, l := range w.lines {
		lines = append(lines, l[slices.Index([]byte(l), 's')+2:])
	}
	return lines
}

func (w *world) Campaign(ctx context.Context) (Lease, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.mu.Lock()
	w.epoch++
	w.lease = &fakeLease{w: w, epoch: w.epoch, lost: make(chan error, 2)}
	w.mu.Unlock()
	w.add("elected %d", w.epoch)
	return w.lease, nil
}

func (w *world) Register(context.Context) error   { w.add("register"); return nil }
func (w *world) Unregister(context.Context) error { w.add("unregister"); return nil }

type fakeLease struct {
	w     *world
	epoch int64
	lost  chan error
}

func (l *fakeLease) Epoch() int64       { return l.epoch }
func (l *fakeLease) Lost() <-chan error { return l.lost }
func (l *fakeLease) Resign(_ context.Context, handover bool) error {
	l.w.add("resign %d handover=%v", l.epoch, handover)
	l.w.mu.Lock()
	resigning := l.w.resigning
	l.w.mu.Unlock()
	if resigning != nil {
		resigning()
	}
	return nil
}

// term is a starter whose end is scripted.
type fakeStarter struct {
	w     *world
	name  string
	after time.Duration // fails by itself after this long, if err is set
	err   error
	drain time.Duration // needs this long to drain
	drop  time.Duration // needs this long to drop everything
	leave error         // what it returns when it was told to end
	later error         // from the second run on: err, at once
	runs  int
}

func (s *fakeStarter) Run(ctx context.Context, epoch int64) error {
	s.w.add("%s starts %d", s.name, epoch)
	if s.runs++; s.runs > 1 && s.later != nil {
		s.err = s.later
	}
	var failed <-chan time.Time
	if s.err != nil {
		failed = time.After(s.after)
	}
	select {
	case <-failed:
		s.w.add("%s fails", s.name)
		return s.err
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	if draining(cause) {
		var c interface{ Cut() <-chan struct{} }
		errors.As(cause, &c)
		select {
		case <-time.After(s.drain):
			s.w.add("%s drained: %v", s.name, cause)
			return s.leave
		case <-c.Cut():
			s.w.add("%s cut", s.name)
		}
	}
	time.Sleep(s.drop)
	s.w.add("%s dropped: %v", s.name, cause)
	return s.leave
}

// run runs a Monitor with s until f returns, then cancels its context with the
// cause that f returned.
func run(t *testing.T, starter func(w *world) Starter, f func(w *world, m *Monitor) error) (*world, error) {
	t.Helper()
	var w *world
	var err error
	synctest.Test(t, func(t *testing.T) {
		w = &world{began: time.Now()}
		m := NewMonitor("example", w, starter(w), DefaultConfig(), slog.New(slog.NewTextHandler(io.Discard, nil)))
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		cancel(f(w, m))
		err = <-done
		time.Sleep(time.Hour) // whatever was left behind ends
	})
	return w, err
}

func expect(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := w.said(); !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func wait(d time.Duration) { time.Sleep(d); synctest.Wait() }

// The promise of this package: nothing of a term runs any more when the
// destination is given up, and everything was drained when the mark is left.
func TestExitBeforeResign(t *testing.T) {
	w, err := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s", drain: 3 * time.Second} },
		func(w *world, m *Monitor) error { wait(time.Second); return nil })
	if err != nil {
		t.Error(err)
	}
	expect(t, w, "register", "elected 1", "s starts 1", "s drained: the node is shutting down", "resign 1 handover=true", "unregister")
}

// Another node may be active before Resign returns: this one must not say that it is any more.
func TestNobodyIsActiveWhoResigns(t *testing.T) {
	for want, why := range map[Role]error{Standby: ErrReleased, Failed: errors.New("broken")} {
		var role Role
		var reason string
		_, err := run(t, func(w *world) Starter {
			s := &fakeStarter{w: w, name: "s"}
			if want == Failed {
				s.err, s.after = why, time.Second/2
			}
			return s
		}, func(w *world, m *Monitor) error {
			w.mu.Lock()
			w.resigning = func() {
				if role == "" { // the first time
					role, _, reason = m.State()
				}
			}
			w.mu.Unlock()
			if want == Standby {
				w.lease.lost <- why
			}
			wait(time.Second)
			return nil
		})
		if err != nil || role != want || (reason == "broken") != (want == Failed) {
			t.Errorf("who resigns is %s, %q, want %s; %v", role, reason, want, err)
		}
	}
}

func TestRemovedDestinationIsNotHandedOver(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s"} },
		func(w *world, m *Monitor) error { return ErrRemoved })
	expect(t, w, "register", "elected 1", "s starts 1", "s drained: the destination was removed", "resign 1 handover=false", "unregister")
}

func TestDrainThatFailsIsNotHandedOver(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s", leave: errors.New("kafka")} },
		func(w *world, m *Monitor) error { return nil })
	expect(t, w, "register", "elected 1", "s starts 1", "s drained: the node is shutting down", "resign 1 handover=false", "unregister")
}

func TestLostLeaseDropsAndCampaignsAtOnce(t *testing.T) {
	w, _ := run(t, func(w *world) Starter {
		return &fakeStarter{w: w, name: "s", drain: time.Second, drop: time.Second / 2}
	},
		func(w *world, m *Monitor) error {
			wait(time.Second)
			w.lease.lost <- ErrLost
			wait(time.Second)
			return nil
		})
	expect(t, w, "register", "elected 1", "s starts 1", "s dropped: the lease may be lost", "resign 1 handover=false",
		"elected 2", "s starts 2", "s drained: the node is shutting down", "resign 2 handover=true", "unregister")
}

func TestReleaseDrainsAndHandsOver(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s"} },
		func(w *world, m *Monitor) error {
			w.lease.lost <- ErrReleased
			wait(time.Second)
			return ErrRemoved
		})
	expect(t, w, "register", "elected 1", "s starts 1", "s drained: release was requested", "resign 1 handover=true",
		"elected 2", "s starts 2", "s drained: the destination was removed", "resign 2 handover=false", "unregister")
}

// The lease goes while the term drains: the drain is cut short, and there is no mark.
func TestLeaseLostWhileDraining(t *testing.T) {
	w, err := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s", drain: 4 * time.Second} },
		func(w *world, m *Monitor) error {
			time.AfterFunc(time.Second, func() { w.lease.lost <- ErrLost })
			return nil
		})
	if err != nil {
		t.Error(err)
	}
	expect(t, w, "register", "elected 1", "s starts 1", "s cut", "s dropped: the node is shutting down", "resign 1 handover=false", "unregister")
}

func TestStuckTermIsNotResigned(t *testing.T) {
	for name, end := range map[string]func(w *world) error{
		"lost":     func(w *world) error { w.lease.lost <- ErrLost; wait(1500 * time.Millisecond); return nil },
		"shutdown": func(w *world) error { return nil },
		"lost while draining": func(w *world) error {
			time.AfterFunc(time.Second, func() { w.lease.lost <- ErrLost })
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := run(t, func(w *world) Starter {
				return &fakeStarter{w: w, name: "s", drain: time.Minute, drop: time.Minute}
			}, func(w *world, m *Monitor) error { return end(w) })
			if !errors.Is(err, ErrExitTimeout) {
				t.Errorf("Run returned %v, want ErrExitTimeout", err)
			}
			for _, line := range w.said() {
				if line == "resign 1 handover=false" || line == "resign 1 handover=true" {
					t.Errorf("a term that may still write was resigned: %q", w.said())
				}
			}
		})
	}
}

func TestExitLimits(t *testing.T) {
	took := func(cause func(w *world) error) (d time.Duration) {
		run(t, func(w *world) Starter {
			return &fakeStarter{w: w, name: "s", drain: time.Hour / 2, drop: time.Hour / 2}
		},
			func(w *world, m *Monitor) error {
				began := time.Now()
				go func() {
					for {
						if role, _, _ := m.State(); role == Failed {
							d = time.Since(began)
							return
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
				return cause(w)
			})
		return d.Round(100 * time.Millisecond)
	}
	if d := took(func(w *world) error { w.lease.lost <- ErrLost; wait(2 * time.Second); return nil }); d != time.Second {
		t.Errorf("after a lost lease the Monitor waited %v, want 1s", d)
	}
	if d := took(func(w *world) error { return nil }); d != 6*time.Second {
		t.Errorf("at shutdown the Monitor waited %v, want 6s", d)
	}
}

func TestFailedTermBacksOffWithoutTheMark(t *testing.T) {
	purged := errors.New("binlog purged")
	var pauses []time.Duration
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s", err: purged} },
		func(w *world, m *Monitor) error {
			last := int64(1)
			for began := time.Now(); last < 8; time.Sleep(10 * time.Millisecond) {
				w.mu.Lock()
				epoch := w.epoch
				w.mu.Unlock()
				if epoch > last {
					last = epoch
					pauses = append(pauses, time.Since(began))
					began = time.Now()
				} else if role, _, reason := m.State(); role != Failed || reason != purged.Error() {
					t.Fatalf("state is %s (%q), want failed with the reason", role, reason)
				}
			}
			return nil
		})
	for i, want := range []time.Duration{5, 10, 20, 40, 60, 60, 60} {
		want *= time.Second
		if pauses[i] < want || pauses[i] > want*5/4+20*time.Millisecond {
			t.Errorf("pause %d was %v, want %v and up to a quarter more", i, pauses[i], want)
		}
	}
	if got := w.said()[:6]; !slices.Equal(got, []string{"register", "elected 1", "s starts 1", "s fails", "resign 1 handover=false", "elected 2"}) {
		t.Errorf("got %q", got)
	}
}

func TestHealthyTermResetsThePause(t *testing.T) {
	var second time.Duration
	run(t, func(w *world) Starter {
		return &fakeStarter{w: w, name: "s", err: errors.New("x"), after: 2 * time.Minute}
	}, func(w *world, m *Monitor) error {
		wait(4*time.Minute + 20*time.Second) // two terms, and the second pause
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.epoch == 3 {
			second = 1
		}
		return nil
	})
	if second == 0 {
		t.Error("the pause after a healthy term did not start over")
	}
}

func TestReloadKeepsTheOwnership(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "old", drain: time.Second} },
		func(w *world, m *Monitor) error {
			wait(time.Second)
			m.Reload(&fakeStarter{w: w, name: "new"})
			wait(time.Minute)
			return nil
		})
	expect(t, w, "register", "elected 1", "old starts 1", "old drained: the destination was reconfigured",
		"new starts 1", "new drained: the node is shutting down", "resign 1 handover=true", "unregister")
}

func TestReloadFallsBack(t *testing.T) {
	bad := errors.New("no such topic")
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "old"} },
		func(w *world, m *Monitor) error {
			wait(time.Second)
			m.Reload(&fakeStarter{w: w, name: "new", err: bad, after: time.Second})
			wait(time.Minute)
			if role, _, _ := m.State(); role != Active || m.Refused() != bad.Error() {
				t.Errorf("role is %s, refused %q, want active with the old configuration because of %q", role, m.Refused(), bad)
			}
			return nil
		})
	expect(t, w, "register", "elected 1", "old starts 1", "old drained: the destination was reconfigured", "new starts 1",
		"new fails", "old starts 1", "old drained: the node is shutting down", "resign 1 handover=true", "unregister")
}

// If the old configuration does not work any more either, the destination is
// given up, and the next term is the configured one's.
func TestReloadWhenNeitherWorks(t *testing.T) {
	bad := errors.New("kafka is gone")
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "old", later: bad} },
		func(w *world, m *Monitor) error {
			m.Reload(&fakeStarter{w: w, name: "new", err: bad})
			wait(4 * time.Second)
			return nil
		})
	expect(t, w, "register", "elected 1", "old starts 1", "old drained: the destination was reconfigured", "new starts 1",
		"new fails", "old starts 1", "old fails", "resign 1 handover=false", "unregister")
}

func TestReloadEndsAPause(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "bad", err: errors.New("x")} },
		func(w *world, m *Monitor) error {
			wait(time.Second)
			m.Reload(&fakeStarter{w: w, name: "good"})
			wait(time.Second)
			return nil
		})
	expect(t, w, "register", "elected 1", "bad starts 1", "bad fails", "resign 1 handover=false",
		"elected 2", "good starts 2", "good drained: the node is shutting down", "resign 2 handover=true", "unregister")
}

func TestReleaseDuringReloadEndsTheOwnership(t *testing.T) {
	w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "old", drain: 2 * time.Second} },
		func(w *world, m *Monitor) error {
			m.Reload(&fakeStarter{w: w, name: "new"})
			wait(time.Second)
			w.lease.lost <- ErrReleased
			wait(5 * time.Second)
			return nil
		})
	expect(t, w, "register", "elected 1", "old starts 1", "old drained: the destination was reconfigured", "resign 1 handover=true",
		"elected 2", "new starts 2", "new drained: the node is shutting down", "resign 2 handover=true", "unregister")
}

func TestStaticElectionNeverLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{began: time.Now()}
		m := NewMonitor("example", Static{}, &fakeStarter{w: w, name: "s"}, DefaultConfig(), slog.New(slog.NewTextHandler(io.Discard, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		wait(time.Hour)
		if role, since, _ := m.State(); role != Active || time.Since(since) != time.Hour {
			t.Errorf("role is %s since %v ago, want active for an hour", role, time.Since(since))
		}
		if err := (Static{}).Release(ctx); !errors.Is(err, ErrStatic) {
			t.Errorf("Release returned %v, want ErrStatic", err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		expect(t, w, "s starts 0", "s drained: the node is shutting down")
	})
}

func TestConfigRelations(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	if got := DefaultConfig().For(9 * time.Second).ExitTimeout; got != 2*time.Second {
		t.Errorf("exit limit for a session of 9s is %v, want 2s", got)
	}
	for name, c := range map[string]Config{
		"too short a session": DefaultConfig().For(3 * time.Second),
		"exit limit too long": func() Config { c := DefaultConfig(); c.ExitTimeout++; return c }(),
		"negative grace":      func() Config { c := DefaultConfig(); c.Grace = -1; return c }(),
		"no retry pause":      func() Config { c := DefaultConfig(); c.RetryMin = 0; return c }(),
	} {
		if c.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// retried is a failure that the next term of the same ownership may not meet.
type retried struct{ error }

func (retried) Again() bool { return true }

// TestAgainKeepsTheOwnership: a term that asks for another one gets it in the same ownership, after pauses that grow for as long
// as terms are short.
func TestAgainKeepsTheOwnership(t *testing.T) {
	fenced := retried{errors.New("fenced")}
	var s *fakeStarter
	w, _ := run(t, func(w *world) Starter {
		s = &fakeStarter{w: w, name: "s", err: fmt.Errorf("commit: %w", fenced)}
		return s
	}, func(w *world, m *Monitor) error {
		wait(20 * time.Second)
		w.mu.Lock()
		runs, epoch := s.runs, w.epoch
		w.mu.Unlock()
		if epoch != 1 || runs < 7 || runs > 11 { // 0.1, 0.2, … 3.2, 5, 5 s, or up to a quarter less
			t.Errorf("%d terms in %d ownerships", runs, epoch)
		}
		w.mu.Lock()
		s.after = 10 * time.Second // long enough not to be in vain
		w.mu.Unlock()
		wait(50 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if more := s.runs - runs; more < 4 || more > 6 {
			t.Errorf("%d terms of 10 s within 50 s: the pauses did not start over", more)
		}
		return nil
	})
	if got := w.said(); got[len(got)-2] != "resign 1 handover=true" {
		t.Errorf("got %q", got)
	}
}

// TestAgainEndsWithTheOwnership: while the next term is waited for, a lease that goes, an order to let go, and a term that fails
// for another reason are heard.
func TestAgainEndsWithTheOwnership(t *testing.T) {
	fenced := retried{errors.New("fenced")}
	for name, tt := range map[string]struct {
		meanwhile func(w *world, m *Monitor)
		later     error
		want      []string
	}{
		"lost": {func(w *world, _ *Monitor) { w.lease.lost <- ErrLost }, nil, []string{"resign 1 handover=false", "elected 2"}},
		"released": {func(w *world, _ *Monitor) { w.lease.lost <- ErrReleased }, nil,
			[]string{"resign 1 handover=true", "elected 2"}},
		"reloaded": {func(w *world, m *Monitor) { m.Reload(&fakeStarter{w: w, name: "new"}) }, nil, []string{"new starts 1"}},
		"failed":   {func(*world, *Monitor) {}, errors.New("binlog purged"), []string{"s starts 1", "s fails", "resign 1 handover=false"}},
	} {
		w, _ := run(t, func(w *world) Starter { return &fakeStarter{w: w, name: "s", err: fenced, later: tt.later} },
			func(w *world, m *Monitor) error {
				tt.meanwhile(w, m)
				wait(4 * time.Second)
				return nil
			})
		want := append([]string{"register", "elected 1", "s starts 1", "s fails"}, tt.want...)
		if got := w.said(); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, want)
		}
	}
}
