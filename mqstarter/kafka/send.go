package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/tail"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// flight is a parcel whose acknowledgements are awaited. Its records stand in
// one block of memory.
type flight struct {
	producer *Producer
	records  []kgo.Record
	headers  []kgo.RecordHeader
	parcel   *message.Parcel
	left     atomic.Int64 // records not settled, plus one while they are handed over
	err      error        // the first refusal; promises run one at a time
	landed   func(error)  // all records have settled
	done     func(error)
}

// Send hands the records of a parcel to franz-go, in order. It waits only for
// what is not known yet of a topic, and while franz-go's buffer is full. A
// topic or partition that does not exist fails the parcel before any record of
// it is sent.
func (p *Producer) Send(ctx context.Context, parcel *message.Parcel, done func(error)) {
	if err := p.accept(ctx, parcel.Messages); err != nil {
		done(err)
		return
	}
	f := p.newFlight(parcel, done)
	f.landed = f.done
	f.load()
	for i := range f.records {
		// Both contexts fail a record that is in no request yet: ctx when the
		// term drops everything, the record's own after the first refusal.
		p.client.Produce(ctx, &f.records[i], f.settle)
	}
	f.land()
}

// accept refuses messages behind a refusal, and fails the term where one has no
// place to go.
func (p *Producer) accept(ctx context.Context, messages []message.Message) error {
	if err := context.Cause(p.record); err != nil {
		return err
	}
	err := p.exist(ctx, messages)
	if err != nil {
		p.fail(err)
	}
	return err
}

// exist looks at every topic and partition that the messages name.
func (p *Producer) exist(ctx context.Context, messages []message.Message) error {
	var last topic
	var name string
	for i := range messages {
		m := &messages[i]
		if m.Topic != name || name == "" {
			t, err := p.topic(ctx, m.Topic)
			if err != nil {
				return fmt.Errorf("table %s.%s: %w", m.Schema, m.Table, err)
			}
			last, name = t, m.Topic
		}
		if m.Partition < 0 || m.Partition >= last.partitions {
			return refusal.Named("topic %s has %d partitions, partition %d is wanted (table %s.%s): create it with %s",
				name, last.partitions, m.Partition, m.Schema, m.Table, p.command(name, "alter", m.Partition+1))
		}
	}
	return nil
}

func (p *Producer) newFlight(parcel *message.Parcel, done func(error)) *flight {
	if p.flying.Add(1) == 1 {
		p.moved.Store(p.age())
	}
	return &flight{producer: p, parcel: parcel, done: func(err error) {
		p.moved.Store(p.age())
		p.flying.Add(-1)
		done(err)
	}}
}

// load makes the records, which take more memory than the messages: not while
// the flight waits for a transaction.
func (f *flight) load() {
	messages := f.parcel.Messages
	f.records = make([]kgo.Record, len(messages))
	f.headers = make([]kgo.RecordHeader, 0, len(messages)*(message.MostHeaders-1))
	f.left.Store(int64(len(messages)) + 1)
	for i := range messages {
		m, first := &messages[i], len(f.headers)
		f.headers = message.AppendHeaders(f.headers, &m.Headers)
		f.records[i] = kgo.Record{
			Topic: m.Topic, Partition: m.Partition, Key: m.Key, Value: m.Value,
			Headers: f.headers[first:len(f.headers):len(f.headers)], Context: f.producer.record,
		}
	}
}

// settle is franz-go's promise, called for one record at a time by a goroutine
// that everything else waits for: it only counts, and at the first refusal
// fails all records that are in no request yet.
func (f *flight) settle(r *kgo.Record, err error) {
	if err != nil && f.err == nil {
		f.err = f.refusal(r, err)
	}
	f.land()
}

// land counts one down; the last one tells whoever waits.
func (f *flight) land() {
	if f.left.Add(-1) == 0 {
		f.landed(f.err)
	}
}

// refusal is the reason why a record failed: its own, or that of the first
// record that failed, which took the others with it.
func (f *flight) refusal(r *kgo.Record, err error) error {
	p := f.producer
	if first := context.Cause(p.record); first != nil {
		return first
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, kgo.ErrClientClosed) {
		err = fmt.Errorf("topic %s, partition %d (table %s, %d bytes) was refused: %w",
			r.Topic, r.Partition, f.table(r), len(r.Key)+len(r.Value), fault(r, err))
	}
	p.fail(err)
	return err
}

// fault says more of some refusals. It names the transaction of a record that is
// refused for what it is, so that an operator can have it left out.
func fault(r *kgo.Record, err error) error {
	if errors.Is(err, kerr.UnknownTopicID) {
		return fmt.Errorf("the topic was deleted and made anew, and what it held is gone: %w", err)
	}
	if !errors.Is(err, kerr.MessageTooLarge) && !errors.Is(err, kerr.InvalidRecord) {
		return err
	}
	for _, h := range r.Headers {
		if h.Key == message.HeaderPosition {
			return &position.Fault{At: string(h.Value), Err: err}
		}
	}
	return err
}

func (f *flight) table(r *kgo.Record) string {
	for i := range f.records {
		if m := &f.parcel.Messages[i]; r == &f.records[i] && m.Table != "" {
			return m.Schema + "." + m.Table
		}
	}
	return "unknown"
}

// Tails finds the last record of a destination in each of some places.
func (p *Producer) Tails(ctx context.Context, destination string, places []message.Place) []message.Tail {
	options, err := p.config.Options()
	if err != nil {
		return make([]message.Tail, len(places)) // New would have failed
	}
	ctx, cancel := context.WithTimeout(ctx, or(p.config.TailTimeout, tail.DefaultTimeout))
	defer cancel()
	return tail.Scan(ctx, append(options, kgo.WithContext(p.live)), destination, places)
}
