// Package resume decides where a term goes on when both readers' own record and
// the stored cursor say something.
package resume

import (
	"fmt"
	"log/slog"

	"github.com/canal-relay/canal-relay/relay/position"
)

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
