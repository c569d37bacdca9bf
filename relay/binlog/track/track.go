package track

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/position"
)

// Track follows a stream event by event: where it is, which transaction is
// open, which are executed. It is the one place that knows how the two servers
// frame transactions.
//
// Offsets are counted by adding event sizes, because the 32 bits of the header
// wrap at 4 GiB; the header only corrects for what a server left out of a dump.
// Where that is more than 2 GiB of one file an offset is too low by a multiple
// of 4 GiB, unless the server tells it: MySQL does, by a heartbeat, and for MariaDB
// package wraps finds it out.
type Track struct {
	File       string // of the event last taken
	Start, End uint64 // its first byte and the byte behind it
	Tx         []byte // open transaction: its GTID, or file:offset@server-uuid; valid until the next one opens
	Open       bool   // a transaction is open
	XA         bool   // it is an XA transaction that was not prepared yet
	Empty      bool   // it holds nothing that anyone wants, should it be prepared; the caller's

	files   bool // header offsets are not to be trusted
	inner   bool // the event stands in a payload
	framed  bool // the open transaction has a BEGIN, so that it ends with an XID, COMMIT or ROLLBACK
	pending gtid // GTID of the open transaction; zero if it has none
	set     GTIDSet
	known   bool // set is complete
	mixed   bool // transactions without GTID were met: no set can be complete
	last    position.Position
	began   position.XA // where the open transaction began
}

// Step is what one event did to the transaction it stands in.
type Step struct {
	Began bool // it opened a transaction
	Ended bool // it ended one, or stands alone: Position is behind it
	Text  Text // what a query event says
}

// New starts at a position between transactions. With files set, offsets
// are those of the file that is read, whatever the event headers say.
func New(p position.Position, files bool) (*Track, error) {
	set, err := ParseGTIDSet(p.GTIDs)
	if err != nil {
		return nil, err
	}
	return &Track{File: p.File, Start: p.Offset, End: p.Offset, files: files, set: set, known: p.GTIDs != "", last: p}, nil
}

// Position is the end of the last transaction that was ended, as it is stored:
// the start of an XID or COMMIT event, the end of any other.
func (t *Track) Position() position.Position {
	p := t.last
	p.GTIDs = ""
	if t.known {
		p.GTIDs = t.set.String()
	}
	return p
}

// AppendGTIDs adds the set executed so far, with the open transaction in it,
// in the server's text form; nothing where it is not known.
func (t *Track) AppendGTIDs(b []byte) []byte {
	if !t.known {
		return b
	}
	if !t.Open || t.pending.isZero() {
		return t.set.append(b)
	}
	with := t.set.clone()
	with.add(&t.pending)
	return with.append(b)
}

// Next takes an event of the stream. The events inside a transaction payload
// are given to Inner, after the payload itself.
func (t *Track) Next(e *replication.BinlogEvent) Step {
	if !t.locate(e) {
		return Step{}
	}
	return t.step(e)
}

// Inner takes an event of a transaction payload, which has no place of its own
// in the file.
func (t *Track) Inner(e *replication.BinlogEvent) Step {
	t.inner = true
	s := t.step(e)
	t.inner = false
	return s
}

// locate moves File, Start and End; it is false for events that are not in the
// file: those that a server makes up for a dump.
func (t *Track) locate(e *replication.BinlogEvent) bool {
	h := e.Header
	if r, ok := e.Event.(*replication.RotateEvent); ok {
		if t.files && h.EventSize > 0 { // which file is next is for the list to say
			t.Start, t.End = t.End, t.End+uint64(h.EventSize)
			return false
		}
		if t.File != string(r.NextLogName) {
			t.File = string(r.NextLogName)
		}
		t.Start, t.End = r.Position, r.Position
		return false
	}
	switch h.EventType {
	case replication.HEARTBEAT_EVENT, replication.HEARTBEAT_LOG_EVENT_V2:
		t.correct(h.LogPos)
		// MySQL sends one behind what it left out. Its second version has all of the offset.
		if beat, ok := e.Event.(*replication.HeartbeatEvent); ok && beat.Version == 2 && beat.Filename == t.File {
			t.End = max(t.End, beat.Offset)
		}
		t.Start = t.End
		return false
	case replication.FORMAT_DESCRIPTION_EVENT:
		if !t.files && h.LogPos == 0 {
			return false
		}
	}
	if !t.files && h.Flags&replication.LOG_EVENT_ARTIFICIAL_F != 0 {
		return h.EventType == replication.MARIADB_GTID_LIST_EVENT
	}
	t.End += uint64(h.EventSize)
	t.correct(h.LogPos)
	t.Start = t.End - uint64(h.EventSize)
	return true
}

// correct moves End forward to the next offset whose low 32 bits are logPos: a
// dump by GTID leaves out what the reader has.
func (t *Track) correct(logPos uint32) {
	if t.files || logPos == 0 {
		return
	}
	if skipped := logPos - uint32(t.End); skipped < 1<<31 {
		t.End += uint64(skipped)
	}
}

// step does the transaction part of Next.
func (t *Track) step(e *replication.BinlogEvent) Step {
	switch ev := e.Event.(type) {
	case *replication.GTIDEvent:
		return t.gtid(e.Header, ev)
	case *replication.GtidTaggedLogEvent:
		return t.gtid(e.Header, &ev.GTIDEvent)
	case *replication.MariadbGTIDEvent:
		t.begin(gtid{domain: ev.GTID.DomainID, server: ev.GTID.ServerID, sequence: ev.GTID.SequenceNumber})
		t.framed = !ev.IsStandalone()
		if t.XA = ev.Flags&mariadbPreparedXA != 0; t.XA && t.known {
			t.began.After = t.set.last(ev.GTID.DomainID)
		}
		return Step{Began: true}
	case *replication.PreviousGTIDsEvent:
		t.learn(ev.GTIDSets)
	case *replication.MariadbGTIDListEvent:
		t.learnDomains(ev)
	case *replication.QueryEvent:
		return t.query(e, ev)
	case *replication.XIDEvent:
		return t.end(e.Header, t.commitOffset())
	}
	switch e.Header.EventType {
	case replication.XA_PREPARE_LOG_EVENT:
		t.note(e)
		return t.end(e.Header, t.End)
	case replication.INTVAR_EVENT, replication.RAND_EVENT, replication.USER_VAR_EVENT, replication.TABLE_MAP_EVENT,
		replication.ROWS_QUERY_EVENT, replication.MARIADB_ANNOTATE_ROWS_EVENT:
		return Step{Began: t.ensure()}
	}
	return Step{}
}

func (t *Track) gtid(h *replication.EventHeader, ev *replication.GTIDEvent) Step {
	g := gtid{number: ev.GNO, tag: ev.Tag.String()}
	if h.EventType == replication.ANONYMOUS_GTID_EVENT {
		// A set can no longer say what was executed.
		g, t.known, t.mixed = gtid{}, false, true
	} else {
		copy(g.sid[:], ev.SID)
	}
	t.begin(g)
	return Step{Began: true}
}

// begin opens a transaction; one that is still open was never finished by the
// source, which then was killed and has rolled it back.
func (t *Track) begin(g gtid) {
	t.Open, t.framed, t.pending, t.XA, t.Empty = true, false, g, false, false
	t.began = position.XA{File: t.File, Start: t.Start, ServerUUID: t.last.ServerUUID}
	if t.last.File == "" { // the set that the stream started with gets its place
		t.last.File, t.last.Offset = t.File, t.Start
	}
	if g.isZero() {
		t.Tx = append(append(t.Tx[:0], t.File...), ':')
		t.Tx = append(strconv.AppendUint(t.Tx, t.Start, 10), '@')
		t.Tx = append(t.Tx, t.last.ServerUUID...)
		return
	}
	t.Tx = g.append(t.Tx[:0])
	t.began.GTID = t.gtidOf()
}

// ensure opens a transaction of sources that write no GTID event.
func (t *Track) ensure() bool {
	if t.Open {
		return false
	}
	t.begin(gtid{})
	return true
}

func (t *Track) query(e *replication.BinlogEvent, ev *replication.QueryEvent) Step {
	h := e.Header
	s := Step{Text: ClassifyText(ev.Query)}
	switch s.Text {
	case TextCommit, TextRollback:
		end := t.End
		if s.Text == TextCommit {
			end = t.commitOffset()
		}
		return Step{Text: s.Text, Ended: t.end(h, end).Ended}
	case TextBegin, TextXAStart:
		s.Began = t.ensure()
		t.framed, t.XA = true, t.XA || s.Text == TextXAStart
		return s
	case TextXADecision:
		s.Began = t.ensure()
		t.note(e)
		s.Ended = t.end(h, t.End).Ended
		return s
	}
	s.Began = t.ensure()
	if t.framed {
		return s
	}
	if bytes.HasSuffix(ev.Query, []byte("START TRANSACTION")) {
		// CREATE TABLE … SELECT on MySQL: rows and an XID follow.
		t.framed = true
		return s
	}
	if s.Text != TextSavepoint && s.Text != TextXAEnd {
		s.Ended = t.end(h, t.End).Ended
	}
	return s
}

// commitOffset is where a stream resumes behind an XID or COMMIT: at the event
// itself, as Canal stores it, or behind the payload that it stands in.
func (t *Track) commitOffset() uint64 {
	if t.inner {
		return t.End
	}
	return t.Start
}

func (t *Track) end(h *replication.EventHeader, offset uint64) Step {
	if t.Open && !t.pending.isZero() {
		t.set.add(&t.pending)
	}
	t.Open, t.framed, t.XA = false, false, false
	t.last.File, t.last.Offset = t.File, offset
	t.last.ServerID = h.ServerID
	t.last.Time = time.Unix(int64(h.Timestamp), 0)
	return Step{Ended: true}
}

// learn takes the set that a file begins with, where none was known.
func (t *Track) learn(text string) {
	if t.known || t.mixed {
		return
	}
	if set, err := ParseGTIDSet(text); err == nil {
		t.set, t.known = set, true
	}
}

func (t *Track) learnDomains(ev *replication.MariadbGTIDListEvent) {
	if t.known {
		return
	}
	for _, g := range ev.GTIDs {
		t.set.add(&gtid{domain: g.DomainID, server: g.ServerID, sequence: g.SequenceNumber})
	}
	t.known = true
}
