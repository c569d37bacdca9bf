package mqstarter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/repeats"
	"github.com/canal-relay/canal-relay/mqstarter/target"
)

const (
	lastSave     = 500 * time.Millisecond // for saving the position, after the drain timeout
	closeTimeout = 500 * time.Millisecond // of a producer that has nothing left to do
)

// term is one run of a Starter. Its goroutines are the source's, the builders,
// the sender, the committer, and the watcher, which ends the others.
//
// Three contexts nest, each with the reason why it ended:
//
//	hold   the right to write: ends at once when the lease may be gone
//	work   sending and waiting for acknowledgements: ends with hold, or when
//	       draining took too long
//	read   taking batches: ends with work, or when the term is to end in order
//
// A context that ends with its parent takes the parent's reason only if it had
// none itself, so that the reason of read is the first of all.
type term struct {
	*Starter
	source   Source
	producer Producer
	epoch    int64
	repeats  *repeats.Filter // the sender's; nil when nothing is taken out

	hold, work, read   context.Context
	drop, giveUp, stop context.CancelCauseFunc

	taking   chan struct{} // a lock, held from Source.Next until the batch has its place in line
	builders atomic.Int32  // that have not ended; the last one closes line
	slots    chan struct{} // one token for each parcel from before Next until Release
	line     chan *parcel  // in the source's order, built or being built
	sent     chan *parcel  // in the same order, handed to the producer
	free     freeList

	flying  atomic.Int64          // parcels that are with the producer
	landed  chan struct{}         // holds a token when flying came down to 0
	refused atomic.Bool           // the latch: a message failed for good, nothing more is sent
	failure atomic.Pointer[error] // the first that is the term's own
	settled chan struct{}         // closed when the committer has ended
	commit  committer             // the committer's own
}

// errEnd is why a term ends that has taken all there is in files.
var errEnd = errors.New("the files have ended")

func newTerm(s *Starter, epoch int64, source Source, producer Producer) *term {
	return &term{
		Starter: s, source: source, producer: producer, epoch: epoch,
		taking:  make(chan struct{}, 1),
		slots:   make(chan struct{}, s.config.Window),
		line:    make(chan *parcel, s.config.Window),
		sent:    make(chan *parcel, s.config.Window),
		settled: make(chan struct{}),
		landed:  make(chan struct{}, 1),
	}
}

func (t *term) run(ctx context.Context) error {
	t.hold, t.drop = context.WithCancelCause(context.WithoutCancel(ctx))
	t.work, t.giveUp = context.WithCancelCause(t.hold)
	t.read, t.stop = context.WithCancelCause(t.work)
	defer t.drop(nil)

	var all sync.WaitGroup
	all.Go(func() { _ = t.source.Run(t.read) }) // Next tells why it ended, behind the last batch
	t.builders.Store(int32(t.config.Builders))
	for range t.config.Builders {
		all.Go(t.build)
	}
	all.Go(t.send)
	all.Go(t.settle)
	all.Go(func() { t.watch(ctx) })
	all.Wait()
	return t.outcome(ctx)
}

// targets is what the builders find topics and partitions by.
func (t *term) targets() target.Config {
	c := target.Config{Router: t.config.Router, Limit: t.config.Limit, Fold: t.config.Packets != nil, Column: t.config.Message.Column, Warn: t.once,
		Homeless: func() { t.metrics.Unusual("statement_without_topic") }}
	if p, ok := t.producer.(Limiter); ok {
		c.TopicLimit = p.Limit
	}
	if p, ok := t.producer.(Counter); ok {
		c.Partitions = p.Partitions
	}
	return c
}

// fail ends the term in good order, for a reason of its own.
func (t *term) fail(err error) {
	t.failure.CompareAndSwap(nil, &err)
	t.stop(err)
}

// outcome is what Run returns. That the files came to their end, or that the
// term was asked to drain, does not hide what failed after that.
func (t *term) outcome(ctx context.Context) error {
	reason := context.Cause(t.read)
	if failure := t.failure.Load(); failure != nil {
		reason = *failure
	}
	switch {
	case ctx.Err() != nil && drains(context.Cause(ctx)) && !t.commit.clean:
		return fmt.Errorf("%w: %w", ErrUnsettled, reason)
	case !errors.Is(reason, errEnd):
		return reason
	case !t.commit.clean:
		return ErrUnsettled
	}
	return io.EOF
}

// watch ends the term: at once when the context ends without leave to drain,
// and otherwise when everything has settled or the drain timeout is over. It
// closes the producer before anything else has been joined, since a lost lease
// means that nothing may be written any more.
func (t *term) watch(ctx context.Context) {
	defer t.close()
	ended, stopped := ctx.Done(), t.read.Done()
	var cut <-chan struct{}
	var late, over <-chan time.Time
	for {
		select {
		case <-ended:
			cause := context.Cause(ctx)
			if !drains(cause) {
				t.drop(cause)
				return
			}
			t.stop(cause)
			ended, cut, late = nil, cuts(cause), time.After(t.config.DrainTimeout)
		case <-cut:
			t.drop(context.Cause(ctx))
			return
		case <-stopped:
			stopped = nil
			// The end of the files is not a reason to hurry.
			if late == nil && !errors.Is(context.Cause(t.read), errEnd) {
				late = time.After(t.config.DrainTimeout)
			}
		case <-late:
			t.giveUp(ErrUnsettled)
			late, over = nil, time.After(lastSave)
		case <-over:
			t.drop(ErrUnsettled)
			return
		case <-t.settled:
			return
		}
	}
}

func (t *term) close() {
	ctx, cancel := context.WithTimeout(t.hold, closeTimeout)
	defer cancel()
	if err := t.producer.Close(ctx); err != nil && t.hold.Err() == nil {
		t.fail(fmt.Errorf("close producer: %w", err))
	}
}

// drains reports whether a term that ends for this cause may let its window
// settle.
func drains(cause error) bool {
	var d interface{ Drain() bool }
	return errors.As(cause, &d) && d.Drain()
}

// cuts returns the channel that is closed when a term that may drain must drop
// everything after all; nil if its cause has none.
func cuts(cause error) <-chan struct{} {
	var c interface{ Cut() <-chan struct{} }
	if errors.As(cause, &c) {
		return c.Cut()
	}
	return nil
}
