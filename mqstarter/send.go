package mqstarter

import "fmt"

// send hands parcels to the producer in the order of the line. It ends with
// the line, with the first parcel that could not be built, or when a message
// was refused for good: franz-go itself would go on with later messages.
func (t *term) send() {
	defer close(t.sent)
	beat := newHeartbeat(t)
	defer beat.stop()
	for {
		select {
		case p, ok := <-t.line:
			if !ok || !t.sendOne(p, beat) {
				return
			}
		case <-beat.due:
			t.beat(beat)
		}
	}
}

// sendOne sends a parcel; it returns false when nothing is to follow.
func (t *term) sendOne(p *parcel, beat *heartbeat) bool {
	select {
	case <-p.built:
	case <-t.work.Done():
		return false
	}
	if p.err != nil {
		t.fail(p.err)
		return false
	}
	alone := p.batch.Alone
	if alone && !t.land() || t.refused.Load() || t.work.Err() != nil {
		return false
	}
	if t.repeats != nil {
		t.repeats.Drop(t.work, &p.Parcel, p.batch.ID)
	}
	beat.note(p.Messages)
	t.sent <- p
	t.flying.Add(1)
	t.producer.Send(t.work, &p.Parcel, func(err error) { t.acknowledge(p, err) })
	return !alone || t.land()
}

// land waits until everything sent is acknowledged; it returns false when that
// will not be.
func (t *term) land() bool {
	for t.flying.Load() > 0 {
		select {
		case <-t.landed:
		case <-t.work.Done():
			return false
		}
	}
	return !t.refused.Load()
}

// acknowledge notes what became of a parcel. It is called by the producer on a
// goroutine that must not wait: neither channel nor latch ever blocks.
func (t *term) acknowledge(p *parcel, err error) {
	if err != nil {
		p.err = err
		t.refuse(fmt.Errorf("send changes: %w", err))
	}
	p.acked <- struct{}{}
	if t.flying.Add(-1) == 0 {
		select {
		case t.landed <- struct{}{}:
		default:
		}
	}
}

// refuse ends the term because a message was refused for good.
func (t *term) refuse(err error) {
	t.refused.Store(true)
	if t.work.Err() == nil {
		t.fail(err)
	}
}
