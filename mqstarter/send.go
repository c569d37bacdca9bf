package mqstarter

import "fmt"

// send hands parcels to the producer in the order of the line. It ends with
// the line, with the first parcel that could not be built, or when a message
// was refused for good: franz-go itself would go on with later messages.
func (t *term) send() {
	defer close(t.sent)
	for p := range t.line {
		select {
		case <-p.built:
		case <-t.work.Done():
			return
		}
		if p.err != nil {
			t.fail(p.err)
			return
		}
		if t.refused.Load() || t.work.Err() != nil {
			return
		}
		t.sent <- p
		t.producer.Send(t.work, &p.Parcel, p.done)
	}
}

// acknowledge notes what became of a parcel. It is called by the producer on a
// goroutine that must not wait: neither channel nor latch ever blocks.
func (t *term) acknowledge(p *parcel, err error) {
	if err != nil {
		p.err = err
		t.refused.Store(true)
		if t.work.Err() == nil {
			t.fail(fmt.Errorf("send changes: %w", err))
		}
	}
	p.acked <- struct{}{}
}
