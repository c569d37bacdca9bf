package mqstarter

import (
	"sync"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/event"
)

// maxPooled is the largest arena, in bytes, that is kept for another parcel.
const maxPooled = 1 << 20

// parcel is one batch on its way through a term, with the messages built from
// it.
type parcel struct {
	message.Parcel
	*memory // nil when it was given back
	batch   *event.Batch
	err     error // why it could not be built, or why it was refused

	built chan struct{} // one token: building ended
	acked chan struct{} // one token: the producer is done with it

	rows, bytes, changes int       // what metrics count
	first                time.Time // of the first change; zero without changes
	skipped              bool      // as in event.Batch
}

// memory is what messages are made of: their bytes are in an arena that is used
// again when they are in Kafka.
type memory struct {
	messages []message.Message // the parcel's, when it has them no more
	arena    []byte
	spans    []span          // one for each message
	entries  []message.Entry // of all messages, in order, if they are noted
}

// span says where a message's bytes stand in the arena. While the arena still
// grows, and so moves, slices of it would go stale.
type span struct {
	value, row, key, end int // the value, r-row and the key, up to end; an empty key is none
	pos, posEnd          int // r-pos
	oversize             int // r-oversize; 0 for none
	entries              int // of the parcel, up to and with this message's
}

func (t *term) newParcel(b *event.Batch) *parcel {
	p := &parcel{batch: b, memory: t.free.get(), built: make(chan struct{}, 1), acked: make(chan struct{}, 1)}
	p.Messages = p.messages
	p.Landed = func() { t.unload(p) }
	return p
}

// unload gives back what a parcel's messages take, of which no reference may be
// left. A producer that keeps parcels for a while has it done as they land, and
// the committer otherwise: never both at a time, since a producer is done with a
// parcel only after it landed.
func (t *term) unload(p *parcel) {
	if p.memory == nil {
		return
	}
	p.messages = p.Messages
	t.free.put(p.memory)
	p.memory, p.Messages = nil, nil
	t.source.Release(p.batch)
}

// freeList keeps memory for reuse, the last one used first, so that few arenas
// are warm when few are in flight.
type freeList struct {
	mu   sync.Mutex
	free []*memory
}

// get returns memory that holds nothing.
func (f *freeList) get() *memory {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.free)
	if n == 0 {
		return &memory{}
	}
	m := f.free[n-1]
	f.free[n-1] = nil
	f.free = f.free[:n-1]
	return m
}

// put takes memory that nobody else refers to.
func (f *freeList) put(m *memory) {
	clear(m.messages)
	clear(m.entries)
	m.messages, m.arena, m.spans, m.entries = m.messages[:0], m.arena[:0], m.spans[:0], m.entries[:0]
	if cap(m.arena) > maxPooled {
		m.arena = nil
	}
	f.mu.Lock()
	f.free = append(f.free, m)
	f.mu.Unlock()
}

// drop gives idle memory back.
func (f *freeList) drop() {
	f.mu.Lock()
	f.free = nil
	f.mu.Unlock()
}
