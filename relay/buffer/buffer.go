package buffer

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/canal-relay/canal-relay/relay/event"
)

const (
	changeSize     = int(unsafe.Sizeof(event.Change{}))
	firstExpansion = 2.0       // message bytes per byte of binlog, until measured
	keepArena      = 1 << 20   // larger arenas are left to the garbage collector
	mostArena      = 320 << 10 // to which arenas grow by doubling: what a batch of 256 KiB takes
	keepChanges    = 4096
	keepBatches    = 64
)

// Buffer is the queue between the stream and the builders, bounded in bytes
// that are held from Put until Release. It is safe for concurrent use.
type Buffer struct {
	limit int64
	ready chan struct{} // holds a token while the queue may have a batch or its end
	room  chan struct{} // holds a token when bytes were released

	mu        sync.Mutex
	queue     []*event.Batch
	held      int64
	expansion float64
	end       error // why nothing follows the queue; nil while the stream runs
	free      []*event.Batch

	spent func(*event.Batch) // Spent of all batches
}

// New returns an empty buffer of so many bytes.
func New(limit int64) *Buffer {
	q := &Buffer{limit: limit, expansion: firstExpansion, ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	q.spent = q.spend
	return q
}

// Put charges a batch and queues it, waiting for room. A batch above the limit
// passes when nothing else is held. It returns the time waited, and why the
// context ended if it did.
func (q *Buffer) Put(ctx context.Context, b *event.Batch) (time.Duration, error) {
	var since time.Time
	for {
		q.mu.Lock()
		b.Size = int(float64(b.Bytes)*(1+q.expansion)) + len(b.Changes)*changeSize
		if q.held == 0 || q.held+int64(b.Size) <= q.limit {
			q.held += int64(b.Size)
			q.queue = append(q.queue, b)
			q.mu.Unlock()
			post(q.ready)
			if since.IsZero() {
				return 0, nil
			}
			return time.Since(since), nil
		}
		q.mu.Unlock()
		if since.IsZero() {
			since = time.Now()
		}
		select {
		case <-q.room:
		case <-ctx.Done():
			return time.Since(since), context.Cause(ctx)
		}
	}
}

// Next takes the oldest batch; behind the last one it returns why there are no
// more.
func (q *Buffer) Next(ctx context.Context) (*event.Batch, error) {
	for {
		q.mu.Lock()
		if len(q.queue) > 0 {
			b := q.queue[0]
			q.queue = slices.Delete(q.queue, 0, 1)
			more := len(q.queue) > 0 || q.end != nil
			q.mu.Unlock()
			if more {
				post(q.ready)
			}
			return b, nil
		}
		end := q.end
		q.mu.Unlock()
		if end != nil {
			post(q.ready) // for the others who wait
			return nil, end
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Release gives a batch's charge back and keeps its memory for another one.
func (q *Buffer) Release(b *event.Batch) {
	q.mu.Lock()
	q.held -= int64(b.Size)
	if b.Spent != nil {
		q.learn(b)
		q.recycle(b)
	}
	q.mu.Unlock()
	post(q.room)
}

// spend keeps the memory of a batch's changes for another one, now that messages
// have been built of them, and charges it for these alone.
func (q *Buffer) spend(b *event.Batch) {
	q.mu.Lock()
	q.learn(b)
	if b.Built < b.Size {
		q.held -= int64(b.Size - b.Built)
		b.Size = b.Built
	}
	q.recycle(&event.Batch{Changes: b.Changes, Arena: b.Arena})
	b.Changes, b.Arena, b.Spent = nil, nil, nil
	q.mu.Unlock()
	post(q.room)
}

// learn notes what messages take beside the binlog that they are built of; the
// lock is held.
func (q *Buffer) learn(b *event.Batch) {
	if b.Built > 0 && b.Bytes > 0 {
		q.expansion += (float64(b.Built)/float64(b.Bytes) - q.expansion) / 16
	}
}

// recycle empties a batch for reuse; the lock is held.
func (q *Buffer) recycle(b *event.Batch) {
	if len(q.free) >= keepBatches {
		return
	}
	changes, arena := b.Changes[:0], b.Arena[:0]
	clear(b.Changes)
	if cap(changes) > keepChanges {
		changes = nil
	}
	if cap(arena) > keepArena {
		arena = nil
	}
	*b = event.Batch{Changes: changes, Arena: arena, Spent: q.spent}
	q.free = append(q.free, b)
}

// Fresh is an empty batch, a used one if there is one.
func (q *Buffer) Fresh() *event.Batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.free); n > 0 {
		b := q.free[n-1]
		q.free = q.free[:n-1]
		return b
	}
	return &event.Batch{Spent: q.spent}
}

// Discard recycles a batch that was never put.
func (q *Buffer) Discard(b *event.Batch) {
	q.mu.Lock()
	q.recycle(b)
	q.mu.Unlock()
}

// Close says that no batch follows; nil means that the stream came to its end.
func (q *Buffer) Close(err error) {
	if err == nil {
		err = io.EOF
	}
	q.mu.Lock()
	q.end = err
	q.mu.Unlock()
	post(q.ready)
}

// Held is the number of bytes that are held.
func (q *Buffer) Held() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held
}

func post(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// Keep copies p into the batch's arena. What was copied earlier stays valid
// when the arena grows, because it grows by a new piece.
func Keep(b *event.Batch, p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	if cap(b.Arena)-len(b.Arena) < len(p) {
		b.Arena = make([]byte, 0, max(min(2*cap(b.Arena), mostArena), 4*len(p), 4<<10))
	}
	n := len(b.Arena)
	b.Arena = append(b.Arena, p...)
	return b.Arena[n:len(b.Arena):len(b.Arena)]
}
