package ha

import (
	"context"
	"errors"
	"sync"
	"time"
)

// term is one run of a starter inside an ownership.
type term struct {
	starter Starter
	lease   Lease
	began   time.Time
	asked   time.Time // when it was told to end
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the starter has returned
	err     error         // what it returned; read after ended

	// overruled is what came from the lease while the term was being stopped
	// and weighs more than the cause it was stopped for. It is read after stop.
	overruled error
}

// begin runs s in a context of its own: the node's context only asks the Monitor
// to end the term, it must not end it behind the Monitor's back.
func begin(ctx context.Context, s Starter, l Lease) *term {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &term{starter: s, lease: l, began: time.Now(), cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(t.ended)
		t.err = s.Run(ctx, l.Epoch())
	}()
	return t
}

// stop cancels the term with cause and waits until its starter has returned,
// for drain if the cause lets it settle and for exit otherwise. A lease that
// goes while the term drains shortens the wait to exit.
func (t *term) stop(cause error, drain, exit time.Duration) error {
	e := &ending{cause: cause, cut: make(chan struct{})}
	t.asked = time.Now()
	t.cancel(e)
	limit := exit
	if e.Drain() {
		limit = drain + exit
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-t.ended:
			select {
			case err := <-t.lease.Lost(): // at the same moment: another term must not begin
				t.hear(e, err)
			default:
			}
			return t.err
		case err := <-t.lease.Lost():
			if drained := e.Drain(); t.hear(e, err) && drained {
				timer.Reset(exit)
			}
		case <-timer.C:
			select {
			case <-t.ended:
				return t.err
			default:
				return ErrExitTimeout
			}
		}
	}
}

// hear takes what comes from the lease while the term is being stopped, or has
// just ended by itself, and reports whether the lease is lost.
func (t *term) hear(e *ending, err error) (lost bool) {
	switch {
	case errors.Is(err, ErrLost):
		t.overruled = ErrLost
		e.lose()
		return true
	case t.overruled == nil && (e.cause == nil || errors.Is(e.cause, ErrReload)):
		t.overruled = err // the ownership ends too
	}
	return false
}

// ending is the cause with which a term's context is cancelled: why the term
// ends, and, should the lease go while it drains, the order to drop the rest.
type ending struct {
	cause error // nil when the starter ended by itself
	once  sync.Once
	cut   chan struct{}
}

func (e *ending) Error() string {
	if e.cause == nil {
		return "the term has ended"
	}
	return e.cause.Error()
}

func (e *ending) Unwrap() error { return e.cause }

// Drain reports whether work under way may settle.
func (e *ending) Drain() bool {
	select {
	case <-e.cut:
		return false
	default:
		return draining(e.cause)
	}
}

// Cut is closed when the lease is lost while the term drains.
func (e *ending) Cut() <-chan struct{} { return e.cut }

func (e *ending) lose() { e.once.Do(func() { close(e.cut) }) }

// end is how a term ended.
type end struct {
	cause error // from outside; nil when the starter ended by itself
	err   error // what the starter returned, or ErrExitTimeout
}

// stuck says that the term may still write.
func (e end) stuck() bool { return errors.Is(e.err, ErrExitTimeout) }

// lost says that the lease went.
func (e end) lost() bool { return errors.Is(e.cause, ErrLost) }

// failed says that the term ended for a reason of its own.
func (e end) failed() bool { return !e.lost() && e.err != nil }

// handsOver says that everything was drained, and that the next owner may start
// at once. A removed destination is not handed over: a node that has not seen
// the removal yet would take it for a moment.
func (e end) handsOver() bool {
	return e.err == nil && (errors.Is(e.cause, ErrShutdown) || errors.Is(e.cause, ErrReleased))
}
