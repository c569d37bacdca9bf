// Package resume decides where a term goes on when both readers' own record and
// the stored cursor say something.
package resume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/canal-relay/canal-relay/relay/position"
)

// Claimer is a Producer as this package needs it.
type Claimer interface {
	Claim(ctx context.Context, epoch int64) (position.Resume, error)
}

// Beginner is a Producer that keeps a record of what readers have.
type Beginner interface {
	// Begin is told where the term goes on, after Claim and before Send.
	Begin(ctx context.Context, from position.Resume) error
}

// Claim makes a producer ready and decides where the term goes on: where the
// cursor says, unless the producer has a record of what readers have.
func Claim(ctx context.Context, p Claimer, saved position.Saved, epoch int64, l *slog.Logger) (position.Resume, error) {
	from, err := p.Claim(ctx, epoch)
	if errors.Is(err, position.ErrNone) {
		from, err = position.Resume{Position: saved.Position}, nil
	} else if err == nil {
		from, err = Choose(from, saved, l)
	}
	if err != nil {
		return from, err
	}
	from.Skip = saved.Skip
	if b, ok := p.(Beginner); ok {
		err = b.Begin(ctx, from)
	}
	return from, err
}

// Choose decides between what readers have and the cursor. A cursor that is
// behind is our own, written late. One that is ahead was written by somebody
// else, or by ourselves when no record was kept, and is obeyed. One that somebody
// else set and that is not ahead is an error: readers have what follows it.
func Choose(from position.Resume, saved position.Saved, l *slog.Logger) (position.Resume, error) {
	if saved.IsZero() {
		return from, nil
	}
	reached, comparable := from.Covers(saved.Position)
	back, _ := saved.Covers(from.Position)
	switch {
	case comparable && !reached:
		l.Warn("the cursor is ahead of what was sent, and was written by somebody else: going on there",
			"file", saved.File, "offset", saved.Offset, "gtids", saved.GTIDs, "sent.file", from.File, "sent.offset", from.Offset, "sent.gtids", from.GTIDs)
		return position.Resume{Position: saved.Position}, nil
	case saved.Foreign && !(comparable && back):
		return from, fmt.Errorf("the cursor was set to %s:%d %s, which is not ahead of what readers have, %s:%d %s: "+
			"going there would send again what they have; delete the cursor to go on where they are, or name another canal.relay.position.topic to obey it",
			saved.File, saved.Offset, saved.GTIDs, from.File, from.Offset, from.GTIDs)
	}
	return from, nil
}
