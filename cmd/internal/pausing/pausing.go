// Package pausing lets a destination rest without giving it up.
package pausing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter"
)

// Starter is a starter that keeps its term, and does not work, while the
// destination is paused.
type Starter struct {
	ha.Starter
	// Watch sends the pause, nil where there is none, at once and at each change,
	// and returns nil when the context has ended. That it cannot be told ends the
	// term. Nil: there are no pauses.
	Watch func(context.Context, chan<- *zookeeper.Pause) error
	Shown *atomic.Pointer[zookeeper.Pause] // takes the pause of the running term, for the page
	Drain time.Duration                    // how long the starter may take to settle
	// Look is called every minute while the starter runs or rests, and when it has
	// settled for a pause. Nil: there is nothing to look at.
	Look func(context.Context)
	Log  *slog.Logger

	began chan struct{} // takes that a pause has begun and the starter has settled
	blind chan error    // takes why Watch ended early
}

// lookEvery is the time between two looks.
const lookEvery = time.Minute

// DrainTimeout is how long a term may take to settle.
func (p *Starter) DrainTimeout() time.Duration { return p.Drain }

// Run runs the starter whenever there is no pause.
func (p *Starter) Run(ctx context.Context, epoch int64) error {
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	p.began, p.blind = make(chan struct{}, 1), make(chan error, 1)
	watcher.Go(func() { p.look(watching) })
	defer watcher.Wait()
	defer stop()
	if p.Watch == nil {
		return p.Starter.Run(ctx, epoch)
	}
	said := make(chan *zookeeper.Pause)
	watcher.Go(func() {
		if err := p.Watch(watching, said); err != nil {
			p.blind <- err
		}
	})
	defer p.Shown.Store(nil)
	var pause *zookeeper.Pause
	for known := false; ; {
		for !known || pause != nil {
			if pause != nil {
				select {
				case p.began <- struct{}{}:
				default:
				}
			}
			select {
			case pause = <-said:
				known = true
				p.show(pause)
			case err := <-p.blind:
				return err
			case <-ctx.Done():
				return nil
			}
		}
		var err error
		if pause, err = p.work(ctx, epoch, said); err != nil || pause == nil {
			return err
		}
	}
}

func (p *Starter) show(pause *zookeeper.Pause) {
	if was := p.Shown.Swap(pause); pause != nil {
		p.Log.Info("destination is paused: nothing is read until canal-relay resume", "since", pause.Since, "reason", pause.Reason)
	} else if was != nil {
		p.Log.Info("destination is resumed")
	}
}

// look looks now and then.
func (p *Starter) look(ctx context.Context) {
	for p.Look != nil {
		select {
		case <-p.began:
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return
		}
		p.Look(ctx)
	}
}

// work runs the starter until it ends, or until a pause, which it returns, has
// let it settle. So does an error of Watch.
func (p *Starter) work(ctx context.Context, epoch int64, said <-chan *zookeeper.Pause) (*zookeeper.Pause, error) {
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- p.Starter.Run(working, epoch) }()
	for {
		select {
		case err := <-ended:
			return nil, err
		case pause := <-said:
			if pause == nil {
				continue
			}
			p.show(pause)
			err := settle(ctx, ended, cancel)
			if errors.Is(err, mqstarter.ErrUnsettled) && ctx.Err() == nil {
				p.Log.Warn("paused, but what was sent last will be sent again", "error", err)
				err = nil
			}
			return pause, err
		case err := <-p.blind:
			return nil, errors.Join(err, settle(ctx, ended, cancel))
		}
	}
}

// settle tells a starter to pause and waits for its end. Should its term be cut
// short, so is the pause's settling.
func settle(ctx context.Context, ended <-chan error, cancel context.CancelCauseFunc) error {
	c := &pausing{cut: make(chan struct{})}
	cancel(c)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	var term interface {
		Drain() bool
		Cut() <-chan struct{}
	}
	if errors.As(context.Cause(ctx), &term) && term.Drain() {
		select {
		case err := <-ended:
			return err
		case <-term.Cut():
		}
	}
	c.lose()
	return <-ended
}

// pausing is the cause with which a starter ends for a pause.
type pausing struct {
	once sync.Once
	cut  chan struct{}
}

// Error is why the term rests.
func (c *pausing) Error() string { return "the destination is paused" }

// Drain reports whether work under way may settle.
func (c *pausing) Drain() bool {
	select {
	case <-c.cut:
		return false
	default:
		return true
	}
}

// Cut is closed when nothing more may be written.
func (c *pausing) Cut() <-chan struct{} { return c.cut }

func (c *pausing) lose() { c.once.Do(func() { close(c.cut) }) }
