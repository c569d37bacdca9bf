package ha

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// errNoReason stands for a starter that returned nil although nobody asked it to end.
var errNoReason = errors.New("the term ended without a reason")

// Monitor decides for one destination when this node works: it campaigns, runs
// the starter while elected, and gives the destination up only after everything
// of the term has ended.
type Monitor struct {
	// Changed is told of every new role and why the node has it, as State tells.
	// It must not wait. To be set before Run; nil: nobody is told.
	Changed func(role Role, reason string)

	elector Elector
	config  Config
	log     *slog.Logger

	mu       sync.Mutex    // guards what follows, up to the blank line
	starter  Starter       // of the next term
	reloaded chan struct{} // holds a token when starter was replaced since it was taken
	role     Role
	since    time.Time
	reason   string
	refused  string // why the starter that was brought last does not run

	term  *term         // the running or latest one; owned by Run
	pause time.Duration // before the next campaign after a failure; owned by Run
	brief time.Duration // before the next term of the same ownership; owned by Run
}

// NewMonitor returns a Monitor for destination that runs s in its terms.
func NewMonitor(destination string, e Elector, s Starter, c Config, l *slog.Logger) *Monitor {
	return &Monitor{
		elector: e, starter: s, config: c,
		log:      l.With("destination", destination),
		reloaded: make(chan struct{}, 1),
		role:     Stopped, since: time.Now(),
	}
}

// Reload makes s the starter of the next term. A running term drains and the
// next one starts in the same ownership; a pause after a failure ends at once.
func (m *Monitor) Reload(s Starter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starter, m.refused = s, ""
	select {
	case m.reloaded <- struct{}{}:
	default:
	}
}

// take returns the newest starter and forgets that it is new.
func (m *Monitor) take() Starter {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.reloaded:
	default:
	}
	return m.starter
}

// Run campaigns and runs terms until the context ends; it then lets the running
// term drain and gives the destination up. With the cause ErrRemoved it leaves
// no hand-over mark. It returns nil when the context ended, and an error that
// wraps ErrExitTimeout when a term did not stop in time: the process must end
// then, and the running node is left to its session.
func (m *Monitor) Run(ctx context.Context) error {
	if err := m.config.Validate(); err != nil {
		return fmt.Errorf("check election limits: %w", err)
	}
	if err := m.processStart(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		lease, err := m.elector.Campaign(ctx)
		if err != nil {
			m.campaignFailed(ctx, err)
			continue
		}
		if ctx.Err() != nil {
			m.resign(ctx, lease, end{cause: ErrRemoved})
			break
		}
		e := m.own(ctx, lease)
		if e.stuck() {
			m.setState(Failed, e.err.Error())
			return fmt.Errorf("end term (%v): %w", &ending{cause: e.cause}, e.err) //nolint:errorlint // the cause is for people; callers ask for ErrExitTimeout
		}
		if e.failed() {
			m.setState(Failed, e.err.Error())
		} else {
			m.setState(Standby, reasonOf(e)) // before anybody else can be active
		}
		m.resign(ctx, lease, e)
		if e.failed() {
			m.backOff(ctx, e.err)
		}
		m.setState(Standby, reasonOf(e))
	}
	m.processStop(ctx)
	return nil
}

func reasonOf(e end) string {
	switch {
	case e.failed():
		return e.err.Error()
	case e.lost():
		return ErrLost.Error()
	}
	return ""
}

// processStart shows that this node knows the destination.
func (m *Monitor) processStart(ctx context.Context) error {
	m.setState(Standby, "")
	r, ok := m.elector.(Registrar)
	if !ok {
		return nil
	}
	if err := r.Register(ctx); err != nil {
		return fmt.Errorf("register for the destination: %w", err)
	}
	return nil
}

// processStop takes the registration back.
func (m *Monitor) processStop(ctx context.Context) {
	m.setState(Stopped, "")
	r, ok := m.elector.(Registrar)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.ResignTimeout)
	defer cancel()
	if err := r.Unregister(ctx); err != nil {
		m.log.Warn("this node's entry for the destination stays until its session ends", "error", err)
	}
}

// own runs terms in one ownership until it has to be given up. Everything that
// they ran has ended when it returns, unless the end is stuck.
func (m *Monitor) own(ctx context.Context, l Lease) end {
	s := m.take()
	var fallback, rejected Starter // what s replaced by a reload; what s replaced by falling back
	for {
		m.processActiveEnter(ctx, s, l)
		cause := m.wait(ctx)
		err := m.processActiveExit(cause)
		e := m.ended(cause, err)
		switch {
		case e.stuck() || e.lost():
			return e
		case errors.Is(e.cause, ErrReload):
			fallback, rejected, s = s, nil, m.take()
		case e.cause == nil && again(e.err):
			cause := m.pauseOwning(ctx, l)
			if errors.Is(cause, ErrReload) {
				s = m.take()
			} else if cause != nil {
				return end{cause: cause}
			}
		case e.cause == nil && fallback != nil && m.onTrial():
			rejected, s, fallback = s, fallback, nil
			m.keep(s)
			m.refuse(e.err)
		case e.cause == nil && rejected != nil && m.onTrial():
			m.keep(rejected) // neither works: next time the configured one again
			return e
		default:
			return e
		}
	}
}

// againPause is the time between two terms of an ownership, the first of which
// asked for the second. A term that ran so long was not in vain.
const (
	againPause = 100 * time.Millisecond
	againLimit = 5 * time.Second
)

// again reports whether a term ended to begin anew in the same ownership.
func again(err error) bool {
	var a interface{ Again() bool }
	return errors.As(err, &a) && a.Again()
}

// pauseOwning waits before the next term of the same ownership. It returns why
// there must not be one, or ErrReload.
func (m *Monitor) pauseOwning(ctx context.Context, l Lease) error {
	if time.Since(m.term.began) > againLimit {
		m.brief = 0
	}
	m.brief = min(max(2*m.brief, againPause), againLimit)
	timer := time.NewTimer(m.brief - rand.N(m.brief/4))
	defer timer.Stop()
	select {
	case <-timer.C:
	case err := <-l.Lost():
		return err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrRemoved) {
			return ErrRemoved
		}
		return ErrShutdown
	case <-m.reloaded:
		return ErrReload
	}
	select {
	case err := <-l.Lost(): // it came with the timer
		return err
	default:
		return nil
	}
}

// onTrial reports whether the term that has just ended ran so briefly that its
// configuration is suspected.
func (m *Monitor) onTrial() bool { return time.Since(m.term.began) < m.config.ReloadTrial }

// keep makes s the starter of the next term, unless Reload has just brought another.
func (m *Monitor) keep(s Starter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.reloaded) == 0 {
		m.starter = s
	}
}

// processActiveEnter derives the term's context and runs the starter in it.
func (m *Monitor) processActiveEnter(ctx context.Context, s Starter, l Lease) {
	m.term = begin(ctx, s, l)
	m.setState(Active, "")
	m.log.Info("term started", "epoch", l.Epoch())
}

// wait returns why the running term must end; nil when it has ended by itself.
func (m *Monitor) wait(ctx context.Context) error {
	select {
	case <-m.term.ended:
		return nil
	case err := <-m.term.lease.Lost():
		return err
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), ErrRemoved) {
			return ErrRemoved
		}
		return ErrShutdown
	case <-m.reloaded:
		return ErrReload
	}
}

// processActiveExit cancels the term with cause and waits until everything that
// it ran has ended. It returns what the starter returned, or ErrExitTimeout: the
// term may then still write, and the lease must not be given to anybody.
func (m *Monitor) processActiveExit(cause error) error {
	drain := m.config.DrainTimeout
	if d, ok := m.term.starter.(Drainer); ok {
		drain = d.DrainTimeout()
	}
	return m.term.stop(cause, drain, m.config.ExitTimeout)
}

// ended says how the term ended: here, and nowhere else, it is logged.
func (m *Monitor) ended(cause, err error) end {
	if cause == nil && err == nil {
		err = errNoReason
	}
	if m.term.overruled != nil {
		cause = m.term.overruled
	}
	e := end{cause: cause, err: err}
	log := m.log.With("epoch", m.term.lease.Epoch(), "ran", time.Since(m.term.began).Round(time.Millisecond),
		"stopping", time.Since(m.term.asked).Round(time.Millisecond))
	switch {
	case e.stuck():
		log.Error("term did not stop in time; the process must end", "cause", &ending{cause: cause})
	case e.lost():
		log.Warn("term ended: the lease may be lost", "error", err)
	case e.failed() && cause != nil:
		log.Error("term ended, but not cleanly", "cause", cause, "error", err)
	case e.failed():
		log.Error("term failed", "error", err)
	default:
		log.Info("term ended", "cause", cause)
	}
	return e
}

// resign gives the destination up after a term of which nothing runs any more.
func (m *Monitor) resign(ctx context.Context, l Lease, e end) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.config.ResignTimeout)
	defer cancel()
	if err := l.Resign(ctx, e.handsOver()); err != nil {
		m.log.Warn("the running node could not be deleted yet", "error", err)
	}
}

// campaignFailed handles an elector that cannot even wait.
func (m *Monitor) campaignFailed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	err = fmt.Errorf("campaign: %w", err)
	m.log.Error("this node cannot be elected", "error", err)
	m.term = nil
	m.backOff(ctx, err)
	m.setState(Standby, err.Error()) // the next attempt may wait for its turn for ever
}

// backOff pauses after a failure: RetryMin, doubled up to RetryMax, plus up to a
// quarter so that destinations that failed together do not return together.
func (m *Monitor) backOff(ctx context.Context, reason error) {
	m.setState(Failed, reason.Error())
	healthy := m.term != nil && time.Since(m.term.began) >= m.config.Healthy
	if m.pause == 0 || healthy {
		m.pause = m.config.RetryMin
	} else {
		m.pause = min(2*m.pause, m.config.RetryMax)
	}
	timer := time.NewTimer(m.pause + rand.N(m.pause/4+1))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-m.reloaded:
		m.pause = 0
	}
}
