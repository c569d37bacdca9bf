package binlog

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/canal-relay/canal-relay/relay/binlog/search"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Reread streams what stands behind a position over a connection of its own,
// which is not registered as a replica. On another server than the position's
// it needs the GTID set.
func (r *Reader) Reread(ctx context.Context, at position.Position, h Handler) error {
	s, err := r.here().Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	foreign := r.foreign(ctx, s, at)
	switch {
	case foreign && (at.GTIDs == "" || !s.Server.GTID()):
		return fmt.Errorf("%w: %s:%d is of %s, and this is %s", ErrPurged, at.File, at.Offset, serverOf(at), serverOf(r.at(s)))
	case !foreign && at.Offset <= math.MaxUint32 && !s.Server.MariaDB(): // whose servers cannot be told apart
		at.GTIDs = ""
	}
	if err := s.Scanner(); err != nil {
		return err
	}
	if err := s.Dump(r.here().Unnamed(), at); err != nil {
		return err
	}
	if err := h.Begin(at); err != nil {
		return err
	}
	return r.named(ctx, at, stream(s, h))
}

// Holds asks whether the source can still stream from a position that is not
// zero: it starts a dump there that ends with its first event, on a connection
// that is not registered as a replica. Its error is the one that Run would
// return.
func (r *Reader) Holds(ctx context.Context, p position.Position) error {
	err := r.holds(ctx, p)
	if errors.Is(err, search.ErrFound) || errors.Is(err, wire.ErrEnded) {
		return nil
	}
	return r.explain(ctx, err)
}

func (r *Reader) holds(ctx context.Context, p position.Position) error {
	s, err := r.here().Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if p, err = r.begin(ctx, s, p, false); err != nil {
		return err
	}
	if err := s.Scanner(); err != nil {
		return err
	}
	if err := s.Dump(r.here().Unnamed(), p); err != nil {
		return err
	}
	return r.named(ctx, p, stream(s, &search.First{}))
}
