package relay

import (
	"fmt"
	"slices"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/position"
)

// leaveOut reports whether an operator ordered to leave an event, or all of the
// open transaction, out.
func (a *assembler) leaveOut(e *replication.BinlogEvent, text track.Text) bool {
	if len(a.r.skip) == 0 {
		return false
	}
	at, order := a.at(), string(a.track.Tx)
	whole := slices.Contains(a.r.skip, order)
	if !whole {
		if order = fmt.Sprintf("%s:%d", at.file, at.start); !slices.Contains(a.r.skip, order) {
			return false
		}
	}
	switch e.Event.(type) {
	case *replication.RowsEvent:
	case *replication.TableMapEvent:
		return whole
	case *replication.QueryEvent:
		if text != track.TextStatement && text != track.TextXADecision {
			return false
		}
	default:
		return false
	}
	a.skipped = true
	a.r.d.Unusual("skipped_by_order")
	a.r.log.Warn("an event is left out, as an operator ordered", "order", order, "event", e.Header.EventType.String(),
		"file", at.file, "offset", at.start, "transaction", string(a.track.Tx))
	return true
}

// fault names the event at hand, which failed, so that an operator can have it
// left out.
func (a *assembler) fault(e *replication.BinlogEvent, err error) error {
	at := a.at()
	fault := &position.Fault{At: fmt.Sprintf("%s:%d", at.file, at.start), Err: err}
	if _, ok := e.Event.(*replication.TableMapEvent); ok {
		fault.At = string(a.track.Tx) // the rows behind it need it
	}
	return fmt.Errorf("%s at %s:%d: %w", e.Header.EventType, at.file, at.start, fault)
}
