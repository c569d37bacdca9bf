package repeats

import (
	"context"
	"log/slog"

	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Scanner finds the last record of a destination in each of some places.
type Scanner interface {
	Tails(ctx context.Context, destination string, places []message.Place) []message.Tail
}

// Config says whose records are looked for, and from where the term goes on.
type Config struct {
	Destination string
	Epoch       int64          // of the term
	Saved       position.Saved // as the cursor was found
	From        position.Position

	Headers   bool   // records have headers
	Routing   string // hash of the settings that decide what is sent where
	FromTopic bool   // rows go to as many partitions as topics have now

	// End asks the source where its binlog ends: on MariaDB with the last GTID of
	// each server in each domain.
	End func(context.Context) (position.Position, error)
	// Form is that of protobuf records.
	Form message.Packet
}

// Filter takes out of the parcels of a term the records that readers have. It
// looks at a place when its first record comes, and not any more when that is
// settled. It belongs to one goroutine.
//
// Records are routed the same way each time, and each place has its records in
// binlog order: so readers have all records of a place up to its last one. They
// are taken out until that one is met. To take out too much would lose it, so
// that whatever is not certain ends the taking out.
type Filter struct {
	c       Config
	scanner Scanner
	metrics *metrics.Destination
	log     *slog.Logger

	topics map[string][]*place // by partition; nil for one not seen yet
	open   map[*place]bool     // places in which records are taken out
	name   string              // the latest topic, and its places
	places []*place

	end    *position.Position // of the source's binlog, once asked
	missed bool               // that a place could not be read was said
}

// place is what is known of a partition.
type place struct {
	message.Place
	settled bool
	tail    mark
}

// New makes the Filter of a term; nil, and a line that says why, where it cannot
// be told what readers have.
func New(c Config, s Scanner, d *metrics.Destination, l *slog.Logger) *Filter {
	why := ""
	switch {
	case !c.Headers:
		why = "headers are off"
	case c.FromTopic:
		why = "rows go to the partitions that topics have now, which may not be those that they had"
	case c.Saved.Foreign || c.Saved.Routing == "":
		why = "the stored position was set by somebody else"
	case c.Saved.Routing != c.Routing:
		why = "the settings that decide what is sent where have changed"
	}
	if why != "" {
		l.Info("what was sent behind the stored position is sent again", "reason", why)
		return nil
	}
	return &Filter{c: c, scanner: s, metrics: d, log: l, topics: make(map[string][]*place), open: make(map[*place]bool)}
}

// Drop takes what readers have out of a parcel, the next one in order; id is
// the number of its batch.
func (f *Filter) Drop(ctx context.Context, p *message.Parcel, id uint64) {
	var fresh []*place
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Partition < 0 { // none at all: the producer refuses it
			continue
		}
		if m.Topic != f.name || f.places == nil {
			f.name, f.places = m.Topic, f.topics[m.Topic]
		}
		if int(m.Partition) < len(f.places) && f.places[m.Partition] != nil {
			continue
		}
		fresh = append(fresh, f.add(m))
	}
	if len(fresh) > 0 {
		f.scan(ctx, fresh)
	}
	if len(f.open) > 0 {
		f.cut(ctx, p, id)
	}
}

// add makes the place of a message known.
func (f *Filter) add(m *message.Message) *place {
	if n := int(m.Partition) + 1 - len(f.places); n > 0 {
		f.places = append(f.places, make([]*place, n)...)
		f.topics[m.Topic] = f.places
	}
	at := &place{Place: message.Place{Topic: m.Topic, Partition: m.Partition}}
	f.places[m.Partition] = at
	return at
}

// scan looks at what readers have in places that were met for the first time.
func (f *Filter) scan(ctx context.Context, fresh []*place) {
	var asked []message.Place
	for _, at := range fresh {
		asked = append(asked, at.Place)
	}
	for i, t := range f.scanner.Tails(ctx, f.c.Destination, asked) {
		at := fresh[i]
		why := ""
		switch {
		case t.Found:
			at.tail, why = f.judge(ctx, t)
		case !t.Empty:
			f.metrics.Unusual("tail_scan_miss")
			if t.Err != nil && !f.missed && ctx.Err() == nil {
				f.missed = true
				f.log.Warn("the end of a topic cannot be read: what readers have since the stored position is sent again", "topic", at.Topic, "partition", at.Partition, "err", t.Err)
			}
		}
		if why != "" {
			f.warn(at, t.Tx, t.Row, why)
		}
		at.settled = at.tail.tx == ""
		if !at.settled {
			f.open[at] = true
			f.log.Info("readers have records behind the stored position: taking them out", "topic", at.Topic, "partition", at.Partition, "up.to", at.tail.tx, "row", at.tail.row)
		}
	}
}

func (f *Filter) warn(at *place, tx string, row uint64, why string) {
	f.metrics.Unusual("tail_scan_other_history")
	f.log.Warn("what readers have is not taken out", "reason", why, "topic", at.Topic, "partition", at.Partition, "last.record", tx, "row", row)
}

// judge tells whether the last record stands behind where the term goes on, and
// will be met there. An empty mark means no; why is then what is odd about it.
func (f *Filter) judge(ctx context.Context, t message.Tail) (m mark, why string) {
	if t.Epoch < f.c.Saved.Since || t.Epoch == 0 && t.Time.Before(f.c.Saved.SinceAt) {
		return mark{}, ""
	}
	if t.Epoch > f.c.Epoch {
		return mark{}, "the last record is of a later owner, or of another ZooKeeper"
	}
	m = parse(t.Tx, t.Row)
	if kind, err := f.c.Form.LastKind(t.Value); err == nil {
		m.lastKind = kind
	}
	covered, comparable := m.passed(f.c.From)
	switch {
	case !comparable:
		return mark{}, "the last record is of another server, or cannot be compared with the stored position"
	case covered:
		return mark{}, ""
	}
	if f.end == nil {
		end, err := f.c.End(ctx)
		if err != nil {
			return mark{}, "the source does not say where its binlog ends: " + err.Error()
		}
		f.end = &end
	}
	if !m.within(*f.end) {
		return mark{}, "the source's binlog does not hold the last record's transaction"
	}
	return m, ""
}
