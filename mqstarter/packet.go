package mqstarter

import (
	"context"
	"strconv"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/target"
	"github.com/canal-relay/canal-relay/relay/event"
)

// PacketConfig is the form of protobuf messages.
type PacketConfig struct {
	Form       message.Packet
	Boundaries bool // send where transactions begin and end
	Bytes      int  // at which a record is cut; a larger entry has one of its own
}

// packer builds records of protobuf entries: those of a batch for one topic and
// partition, in order. Its memory is used again for each batch.
type packer struct {
	c       PacketConfig
	proto   *message.Proto
	frames  []byte  // the entries of the batch, as they stand in records
	entries []entry // of these, in order
	runs    []run
	index   map[place]int
	one     [1]int
	marks   bool // note the entries in the parcel
}

// place is a topic's partition.
type place struct {
	topic     string
	partition int32
}

// run is the entries of a batch for one place.
type run struct {
	place
	limit       int // bytes of a message
	first, last int // of packer.entries
}

// entry says what stands in packer.frames, from start to end.
type entry struct {
	start, end int
	change     int    // in the batch
	row        uint64 // message.LastRow
	next       int    // of the run; -1 at its end
	begin      bool   // a transaction begins: goes with what follows
	oversize   int    // bytes that were too large: shows its key alone, and has a record of its own; else 0
}

func newPacker(c PacketConfig, m message.Config) *packer {
	return &packer{c: c, proto: message.NewProto(m), index: make(map[place]int)}
}

func (k *packer) reset() {
	k.frames, k.entries, k.runs = k.frames[:0], k.entries[:0], k.runs[:0]
	if cap(k.frames) > maxPooled {
		k.frames = nil
	}
	clear(k.index)
}

// entries appends the entries of a change: one, or, where its rows are spread
// over partitions, one for each row.
func (b *builder) entries(ctx context.Context, p *parcel, change int) error {
	k, c := b.packer, &p.batch.Changes[change]
	if c.Kind >= event.Begin && !k.c.Boundaries {
		return nil
	}
	to, err := b.targets.Of(ctx, c)
	if to == nil {
		return err
	}
	if err := k.proto.Open(c); err != nil {
		return err
	}
	if !to.Rule.Hashed || k.proto.Rows() == 0 {
		return b.entry(p, change, to, to.Partition(k.proto.Rows()), nil, 0)
	}
	partitions, err := b.split.Hash(k.proto, to)
	if err != nil {
		return err
	}
	for row, partition := range partitions {
		k.one[0] = row
		if err := b.entry(p, change, to, partition, k.one[:], 0); err != nil {
			return err
		}
	}
	return nil
}

// entry appends the entry of some rows of the change that is open, nil being
// all. One that is too large for a record is appended again row by row. whole is
// as in message.
func (b *builder) entry(p *parcel, change int, to *target.Target, partition int32, rows []int, whole int) (err error) {
	k, c := b.packer, &p.batch.Changes[change]
	start := len(k.frames)
	if whole > 0 {
		k.frames, err = k.proto.AppendKeyFrame(k.frames, only(rows))
	} else {
		k.frames, err = k.proto.AppendFrame(k.frames, rows)
	}
	if err != nil {
		return err
	}
	if size := len(k.frames) - start + b.around(c); size > to.Limit {
		k.frames = k.frames[:start]
		if rows != nil || k.proto.Rows() < 2 {
			keyOnly := func() error { return b.entry(p, change, to, partition, []int{only(rows)}, size) }
			return b.unsendable(p, c, to, partition, rows, size, whole, keyOnly)
		}
		for row := range k.proto.Rows() {
			k.one[0] = row
			if err := b.entry(p, change, to, partition, k.one[:], 0); err != nil {
				return err
			}
		}
		return nil
	}
	k.append(place{to.Topic, partition}, to.Limit, entry{
		start: start, end: len(k.frames), change: change, row: message.LastRow(c, rows), next: -1, begin: c.Kind == event.Begin, oversize: whole})
	return nil
}

// around is what a record of a change takes beside its entries at most.
func (b *builder) around(c *event.Change) int {
	if b.origin == nil {
		return message.PacketOverhead
	}
	return message.PacketOverhead + b.common + len(c.Tx) + maxRow
}

const maxRow = 20 // bytes of an r-row

func (k *packer) append(to place, limit int, e entry) {
	n := len(k.entries)
	k.entries = append(k.entries, e)
	i, found := 0, len(k.runs) > 0 && k.runs[0].place == to
	if !found {
		i, found = k.index[to]
	}
	if !found {
		k.index[to] = len(k.runs)
		k.runs = append(k.runs, run{place: to, limit: limit, first: n, last: n})
		return
	}
	k.entries[k.runs[i].last].next = n
	k.runs[i].last = n
}

// pack makes records of the entries. A batch all of whose entries are held back
// gives a record without any, as in Canal.
func (b *builder) pack(ctx context.Context, p *parcel) error {
	k := b.packer
	defer k.reset()
	if n := len(p.batch.Changes); n > 0 && len(k.entries) == 0 {
		to, err := b.targets.Of(ctx, &p.batch.Changes[n-1])
		if to == nil {
			return err
		}
		k.append(place{to.Topic, to.Partition(0)}, to.Limit, entry{change: n - 1, row: message.LastRow(&p.batch.Changes[n-1], nil), next: -1})
	}
	for i := range k.runs {
		b.run(p, &k.runs[i])
	}
	return nil
}

// run cuts the entries for one place into records.
func (b *builder) run(p *parcel, r *run) {
	k := b.packer
	first, size, begun, alone := r.first, 0, false, false
	for i := r.first; i >= 0; i = k.entries[i].next {
		e := &k.entries[i]
		own := e.end - e.start
		unit := own
		if e.begin && e.next >= 0 {
			unit += k.entries[e.next].end - k.entries[e.next].start
		}
		around := b.around(&p.batch.Changes[e.change])
		if i != first && (alone || e.oversize > 0 || size+unit+message.PacketOverhead > k.c.Bytes && !begun || size+own+around > r.limit) {
			k.record(p, r, first, i, size)
			first, size = i, 0
		}
		size += own
		begun, alone = e.begin, e.oversize > 0
	}
	k.record(p, r, first, -1, size)
}

// record makes one record of the entries of a run from first to before end,
// which take size bytes.
func (k *packer) record(p *parcel, r *run, first, end, size int) {
	last := first
	for i := first; i != end; i = k.entries[i].next {
		last = i
	}
	c := &p.batch.Changes[k.entries[last].change]
	s := p.span(c)
	s.oversize = k.entries[last].oversize
	p.arena = k.c.Form.AppendPacket(p.arena, p.batch.ID, size)
	for i := first; i != end; i = k.entries[i].next {
		e := &k.entries[i]
		p.arena = append(p.arena, k.frames[e.start:e.end]...)
		if k.marks {
			p.entries = append(p.entries, k.mark(p, e, len(p.arena)-s.value))
		}
	}
	s.entries = len(p.entries)
	s.row = len(p.arena)
	p.arena = strconv.AppendUint(p.arena, k.entries[last].row, 10)
	s.key = len(p.arena)
	s.end = s.key
	p.add(s, c, r.topic, r.partition)
}

// mark notes an entry that ends there, in case readers have it.
func (k *packer) mark(p *parcel, e *entry, end int) message.Entry {
	c := &p.batch.Changes[e.change]
	m := message.Entry{End: end, Tx: c.Tx, Row: e.row}
	if c.Kind >= event.Begin {
		m.Kind = c.Kind
	}
	return m
}
