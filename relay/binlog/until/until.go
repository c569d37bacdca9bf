// Package until gives the stream of a server an end.
package until

import (
	"context"
	"errors"
	"io"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// End gives a server's stream an end, as files have one: behind the event that
// reaches a file position, Run returns io.EOF.
func End(events binlog.Events, end position.Position) binlog.Events {
	return &until{events, position.Position{File: end.File, Offset: end.Offset}}
}

type until struct {
	binlog.Events
	end position.Position
}

var errReached = errors.New("the end that was asked for")

func (u *until) Run(ctx context.Context, from position.Position, h binlog.Handler) error {
	err := u.Events.Run(ctx, from, &ending{Handler: h, end: u.end, at: position.Position{File: from.File, Offset: from.Offset}})
	if errors.Is(err, errReached) {
		return io.EOF
	}
	return err
}

// ending is a handler that stops at a position.
type ending struct {
	binlog.Handler
	end, at position.Position
}

func (e *ending) HandleEvent(ev *replication.BinlogEvent) error {
	const wrap = 1 << 32 // of offsets in event headers
	if r, ok := ev.Event.(*replication.RotateEvent); ok {
		e.at.File, e.at.Offset = string(r.NextLogName), r.Position
	} else if beat, ok := ev.Event.(*replication.HeartbeatEvent); ok && beat.Version == 2 {
		e.at.Offset = max(e.at.Offset, beat.Offset)
	} else if low := uint64(ev.Header.LogPos); low > 0 {
		offset := e.at.Offset&^(wrap-1) | low
		if offset+wrap/2 < e.at.Offset {
			offset += wrap
		}
		e.at.Offset = max(e.at.Offset, offset)
	}
	if err := e.Handler.HandleEvent(ev); err != nil {
		return err
	}
	return e.look()
}

// Idle looks, too: there may be no event behind the position where the stream
// begins.
func (e *ending) Idle() error {
	if err := e.Handler.Idle(); err != nil {
		return err
	}
	return e.look()
}

func (e *ending) look() error {
	if reached, comparable := e.at.Covers(e.end); reached && comparable {
		return errReached
	}
	return nil
}
