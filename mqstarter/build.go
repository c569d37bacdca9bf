package mqstarter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/mqstarter/target"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// build takes batches and turns each into a parcel, until there is no more to
// read. A parcel that cannot be built stays in line, so that what stands before
// it is still sent.
func (t *term) build() {
	defer func() {
		if t.builders.Add(-1) == 0 {
			close(t.line)
		}
	}()
	b := newBuilder(t)
	for {
		p := t.take()
		if p == nil {
			return
		}
		p.count()
		t.metrics.Got(p.rows, p.first)
		p.err = b.fill(t.work, p)
		p.built <- struct{}{}
	}
}

// take gets the next batch and its place in line under one lock, so that the
// line has the source's order without anybody dealing batches out. It returns
// nil when nothing more is to be read.
func (t *term) take() *parcel {
	for _, c := range [...]chan struct{}{t.slots, t.taking} {
		select {
		case c <- struct{}{}:
		case <-t.read.Done():
			return nil
		}
	}
	defer func() { <-t.taking }()
	if t.read.Err() != nil { // the source may have more all the same
		return nil
	}
	batch, err := t.source.Next(t.read)
	switch {
	case err == io.EOF: //nolint:errorlint // as io.Reader: a lost connection may wrap it
		t.stop(errEnd)
		return nil
	case err != nil:
		if t.read.Err() == nil {
			t.fail(fmt.Errorf("read changes: %w", err))
		}
		return nil
	}
	p := t.newParcel(batch)
	t.line <- p // has as many places as there are slots
	return p
}

// builder is what one goroutine needs to build parcels.
type builder struct {
	flat    *message.Flat // nil with packets
	packer  *packer       // nil with flat messages
	rows    encoder       // whichever of the two encodes
	targets *target.Targets
	split   target.Splitter
	origin  *message.Origin // nil without headers
	common  int             // bytes of what headers have in common, with framing
	one     [1]int          // scratch: one row
	now     int64           // when the parcel was begun, in milliseconds since 1970
	ratio   float64         // of message bytes to bytes of binlog, of late

	// What is done about a message that is too large.
	policy      oversize.Policy
	letters     string // topic of dead letters
	destination string
	metrics     *metrics.Destination
	log         *slog.Logger
}

// encoder is what both encoders have in common.
type encoder interface {
	target.Keyed
	AppendRowKey(dst []byte, row int) []byte
}

// headerFraming is what lengths of a header take in a record at most.
const headerFraming = 10

func newBuilder(t *term) *builder {
	b := &builder{
		targets: target.New(t.targets()), policy: t.config.Oversize, letters: t.config.DeadLetters,
		destination: t.config.Destination, metrics: t.metrics, log: t.log,
	}
	if t.config.Packets != nil {
		b.packer = newPacker(*t.config.Packets, t.config.Message)
		b.packer.marks = t.repeats != nil
		b.rows = b.packer.proto
	} else {
		b.flat = message.NewFlat(t.config.Message)
		b.rows = b.flat
	}
	if t.config.Headers {
		b.origin = message.NewOrigin(t.config.Destination, t.epoch)
		most := b.origin.Headers(nil, nil)
		for _, h := range most.All() {
			b.common += headerFraming + len(h.Key) + len(h.Value)
		}
	}
	return b
}

// messageBytes is about what a message holds beside its own bytes until it is
// acknowledged: its record and headers, here and in franz-go.
const messageBytes = 640

// fill builds the messages of p's batch. The raw rows are not needed after
// that, and are let go of long before the acknowledgement.
func (b *builder) fill(ctx context.Context, p *parcel) error {
	b.now = time.Now().UnixMilli()
	b.reserve(p)
	for i := range p.batch.Changes {
		c := &p.batch.Changes[i]
		var err error
		if b.packer != nil {
			err = b.entries(ctx, p, i)
		} else {
			err = b.change(ctx, p, c)
		}
		if err != nil {
			if !errors.Is(err, target.ErrTopic) {
				err = &position.Fault{At: fmt.Sprintf("%s:%d", c.File, c.Offset), Err: err}
			}
			return fmt.Errorf("build message of %s at %s:%d: %w", name(c), c.File, c.Offset, err)
		}
	}
	if b.packer != nil {
		if err := b.pack(ctx, p); err != nil {
			return err
		}
	}
	p.cut(b.origin)
	p.Resume, p.Rows, p.Tx, p.Count = p.batch.Resume, p.batch.Rows, p.batch.Tx, p.rows
	p.batch.Built = len(p.arena) + len(p.Messages)*messageBytes
	if r := float64(len(p.arena)) / float64(max(p.batch.Bytes, 1)); r > b.ratio {
		b.ratio = r
	} else {
		b.ratio += (r - b.ratio) / 16
	}
	clear(p.batch.Changes)
	if p.batch.Spent != nil && len(p.entries) == 0 { // entries point into the batch
		p.batch.Spent(p.batch)
	}
	return nil
}

// reserve makes room in the arena for what the batch will probably take, so
// that a new one does not grow there step by step, leaving each step behind.
func (b *builder) reserve(p *parcel) {
	const step = 32<<10 - 1 // so that a used arena mostly serves the next batch
	if want := min(int(float64(p.batch.Bytes)*b.ratio*1.05), maxPooled-1); cap(p.arena) < want {
		p.arena = make([]byte, 0, (want|step)+1)
	}
	p.spans = slices.Grow(p.spans, len(p.batch.Changes))
	p.Messages = slices.Grow(p.Messages, len(p.batch.Changes))
}

func name(c *event.Change) string {
	if c.Schema == "" && c.Table == "" {
		return "a statement"
	}
	return c.Schema + "." + c.Table
}

// change builds one message, or one for each partition to which its rows go,
// in the order of partitions.
func (b *builder) change(ctx context.Context, p *parcel, c *event.Change) error {
	to, err := b.targets.Of(ctx, c)
	if to == nil {
		return err
	}
	if err := b.flat.Open(c); err != nil {
		return err
	}
	if b.flat.Rows() > 0 && len(to.Key) > 0 {
		return b.keyed(p, c, to)
	}
	if !to.Rule.Hashed || b.flat.Rows() == 0 {
		return b.message(p, c, to, to.Partition(b.flat.Rows()), nil, 0)
	}
	groups, err := b.split.Split(b.flat, to)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := b.message(p, c, to, g.Partition, g.Rows, 0); err != nil {
			return err
		}
	}
	return nil
}

// keyed builds a message for each row, so that each has its own key.
func (b *builder) keyed(p *parcel, c *event.Change, to *target.Target) error {
	var partitions []int32
	if to.Rule.Hashed {
		var err error
		if partitions, err = b.split.Hash(b.flat, to); err != nil {
			return err
		}
	}
	for row := range b.flat.Rows() {
		partition := to.Rule.Partition
		if partitions != nil {
			partition = partitions[row]
		}
		b.one[0] = row
		if err := b.message(p, c, to, partition, b.one[:], 0); err != nil {
			return err
		}
	}
	return nil
}

// message appends one message with some rows of the change that is open, nil
// being all. One that is too large is built again row by row. whole is 0, or
// the bytes of a row that was too large: then it shows its key alone.
func (b *builder) message(p *parcel, c *event.Change, to *target.Target, partition int32, rows []int, whole int) (err error) {
	s := p.span(c)
	if whole > 0 {
		p.arena, err = b.flat.AppendKeyOnly(p.arena, only(rows), p.batch.ID, b.now)
	} else {
		p.arena, err = b.flat.Append(p.arena, rows, p.batch.ID, b.now)
	}
	if err != nil {
		return err
	}
	s.oversize = whole
	p.row(&s, c, rows)
	if len(rows) == 1 && len(to.Key) > 0 {
		if p.arena, err = b.flat.AppendRecordKey(p.arena, rows[0], to.Key); err != nil {
			return err
		}
	}
	s.end = len(p.arena)

	size := s.row - s.value + s.end - s.key
	if b.origin != nil {
		size += b.common + s.posEnd - s.pos + s.key - s.row
	}
	if whole > 0 {
		size += headerFraming + len(message.HeaderOversize) + maxRow
	}
	if size > to.Limit {
		p.arena = p.arena[:s.value]
		return b.tooLarge(p, c, to, partition, rows, size, whole)
	}
	p.add(s, c, to.Topic, partition)
	return nil
}

// tooLarge splits a message by row. What to do about a single row is a policy:
// nothing of its batch has been sent yet.
func (b *builder) tooLarge(p *parcel, c *event.Change, to *target.Target, partition int32, rows []int, size, whole int) error {
	n := len(rows)
	if rows == nil {
		n = b.flat.Rows()
	}
	if n < 2 {
		keyOnly := func() error { return b.message(p, c, to, partition, []int{only(rows)}, size) }
		return b.unsendable(p, c, to, partition, rows, size, whole, keyOnly)
	}
	for i := range n {
		row := i
		if rows != nil {
			row = rows[i]
		}
		if err := b.message(p, c, to, partition, []int{row}, 0); err != nil {
			return err
		}
	}
	return nil
}

// count sums up what metrics want to know of the batch.
func (p *parcel) count() {
	b := p.batch
	p.bytes, p.changes, p.skipped = b.Bytes, len(b.Changes), b.Skipped
	for i := range b.Changes {
		p.rows += b.Changes[i].Rows
	}
	if len(b.Changes) > 0 {
		p.first = time.Unix(b.Changes[0].Time, 0)
	}
}

// span begins a message: it notes the transaction, which messages in a row
// share, and where the value begins.
func (p *parcel) span(c *event.Change) span {
	var s span
	if n := len(p.spans); n > 0 {
		s.pos, s.posEnd = p.spans[n-1].pos, p.spans[n-1].posEnd
	}
	if !bytes.Equal(p.arena[s.pos:s.posEnd], c.Tx) {
		s.pos = len(p.arena)
		p.arena = append(p.arena, c.Tx...)
		s.posEnd = len(p.arena)
	}
	s.value = len(p.arena)
	return s
}

// row ends a message's value and writes its r-row.
func (p *parcel) row(s *span, c *event.Change, rows []int) {
	s.row = len(p.arena)
	p.arena = message.AppendRow(p.arena, c, rows)
	s.key = len(p.arena)
}

// add appends a message whose bytes are in the arena.
func (p *parcel) add(s span, c *event.Change, topic string, partition int32) {
	p.spans = append(p.spans, s)
	p.Messages = append(p.Messages, message.Message{Topic: topic, Partition: partition, Schema: c.Schema, Table: c.Table})
}

// cut gives every message its bytes, now that the arena no longer moves.
func (p *parcel) cut(o *message.Origin) {
	noted := 0
	for i, s := range p.spans {
		m := &p.Messages[i]
		m.Value = p.arena[s.value:s.row:s.row]
		if s.end > s.key {
			m.Key = p.arena[s.key:s.end:s.end]
		}
		if s.entries > noted {
			m.Entries = p.entries[noted:s.entries:s.entries]
			noted = s.entries
		}
		if o != nil {
			m.Headers = o.Headers(p.arena[s.pos:s.posEnd:s.posEnd], p.arena[s.row:s.key:s.key])
		}
		m.Headers.Oversize = s.oversize
	}
}
