package mqstarter

import (
	"sync"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/event"
)

// maxPooled is the largest arena, in bytes, that is kept for another parcel.
const maxPooled = 1 << 20

// parcel is one batch on its way through a term: the messages built from it,
// with their bytes in an arena that is used again after the acknowledgement.
type parcel struct {
	message.Parcel
	batch *event.Batch
	err   error // why it could not be built, or why it was refused

	arena   []byte
	spans   []span          // one for each message
	entries []message.Entry // of all messages, in order, if they are noted

	built chan struct{} // one token: building ended
	acked chan struct{} // one token: the producer is done with it
	done  func(error)   // what the producer calls

	rows, bytes, changes int       // what metrics count
	first                time.Time // of the first change; zero without changes
}

// span says where a message's bytes stand in the arena. While the arena still
// grows, and so moves, slices of it would go stale.
type span struct {
	value, row, key, end int // the value, r-row and the key, up to end; an empty key is none
	pos, posEnd          int // r-pos
	oversize             int // r-oversize; 0 for none
	entries              int // of the parcel, up to and with this message's
}

func (t *term) newParcel() *parcel {
	p := &parcel{built: make(chan struct{}, 1), acked: make(chan struct{}, 1)}
	p.done = func(err error) { t.acknowledge(p, err) }
	return p
}

// reset makes p empty, keeping its memory.
func (p *parcel) reset() {
	clear(p.Messages)
	clear(p.entries)
	*p = parcel{
		Parcel: message.Parcel{Messages: p.Messages[:0]},
		arena:  p.arena[:0], spans: p.spans[:0], entries: p.entries[:0],
		built: p.built, acked: p.acked, done: p.done,
	}
}

// freeList keeps parcels for reuse, the last one used first, so that few arenas
// are warm when few are in flight. Only acknowledged parcels come back.
type freeList struct {
	mu      sync.Mutex
	parcels []*parcel
}

// get returns a parcel that is empty, or nil.
func (f *freeList) get() *parcel {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.parcels)
	if n == 0 {
		return nil
	}
	p := f.parcels[n-1]
	f.parcels[n-1] = nil
	f.parcels = f.parcels[:n-1]
	return p
}

// put takes a parcel that nobody else refers to.
func (f *freeList) put(p *parcel) {
	p.reset()
	if cap(p.arena) > maxPooled {
		p.arena = nil
	}
	f.mu.Lock()
	f.parcels = append(f.parcels, p)
	f.mu.Unlock()
}

// drop gives the memory of idle parcels back.
func (f *freeList) drop() {
	f.mu.Lock()
	f.parcels = nil
	f.mu.Unlock()
}
