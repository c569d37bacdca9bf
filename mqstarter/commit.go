package mqstarter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
)

const (
	saveTimeout = 2 * time.Second       // of one attempt to save the position
	saveAgain   = 50 * time.Millisecond // between two of the last ones
)

// committer is what the committer's goroutine owns.
type committer struct {
	position position.Position // end of the last transaction that is acknowledged with all before it
	moved    bool              // since it was saved
	known    bool              // a position under these settings is stored, or was tried to be
	failing  bool              // the last attempt to save failed
	busy     bool              // something settled since the last tick
	clean    bool              // at the end: all that was sent is acknowledged, and saved
}

// settle moves the position over the longest prefix of parcels that are
// acknowledged, gives their batches back, and saves the position now and then.
// It ends when there is no more to settle. When the first parcel cannot be, what
// was acknowledged before it is saved, unless the lease may be gone.
func (t *term) settle() {
	defer close(t.settled)
	tick := time.NewTicker(t.config.FlushPeriod)
	defer tick.Stop()
	var head *parcel
	for {
		sent, acked := t.sent, chan struct{}(nil)
		if head != nil {
			sent, acked = nil, head.acked
		}
		select {
		case p, ok := <-sent:
			if !ok {
				for t.save(); t.commit.failing && t.work.Err() == nil; t.save() {
					time.Sleep(saveAgain) // who is away may be back before the drain timeout
				}
				t.commit.clean = !t.commit.moved || t.cursor == nil
				return
			}
			head = p
		case <-acked:
			if head.err != nil {
				t.save()
				t.rest()
				return
			}
			t.release(head)
			head = nil
			if !t.commit.known && t.commit.moved {
				t.commit.known = true
				t.save() // at once: with it, the next term can tell what readers have
			}
		case <-tick.C:
			t.save()
			if !t.commit.busy {
				t.free.drop()
			}
			t.commit.busy = false
		case <-t.work.Done():
			t.save()
			return
		}
	}
}

// rest waits, behind a parcel that was refused, for what the producer has been
// given besides: a request still under way when the running node is given up
// might reach Kafka after the next owner's.
func (t *term) rest() {
	for p := range t.sent {
		select {
		case <-p.acked:
		case <-t.work.Done():
			return
		}
	}
}

// release takes the oldest parcel out of the window.
func (t *term) release(p *parcel) {
	c := &t.commit
	c.busy = true
	if !p.Resume.IsZero() {
		c.position, c.moved = p.Resume, true
		if p.skipped && t.cursor != nil {
			t.cursor.Skipped()
		}
	}
	t.metrics.Acked(p.rows, p.bytes, p.changes, p.first)
	t.unload(p)
	<-t.slots
}

// save stores the position if it moved. A failure is left to the next period,
// but for a fenced one, which ends the term.
func (t *term) save() {
	c := &t.commit
	if !c.moved || t.cursor == nil || t.hold.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.hold, saveTimeout)
	defer cancel()
	err := t.cursor.Save(ctx, c.position)
	switch {
	case err == nil:
		c.moved, c.failing = false, false
		t.metrics.Saved(c.position.Time)
	case errors.Is(err, position.ErrFenced):
		t.fail(fmt.Errorf("save cursor: %w", err))
		t.drop(err)
	case !c.failing && t.hold.Err() == nil:
		c.failing = true
		t.log.Warn("position not saved, trying again", "err", err, "file", c.position.File, "offset", c.position.Offset)
	}
}
