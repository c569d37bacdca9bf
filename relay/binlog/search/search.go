package search

import (
	"errors"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/position"
)

// ErrFound ends a stream: its handler has seen what it looked for, or that there
// is nothing more to see.
var ErrFound = errors.New("found")

// Beginning looks for the time at which a file begins.
type Beginning struct{ At time.Time }

// Begin does nothing.
func (*Beginning) Begin(position.Position) error { return nil }

// Idle does nothing.
func (*Beginning) Idle() error { return nil }

// HandleEvent takes the first event that was not made up for the dump.
func (b *Beginning) HandleEvent(e *replication.BinlogEvent) error {
	if e.Header.Timestamp == 0 {
		return nil
	}
	b.At = time.Unix(int64(e.Header.Timestamp), 0)
	return ErrFound
}

// Scan looks for the last transaction end of one file, read from its start,
// before an offset or a time.
type Scan struct {
	File   string
	Offset uint64            // 0 for none
	Until  time.Time         // zero for none
	Found  position.Position // zero when there is none

	track *track.Track
}

// Begin is called at the file's start.
func (h *Scan) Begin(position.Position) (err error) {
	h.track, err = track.New(position.Position{File: h.File, Offset: 4}, false)
	return err
}

// Idle does nothing.
func (h *Scan) Idle() error { return nil }

// HandleEvent looks at one event.
func (h *Scan) HandleEvent(e *replication.BinlogEvent) error {
	at := time.Unix(int64(e.Header.Timestamp), 0)
	if !h.Until.IsZero() && e.Header.Timestamp > 0 && !at.Before(h.Until) {
		return ErrFound
	}
	if beat(e) {
		return ErrFound // nothing newer
	}
	step := h.track.Next(e)
	if h.track.File != h.File {
		return ErrFound
	}
	if p, ok := e.Event.(*parse.Payload); ok {
		if err := p.Events(func(inner *replication.BinlogEvent) error {
			step = h.track.Inner(inner)
			return nil
		}); err != nil {
			return err
		}
	}
	if step.Ended && (h.Offset == 0 || h.track.Position().Offset <= h.Offset) {
		h.Found = h.track.Position()
		if h.Offset > 0 && h.track.End <= h.Offset {
			h.Found.Offset = h.track.End
		}
	}
	if h.Offset > 0 && (h.track.Start >= h.Offset || h.track.End > h.Offset) {
		return ErrFound
	}
	return nil
}

// First looks for the first event at a position. None is there, and Event stays
// nil, where the position is the end of the binlog.
type First struct{ Event *replication.EventHeader }

// Begin does nothing.
func (*First) Begin(position.Position) error { return nil }

// Idle does nothing.
func (*First) Idle() error { return nil }

// HandleEvent takes the first event that a source sends once it has looked at
// the position.
func (h *First) HandleEvent(e *replication.BinlogEvent) error {
	switch {
	case e.Header.EventType == replication.ROTATE_EVENT && e.Header.Timestamp == 0, e.Header.EventType == replication.FORMAT_DESCRIPTION_EVENT:
		return nil // made up for the dump
	case !beat(e) && e.Header.Timestamp > 0:
		header := *e.Header
		h.Event = &header
	}
	return ErrFound
}

// Other reports whether something else stands at a position that was saved at an
// event of a server and a time. Canal's stand at an event within a transaction,
// ours there or behind one: what begins a transaction or ends a file tells nothing.
func (h *First) Other(server uint32, at time.Time) bool {
	if h.Event == nil {
		return false
	}
	switch h.Event.EventType {
	case replication.ROTATE_EVENT, replication.GTID_EVENT, replication.ANONYMOUS_GTID_EVENT, replication.GTID_TAGGED_LOG_EVENT, replication.MARIADB_GTID_EVENT:
		return false
	}
	return h.Event.ServerID != server || int64(h.Event.Timestamp) != at.Unix()
}

func beat(e *replication.BinlogEvent) bool {
	return e.Header.EventType == replication.HEARTBEAT_EVENT || e.Header.EventType == replication.HEARTBEAT_LOG_EVENT_V2
}
