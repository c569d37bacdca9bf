package metrics

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// rateWindow is the time constant of the row rate on the page.
const rateWindow = 10 * time.Second

// Destination holds the series of one destination. What the canal_instance_*
// series show belongs to one term: it is counted, and exported, only between
// Begin and End, and begins at zero as it does in Canal. All methods may be
// called on nil, which counts nothing (tail, tests).
type Destination struct {
	name string
	term atomic.Pointer[term] // nil on a node that does not own the destination

	terms    atomic.Uint64
	lastRead atomic.Int64 // wall clock, Unix nanoseconds, as the next two; 0 = never
	lastAck  atomic.Int64
	lastSave atomic.Int64

	mu      sync.Mutex // covers the below
	unusual map[string]uint64
	savedAt time.Time // event time of the stored position
}

// term is what is counted from Begin to End.
type term struct {
	memory int64 // bytes of the relay's budget

	received     atomic.Int64 // bytes read from the source
	blocked      atomic.Int64 // nanoseconds waited for room
	transactions atomic.Int64
	begun        time.Time
	alive        atomic.Int64 // how long after begun the last sign came that nothing is newer, ns; 0 before

	prepared, preparedAt atomic.Int64 // XA transactions undecided; time of the oldest, Unix seconds

	put, acked  step
	got         atomic.Int64 // rows
	first, last atomic.Int64 // event times of the last batch put, Unix ns

	mu     sync.Mutex // covers the below; taken three times per batch
	window window
	rate   float64 // rows per second acknowledged, as of rateAt
	rateAt time.Time
}

// window holds the event times of the batches put and not acknowledged, oldest
// first, in Unix nanoseconds, 0 for a batch without changes. Batches are counted
// from the term's beginning. The relay notes a batch after it has queued it, so
// that it may be taken, and even acknowledged, before it is put.
type window struct {
	times      []int64
	first      int64 // number of the batch that times begins with
	got, acked int64 // how many batches were taken, acknowledged
}

func (w *window) put(at int64) {
	w.times = append(w.times, at)
	w.settle()
}

func (w *window) ack() {
	w.acked++
	w.got = max(w.got, w.acked)
	w.settle()
}

// settle drops the front of times now and then, so that it stays small.
func (w *window) settle() {
	done := min(w.acked-w.first, int64(len(w.times)))
	if done == int64(len(w.times)) || done >= 1024 {
		w.times = w.times[:copy(w.times, w.times[done:])]
		w.first += done
	}
}

// oldest is the first time of the batches behind the first n; 0 when there is
// none.
func (w *window) oldest(n int64) int64 {
	for i := max(0, n-w.first); i < int64(len(w.times)); i++ {
		if w.times[i] != 0 {
			return w.times[i]
		}
	}
	return 0
}

// step is how far one step of the way has come.
type step struct{ rows, bytes, changes atomic.Int64 }

func (s *step) add(rows, bytes, changes int) {
	s.rows.Add(int64(rows))
	s.bytes.Add(int64(bytes))
	s.changes.Add(int64(changes))
}

// Begin notes that a term begins here; memory is the relay's budget in bytes.
func (d *Destination) Begin(memory int64) {
	if d == nil {
		return
	}
	now := time.Now()
	t := &term{memory: memory, begun: now, rateAt: now}
	d.terms.Add(1)
	d.term.Store(t)
}

// End notes that the term has ended: its series go.
func (d *Destination) End() {
	if d != nil {
		d.term.Store(nil)
	}
}

// now is the term under way, nil for none.
func (d *Destination) now() *term {
	if d == nil {
		return nil
	}
	return d.term.Load()
}

// Received counts bytes of binlog read from the source.
func (d *Destination) Received(bytes int) {
	if t := d.now(); t != nil {
		t.received.Add(int64(bytes))
		d.lastRead.Store(time.Now().UnixNano())
	}
}

// Alive notes that the source said it has nothing newer (heartbeat or idle end
// of the binlog): the traffic delay is zero now.
func (d *Destination) Alive() {
	if t := d.now(); t != nil {
		t.alive.Store(max(1, int64(time.Since(t.begun))))
	}
}

// Put notes a batch queued by the relay: its rows, bytes of binlog, ended
// transactions, changes, and the time of its first and last event (zero if it
// has none).
func (d *Destination) Put(rows, bytes, transactions, changes int, first, last time.Time) {
	t := d.now()
	if t == nil {
		return
	}
	t.transactions.Add(int64(transactions))
	t.put.add(rows, bytes, changes)
	var at int64
	if !first.IsZero() {
		at = first.UnixNano()
		t.first.Store(at)
		t.last.Store(last.UnixNano())
	}
	t.mu.Lock()
	t.window.put(at)
	t.mu.Unlock()
}

// Prepared notes how many XA transactions are prepared and undecided, and when
// the oldest was prepared.
func (d *Destination) Prepared(n int, oldest time.Time) {
	if t := d.now(); t != nil {
		t.prepared.Store(int64(n))
		t.preparedAt.Store(oldest.Unix())
	}
}

// PutBlocked counts time that the relay waited for room in its budget.
func (d *Destination) PutBlocked(wait time.Duration) {
	if t := d.now(); t != nil {
		t.blocked.Add(int64(wait))
	}
}

// Got notes a batch taken by a builder; first is as in Put.
func (d *Destination) Got(rows int, first time.Time) {
	if t := d.now(); t != nil {
		t.got.Add(int64(rows))
		t.mu.Lock()
		t.window.got++
		t.mu.Unlock()
	}
}

// Acked notes a batch that Kafka has acknowledged whole. Batches are
// acknowledged in the order in which they were put.
func (d *Destination) Acked(rows, bytes, changes int, first time.Time) {
	t := d.now()
	if t == nil {
		return
	}
	now := time.Now()
	d.lastAck.Store(now.UnixNano())
	t.acked.add(rows, bytes, changes)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window.ack()
	t.rate = t.rateAfter(now) + float64(rows)/rateWindow.Seconds()
	t.rateAt = now
}

// rateAfter is the rate as it has decayed until now.
func (t *term) rateAfter(now time.Time) float64 {
	return t.rate * math.Exp(-now.Sub(t.rateAt).Seconds()/rateWindow.Seconds())
}

// Saved notes that the position was stored; at is the time of its event.
func (d *Destination) Saved(at time.Time) {
	if d == nil {
		return
	}
	d.lastSave.Store(time.Now().UnixNano())
	d.mu.Lock()
	d.savedAt = at
	d.mu.Unlock()
}

// Unusual counts something that an operator wants to know of, by a fixed
// short name such as "statement_dml", "reconnect", "tail_scan_miss".
func (d *Destination) Unusual(what string) { d.Count(what, 1) }

// Count counts n such things.
func (d *Destination) Count(what string, n int) {
	if d == nil || n == 0 {
		return
	}
	d.mu.Lock()
	d.unusual[what] += uint64(n)
	d.mu.Unlock()
}

// Lag is the age of the oldest change that was read and is not acknowledged; 0
// when there is none. Binlog times have whole seconds, so it is coarse.
func (d *Destination) Lag() time.Duration {
	t := d.now()
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.window.oldest(t.window.acked)
	if at == 0 {
		return 0
	}
	return max(0, time.Duration(time.Now().UnixNano()-at))
}

// Rate is the number of rows per second acknowledged of late.
func (d *Destination) Rate() float64 {
	t := d.now()
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rateAfter(time.Now())
}
