package message

import (
	"strconv"

	"github.com/canal-relay/canal-relay/relay/event"
)

// The headers of a record: which destination wrote it, and where its last row
// stands, so that a repeat can be told from a change.
const (
	HeaderDestination = "r-dest"  // the destination's name
	HeaderPosition    = "r-pos"   // the transaction, as event.Change.Tx
	HeaderRow         = "r-row"   // index in the transaction of the record's last row, decimal
	HeaderEpoch       = "r-epoch" // the ownership in which it was written, decimal
	// HeaderOversize marks a record that shows key columns alone: bytes of the
	// record that was too large, decimal.
	HeaderOversize = "r-oversize"

	// HeaderHeartbeat is the only one of a heartbeat, beside r-epoch: the name of
	// the destination.
	HeaderHeartbeat = "r-heartbeat"
)

// Origin is what the headers of all records of a term have in common. It is
// immutable.
type Origin struct {
	destination, epoch []byte
}

// NewOrigin makes the Origin of a term. A negative epoch gives no r-epoch.
func NewOrigin(destination string, epoch int64) *Origin {
	o := &Origin{destination: []byte(destination)}
	if epoch >= 0 {
		o.epoch = strconv.AppendInt(nil, epoch, 10)
	}
	return o
}

// Headers returns the headers of a record of transaction tx whose last row is
// row, as AppendRow wrote it. They share the memory of tx and row.
func (o *Origin) Headers(tx, row []byte) Headers { return Headers{Origin: o, Tx: tx, Row: row} }

// Heartbeat returns the headers of a heartbeat.
func (o *Origin) Heartbeat() Headers { return Headers{Origin: o, Heartbeat: true} }

// Header is a header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Headers are those of a record, in a third of the memory of a list.
type Headers struct {
	Origin    *Origin // nil: neither r-dest nor r-epoch, r-pos and r-row
	Tx, Row   []byte  // r-pos and r-row
	Oversize  int     // r-oversize; 0 for none
	Heartbeat bool    // there is r-heartbeat in place of the others
}

// MostHeaders is how many headers a record has at most.
const MostHeaders = 5

// All lists them.
func (h *Headers) All() []Header { return AppendHeaders[Header](nil, h) }

// AppendHeaders appends h as the headers of a Kafka client, which have the shape
// of a Header.
func AppendHeaders[H ~struct {
	Key   string
	Value []byte
}](dst []H, h *Headers) []H {
	if o := h.Origin; o != nil {
		if h.Heartbeat {
			dst = append(dst, H{HeaderHeartbeat, o.destination})
		} else {
			dst = append(dst, H{HeaderDestination, o.destination}, H{HeaderPosition, h.Tx}, H{HeaderRow, h.Row})
		}
		if o.epoch != nil {
			dst = append(dst, H{HeaderEpoch, o.epoch})
		}
	}
	if h.Oversize > 0 {
		dst = append(dst, H{HeaderOversize, strconv.AppendInt(nil, int64(h.Oversize), 10)})
	}
	return dst
}

// AppendRow appends the r-row of a record that holds some rows of a change, by
// their index in it and in order; nil is all of them.
func AppendRow(dst []byte, c *event.Change, rows []int) []byte {
	return strconv.AppendUint(dst, LastRow(c, rows), 10)
}

// LastRow is the number in r-row. Where a transaction ends it is that of its
// last row.
func LastRow(c *event.Change, rows []int) uint64 {
	switch {
	case len(rows) > 0:
		return c.Row + uint64(rows[len(rows)-1])
	case c.Rows == 0:
		return max(c.Row, 1) - 1
	}
	return c.Row + uint64(c.Rows) - 1
}
