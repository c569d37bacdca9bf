package track

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/position"
)

// mariadbPreparedXA is the flag of a MariaDB GTID event whose transaction is an
// XA one that ends with its prepare (FL_PREPARED_XA): XA START is not logged.
const mariadbPreparedXA = 64

// Verdict is what an event says about an XA transaction.
type Verdict uint8

// The verdicts.
const (
	XAPrepare  Verdict = iota // its rows wait for a decision
	XAOnePhase                // it is committed with its prepare
	XACommit
	XARollback
)

// XA is a verdict on an XA transaction and where its rows are.
type XA struct {
	position.XA
	Verdict Verdict
	Known   bool // the rows are known: of a commit or rollback, its prepare was noted
}

// Decision tells what an event that is about to be given to Next or Inner says
// about an XA transaction; nil for any other event.
func (t *Track) Decision(e *replication.BinlogEvent) *XA {
	switch ev := e.Event.(type) {
	case *replication.QueryEvent:
		if ClassifyText(ev.Query) != TextXADecision {
			return nil
		}
		d := decision(string(ev.Query))
		if i := t.noted(d.XID); i >= 0 {
			d.XA, d.Known = t.last.Prepared[i], true
		}
		return d
	case *replication.GenericEvent:
		if e.Header.EventType != replication.XA_PREPARE_LOG_EVENT || len(ev.Data) == 0 {
			return nil
		}
		d := &XA{XA: t.began, Known: true}
		d.XID = xid(ev.Data[1:])
		if ev.Data[0] != 0 {
			d.Verdict = XAOnePhase
		}
		return d
	}
	return nil
}

// decision reads XA COMMIT X'…',X'…',1 and XA ROLLBACK.
func decision(sql string) *XA {
	d := &XA{Verdict: XACommit}
	words := strings.Fields(sql)
	if strings.EqualFold(words[1], "ROLLBACK") {
		d.Verdict = XARollback
	}
	if len(words) > 2 {
		d.XID = words[2]
	}
	return d
}

// xid is the statement's text for the body of a prepare event behind its first
// byte: format, lengths of the two parts (4 bytes each), the parts.
func xid(b []byte) string {
	if len(b) < 12 {
		return ""
	}
	format := int32(binary.LittleEndian.Uint32(b))
	n, m := int(binary.LittleEndian.Uint32(b[4:])), int(binary.LittleEndian.Uint32(b[8:]))
	if b = b[12:]; n < 0 || m < 0 || n > len(b) || m > len(b)-n {
		return ""
	}
	return fmt.Sprintf("X'%s',X'%s',%d", hex.EncodeToString(b[:n]), hex.EncodeToString(b[n:n+m]), format)
}

// noted is where a prepared transaction stands in the list; -1 if it does not.
func (t *Track) noted(id string) int {
	return slices.IndexFunc(t.last.Prepared, func(x position.XA) bool { return strings.EqualFold(x.XID, id) })
}

// note follows a verdict. The list is shared with positions that were handed
// out, so that it is never changed in place.
func (t *Track) note(e *replication.BinlogEvent) {
	d := t.Decision(e)
	if d == nil {
		return
	}
	list := t.last.Prepared
	if i := t.noted(d.XID); i >= 0 {
		list = slices.Concat(list[:i], list[i+1:])
	}
	if d.Verdict == XAPrepare {
		x := d.XA
		x.End, x.Time, x.Empty = t.End, int64(e.Header.Timestamp), t.Empty
		list = append(slices.Clip(list), x)
	}
	if len(list) == 0 {
		list = nil
	}
	t.last.Prepared = list
}

// Before is a position from which a stream begins with a prepared transaction:
// by its file, and, for another server, by a set in which it alone is missing, or,
// on MariaDB, it and what follows in its domain.
func (t *Track) Before(x position.XA) position.Position {
	p := position.Position{File: x.File, Offset: x.Start, ServerUUID: x.ServerUUID}
	if t.known && x.After != "" {
		set := t.set.clone()
		set.rewind(x.After)
		p.GTIDs = set.String()
		return p
	}
	if !t.known || x.GTID == "" {
		return p
	}
	one, err := ParseGTIDSet(x.GTID)
	if err != nil || len(one.sources) != 1 || len(one.sources[0].intervals) != 1 {
		return p
	}
	set := t.set.clone()
	src := one.sources[0]
	set.source(src.sid, src.tag).remove(src.intervals[0].start)
	p.GTIDs = set.String()
	return p
}

// remove takes one number out.
func (s *sourceSet) remove(n int64) {
	for i, in := range s.intervals {
		if n < in.start || n >= in.stop {
			continue
		}
		var left []interval
		if in.start < n {
			left = append(left, interval{in.start, n})
		}
		if n+1 < in.stop {
			left = append(left, interval{n + 1, in.stop})
		}
		s.intervals = slices.Replace(s.intervals, i, i+1, left...)
		return
	}
}

// gtidOf is the open transaction's name if it is a GTID of MySQL.
func (t *Track) gtidOf() string {
	if t.pending.number == 0 {
		return ""
	}
	return string(bytes.Clone(t.Tx))
}
