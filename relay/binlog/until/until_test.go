package until

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// ends feeds events that end at offsets, 0 being the beginning of the next file, and then waits.
type ends []uint32

func (e ends) Run(_ context.Context, _ position.Position, h binlog.Handler) error {
	for _, at := range e {
		ev := &replication.BinlogEvent{Header: &replication.EventHeader{LogPos: at}, Event: &replication.GenericEvent{}}
		if at == 0 {
			ev.Event = &replication.RotateEvent{Position: 4, NextLogName: []byte("b.000002")}
		}
		if err := h.HandleEvent(ev); err != nil {
			return err
		}
	}
	if err := h.Idle(); err != nil {
		return err
	}
	return errWaits
}

func (ends) Reread(context.Context, position.Position, binlog.Handler) error { return nil }

var errWaits = errors.New("waits for more")

type counting int

func (c *counting) Begin(position.Position) error { return nil }
func (c *counting) Idle() error                   { return nil }
func (c *counting) HandleEvent(*replication.BinlogEvent) error {
	*c++
	return nil
}

func TestUntil(t *testing.T) {
	for name, c := range map[string]struct {
		events ends
		end    position.Position
		want   int
		err    error
	}{
		"an event's end":     {ends{100, 200, 300}, position.Position{File: "b.000001", Offset: 200}, 2, io.EOF},
		"in the next file":   {ends{100, 200, 0, 150, 250}, position.Position{File: "b.000002", Offset: 150}, 4, io.EOF},
		"behind a rotation":  {ends{100, 0, 150}, position.Position{File: "b.000001", Offset: 120}, 2, io.EOF},
		"not there yet":      {ends{100, 200}, position.Position{File: "b.000001", Offset: 300}, 2, errWaits},
		"beyond 4 GiB":       {ends{100, 4_000_000_000, 50, 90}, position.Position{File: "b.000001", Offset: 1<<32 + 50}, 3, io.EOF},
		"nothing to be read": {nil, position.Position{File: "b.000001", Offset: 4}, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			var got counting
			err := End(c.events, c.end).Run(t.Context(), position.Position{File: "b.000001", Offset: 4}, &got)
			if !errors.Is(err, c.err) || int(got) != c.want {
				t.Errorf("%d events, %v; want %d, %v", got, err, c.want, c.err)
			}
		})
	}
}
