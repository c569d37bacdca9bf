package repeats

import (
	"context"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// mark is a point in the stream: a row of a transaction.
type mark struct {
	tx       string
	row      uint64
	lastKind event.Kind // protobuf: Begin or End if that is what stands there
	// at is the transaction as a position behind its first byte: without GTIDs a
	// file position, else the GTID alone.
	at position.Position
}

func parse(tx string, row uint64) mark {
	m := mark{tx: tx, row: row}
	place, uuid, byFile := strings.Cut(tx, "@")
	if !byFile {
		m.at.GTIDs = tx
		return m
	}
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 {
		return m
	}
	offset, err := strconv.ParseUint(place[colon+1:], 10, 64)
	if err == nil && uuid != "" {
		m.at = position.Position{File: place[:colon], Offset: offset + 1, ServerUUID: uuid}
	}
	return m
}

// byFile reports whether marks are ordered by file and offset.
func (m *mark) byFile() bool { return m.at.File != "" }

// passed reports whether a stream that stands at p has passed the mark's
// transaction. comparable is false when nothing can be said.
func (m *mark) passed(p position.Position) (passed, comparable bool) {
	if m.byFile() {
		if !strings.EqualFold(p.ServerUUID, m.at.ServerUUID) {
			return false, false
		}
		return position.Position{File: p.File, Offset: p.Offset, ServerUUID: p.ServerUUID}.Covers(m.at)
	}
	if p.GTIDs == "" {
		return false, false
	}
	if domain, number, ok := mariadb(m.at.GTIDs); ok {
		for one := range strings.SplitSeq(p.GTIDs, ",") {
			// Whichever server wrote it: numbers of a domain only grow.
			if d, n, ok := mariadb(one); ok && d == domain && n >= number {
				return true, true
			}
		}
		return false, true
	}
	return m.within(p), true // a set that lacks it is comparable, too
}

// within reports whether what the source executed up to p is known to hold the
// mark's transaction.
func (m *mark) within(p position.Position) bool {
	if m.byFile() {
		passed, comparable := m.passed(p)
		return passed && comparable
	}
	if _, number, ok := mariadb(m.at.GTIDs); ok { // another server of its domain may have gone on without it
		server := m.at.GTIDs[:strings.LastIndexByte(m.at.GTIDs, '-')+1]
		for one := range strings.SplitSeq(p.GTIDs, ",") {
			if _, n, ok := mariadb(one); ok && n >= number && strings.HasPrefix(strings.TrimSpace(one), server) {
				return true
			}
		}
		return false
	}
	covered, comparable := position.Position{GTIDs: p.GTIDs}.Covers(m.at)
	return covered && comparable
}

// mariadb reads a GTID of MariaDB: domain-server-number.
func mariadb(gtid string) (domain string, number uint64, ok bool) {
	domain, rest, _ := strings.Cut(strings.TrimSpace(gtid), "-")
	_, last, ok := strings.Cut(rest, "-")
	number, err := strconv.ParseUint(last, 10, 64)
	return domain, number, ok && err == nil && !strings.Contains(gtid, ":")
}

// unit is what is sent or taken out as a whole: a record, or an entry of one.
type unit struct {
	message int
	entries int // of the message, up to and with this one; 0 for a whole record
	tx      []byte
	row     uint64
	kind    event.Kind
}

// cut takes out of a parcel what readers have in places that are open.
func (f *Filter) cut(ctx context.Context, p *message.Parcel, id uint64) {
	units := make(map[*place][]unit)
	for i := range p.Messages {
		m := &p.Messages[i]
		if m.Partition < 0 {
			continue
		}
		if at := f.topics[m.Topic][m.Partition]; !at.settled {
			units[at] = appendUnits(units[at], i, m)
		}
	}
	skip := make(map[int]int) // by message: entries to take out; 0 is all of it
	for at := range f.open {
		n, met, why := at.tail.find(units[at], p.Resume)
		if why != "" {
			f.warn(at, at.tail.tx, at.tail.row, why)
		}
		for _, u := range units[at][:n] {
			skip[u.message] = u.entries
		}
		if met || why != "" {
			at.settled = true
			delete(f.open, at)
		}
	}
	f.take(p, id, skip)
}

// appendUnits appends the units of one message.
func appendUnits(dst []unit, i int, m *message.Message) []unit {
	for n, e := range m.Entries {
		dst = append(dst, unit{message: i, entries: n + 1, tx: e.Tx, row: e.Row, kind: e.Kind})
	}
	if len(m.Entries) > 0 {
		return dst
	}
	u := unit{message: i, tx: m.Headers.Tx}
	u.row, _ = strconv.ParseUint(string(m.Headers.Row), 10, 64) // we wrote it
	return append(dst, u)
}

// take takes messages and entries out.
func (f *Filter) take(p *message.Parcel, id uint64, skip map[int]int) {
	kept, taken := 0, 0
	for i := range p.Messages {
		m := &p.Messages[i]
		n, found := skip[i]
		if found && (n == 0 || n == len(m.Entries)) {
			taken++
			continue
		}
		if found {
			m.Value = f.c.Form.Without(m.Value, m.Entries, n, id)
		}
		if kept != i {
			p.Messages[kept] = *m
		}
		kept++
	}
	clear(p.Messages[kept:])
	p.Messages = p.Messages[:kept]
	f.metrics.Count("repeat_skipped", taken)
}

// find tells how many of the next units of a place readers have, and whether
// the mark is among them. Where it was passed without being met, why says so:
// then the units behind it are not what readers have. resume is where the
// parcel ends.
func (m *mark) find(units []unit, resume position.Position) (n int, met bool, why string) {
	const passed = "its place was passed without meeting it; the settings that decide what is sent may have changed"
	for i := range units {
		u := &units[i]
		switch same := string(u.tx) == m.tx; {
		case same && u.row == m.row && u.kind == m.lastKind:
			return i + 1, true, ""
		case same && u.row > m.row:
			return i, false, passed
		case same || !m.byFile():
			continue
		}
		order, comparable := m.compare(string(u.tx))
		switch {
		case !comparable:
			return i, false, "the source is another server now"
		case order > 0:
			return i, false, passed
		}
	}
	if m.byFile() || resume.IsZero() {
		return len(units), false, ""
	}
	// Behind its transaction, records may be new ones, and which of these units
	// stand behind it is not known.
	executed, comparable := m.passed(resume)
	switch {
	case !comparable:
		return 0, false, "the source does not tell any more which transactions were executed"
	case executed:
		return 0, false, passed
	}
	return len(units), false, ""
}

// compare orders another transaction of the same server and the mark's:
// positive when it stands behind the mark.
func (m *mark) compare(tx string) (order int, comparable bool) {
	other := parse(tx, 0)
	behind, comparable := m.passed(other.at)
	if !comparable {
		return 0, false
	}
	if behind {
		return 1, true
	}
	return -1, true
}
