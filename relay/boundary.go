package relay

import (
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/buffer"
	"github.com/canal-relay/canal-relay/relay/event"
)

// boundaries decides where changes that begin and end a transaction are handed
// on. Canal collects the entries of a transaction in lists: one ends with the
// transaction, and with every statement or text within it. A list without rows
// or statements is dropped, but now and then, so that its consumers see a source
// move on.
type boundaries struct {
	begin   event.Change // of the open transaction, not handed on yet
	pending bool         // there is one
	held    bool         // the list has rows already

	passed clock // of an END that the filter let through
	empty  clock // of a list without rows that was handed on
}

// clock lets one through after so many were held back, or when so much time of
// events lies between, in seconds.
type clock struct {
	held int
	last int64
}

const (
	mostHeld = 8192
	longHeld = 5
)

func (c *clock) lets(now int64) bool {
	c.held++
	away := now - c.last
	return c.held > mostHeld || away > longHeld || away < -longHeld
}

func (c *clock) set(now int64) { c.held, c.last = 0, now }

// begins notes that a transaction begins, with the text of XA START if that is
// what began it.
func (a *assembler) begins(h *replication.EventHeader, thread uint32, xa string) {
	if !a.r.c.Boundaries {
		return
	}
	c := a.textChange(h, event.Begin, xa)
	c.Thread = thread
	a.placed(&c)
	a.bounds.begin, a.bounds.pending, a.bounds.held = c, true, false
}

// data is told of every change before it is added to the batch.
func (a *assembler) data(c *event.Change, sent bool) {
	b := &a.bounds
	if !a.r.c.Boundaries {
		return
	}
	if b.pending {
		b.pending = false
		if !sent && a.lets(&b.begin) {
			a.hand(b.begin)
		}
	}
	b.held = c.Kind <= event.Delete
}

// ends hands on where a transaction ends, with the text of XA END if that is
// what ended it.
func (a *assembler) ends(h *replication.EventHeader, xid uint64, xa string) {
	b := &a.bounds
	if !a.r.c.Boundaries {
		return
	}
	c := a.textChange(h, event.End, xa)
	c.XID, c.Row = xid, a.row
	a.placed(&c)
	begin := b.pending && a.lets(&b.begin)
	end := a.lets(&c)
	hand := b.held
	if !hand && (begin || end) {
		first := c.Time
		if begin {
			first = b.begin.Time
		}
		if hand = b.empty.lets(first); hand {
			b.empty.set(first)
		}
	}
	if hand && begin {
		a.hand(b.begin)
	}
	if hand && end {
		a.hand(c)
	}
	b.pending, b.held = false, false
}

// lets asks canal.instance.filter.transaction.entry.
func (a *assembler) lets(c *event.Change) bool {
	if !a.r.c.Drop.Transactions {
		return true
	}
	if !a.bounds.passed.lets(c.Time) {
		return false
	}
	if c.Kind == event.End {
		a.bounds.passed.set(c.Time)
	}
	return true
}

// hand puts a change without rows into the open batch.
func (a *assembler) hand(c event.Change) {
	a.named(&c)
	a.batch.Changes = append(a.batch.Changes, c)
}

// placed says where the event at hand stands.
func (a *assembler) placed(c *event.Change) {
	at := a.at()
	c.File, c.Offset, c.Length = at.file, at.start, uint32(at.end-at.start)
}

// named says which transaction a change belongs to.
func (a *assembler) named(c *event.Change) {
	if a.txKept == nil {
		a.txKept = buffer.Keep(a.batch, a.track.Tx)
	}
	c.Tx, c.GTID, c.Clock = a.txKept, a.gtids, a.clock
}

// timed notes the logical clock of a transaction on MySQL.
func (a *assembler) timed(ev *replication.GTIDEvent) {
	if a.r.c.Clocks && a.gtids != "" {
		a.clock = &event.Clock{Sequence: ev.SequenceNumber, LastCommitted: ev.LastCommitted}
	}
}
