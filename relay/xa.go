package relay

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// ErrPrepared says that an XA transaction was committed whose rows, which were
// logged when it was prepared, cannot be read any more.
var ErrPrepared = errors.New("the rows of a prepared XA transaction cannot be read")

const (
	maxHeld    = 1 << 20   // bytes of one XA transaction that are held until its decision
	heldCharge = 256 << 10 // bytes that a held transaction may keep alive beside its own: a chunk of wire.Arena
)

// held are the events of an XA transaction that wait for its decision. To hold
// them only saves reading them again: the note in the position says where they
// are.
type held struct {
	events   []heldEvent
	size     int
	captured bool // some of them are sent on
	over     bool // they are too many, and were let go
}

// heldEvent is an event and what was known where it stood.
type heldEvent struct {
	*replication.BinlogEvent
	text    track.Text
	trailer int
	place
}

// place is where an event stands.
type place struct {
	file       string
	start, end uint64
}

// at is the place of the event at hand.
func (a *assembler) at() place {
	if a.replayed != nil {
		return *a.replayed
	}
	return place{a.track.File, a.track.Start, a.track.End}
}

// hold keeps an event of an XA transaction that is not prepared yet.
func (a *assembler) hold(e *replication.BinlogEvent, text track.Text, trailer int) error {
	h := a.open2pc
	if h == nil {
		h = &held{}
		a.open2pc = h
	}
	switch ev := e.Event.(type) {
	case *replication.TableMapEvent:
		if err := a.tableMap(e, ev, trailer); err != nil {
			return err
		}
	case *replication.RowsEvent:
		kind, _ := rowKind(e.Header.EventType)
		if m := a.maps[ev.TableID]; ev.Table == nil || m != nil && (!m.captured || a.dropsRows(kind)) {
			return nil
		}
		h.captured = true
	case *replication.QueryEvent:
		h.captured = h.captured || text == track.TextStatement
	}
	h.size += len(e.RawData)
	if h.over = h.over || h.size > maxHeld; h.over {
		h.events = nil
		return nil
	}
	h.events = append(h.events, heldEvent{parse.Keep(e), text, trailer, a.at()})
	return nil
}

// decide does what an event that the track has not taken yet says about an XA
// transaction. A commit sends its rows on, as part of the transaction that the
// commit stands in.
func (a *assembler) decide(e *replication.BinlogEvent) error {
	d := a.track.Decision(e)
	if d == nil {
		return nil
	}
	h := a.open2pc
	if d.Verdict == track.XACommit || d.Verdict == track.XARollback {
		h = a.prepared[d.XID]
		a.discard(d.XID)
	}
	a.open2pc = nil
	switch {
	case d.Verdict == track.XAPrepare:
		a.track.Empty = h == nil || !h.captured
		a.keepHeld(d.XID, h)
		return nil
	case d.Verdict == track.XARollback || d.Empty:
		return nil
	case !d.Known:
		a.r.d.Unusual("xa_unknown")
		a.once("xa "+d.XID, "an XA transaction is committed that was prepared before the stream began: its rows are not sent", "xid", d.XID)
		return nil
	}
	a.replaying = true
	err := a.replay(d, h)
	a.replaying, a.replayed = false, nil
	return err
}

// keepHeld holds a prepared transaction, if there is room.
func (a *assembler) keepHeld(xid string, h *held) {
	if h == nil || h.over || !h.captured || int64(a.heldBytes+h.size+heldCharge) > a.r.c.Memory/8 {
		return
	}
	if a.prepared == nil {
		a.prepared = map[string]*held{}
	}
	a.discard(xid)
	a.prepared[xid] = h
	a.heldBytes += h.size + heldCharge
}

func (a *assembler) discard(xid string) {
	if h := a.prepared[xid]; h != nil {
		delete(a.prepared, xid)
		a.heldBytes -= h.size + heldCharge
	}
}

// replay takes the events of a transaction that is committed now.
func (a *assembler) replay(d *track.XA, h *held) error {
	if h == nil || h.over {
		return a.reread(d)
	}
	for i := range h.events {
		if err := a.again(&h.events[i]); err != nil {
			return err
		}
	}
	return nil
}

// again takes an event that stood elsewhere.
func (a *assembler) again(h *heldEvent) error {
	a.replayed = &h.place
	return a.take(h.BinlogEvent, track.Step{Text: h.text}, h.trailer)
}

// reread reads a transaction's events again from the source.
func (a *assembler) reread(d *track.XA) error {
	r := &rereader{a: a, xid: d.XID}
	r.track, _ = track.New(position.Position{File: d.File, Offset: d.Start}, a.r.c.Files) // fails for a GTID set only
	a.r.d.Unusual("xa_reread")
	err := a.r.events.Reread(a.ctx, a.track.Before(d.XA), r)
	switch {
	case a.ctx.Err() != nil || r.done:
		return a.ctx.Err()
	case r.failed != nil:
		return r.failed
	case err == nil || errors.Is(err, wire.ErrEnded):
		err = errors.New("the binlog ends before it")
	case !errors.Is(err, binlog.ErrPurged) && !errors.Is(err, binlog.ErrFormat) && !errors.Is(err, binlog.ErrDenied) && !errors.Is(err, binlog.ErrStart):
		return fmt.Errorf("%w: read prepared XA transaction %s: %w", binlog.ErrAway, d.XID, err)
	}
	return lost(d.XID, d.XA, err)
}

// lost is the error for a transaction that is not where its note says. It does
// not wrap its cause: that the file is gone says nothing about the stream's own.
func lost(xid string, x position.XA, why any) error {
	return fmt.Errorf("%w: %s was prepared at %s:%d on server %q, and is committed here: %v: to go on without its rows, write the stored position anew",
		ErrPrepared, xid, x.File, x.Start, x.ServerUUID, why)
}

var errReread = errors.New("read again")

// rereader is a handler that takes one prepared transaction.
type rereader struct {
	a       *assembler
	xid     string
	track   *track.Track
	trailer int
	began   bool
	done    bool
	failed  error
}

func (r *rereader) Begin(position.Position) error { return nil }
func (r *rereader) Idle() error                   { return nil }

func (r *rereader) HandleEvent(e *replication.BinlogEvent) error {
	if f, ok := e.Event.(*replication.FormatDescriptionEvent); ok {
		r.trailer = checksumOf(f)
	}
	if r.failed = r.take(e, r.track.Next, r.trailer); r.failed != nil || r.done {
		return errReread
	}
	if p, ok := e.Event.(*parse.Payload); ok {
		return p.Events(func(inner *replication.BinlogEvent) error {
			if r.failed = r.take(inner, r.track.Inner, 0); r.failed != nil || r.done {
				return errReread
			}
			return nil
		})
	}
	return nil
}

// take takes an event of the range, which must be the transaction that was
// noted.
func (r *rereader) take(e *replication.BinlogEvent, next func(*replication.BinlogEvent) track.Step, trailer int) error {
	d := r.track.Decision(e)
	step := next(e)
	if d != nil && d.Verdict <= track.XAOnePhase && r.began && strings.EqualFold(d.XID, r.xid) {
		r.done = true
		return nil
	}
	if step.Ended || step.Began && r.began {
		return lost(r.xid, position.XA{File: r.track.File, Start: r.track.Start}, "something else is there")
	}
	r.began = r.began || step.Began
	if !r.track.XA {
		return nil
	}
	return r.a.again(&heldEvent{e, step.Text, trailer, place{r.track.File, r.track.Start, r.track.End}})
}

// undecided tells metrics what waits.
func (a *assembler) undecided() {
	list := a.track.Position().Prepared
	var oldest time.Time
	for _, x := range list {
		if at := time.Unix(x.Time, 0); x.Time > 0 && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	a.r.d.Prepared(len(list), oldest)
}
