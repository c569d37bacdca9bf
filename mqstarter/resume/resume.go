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

// Owner is whose term it is.
type Owner struct {
	Destination string
	Epoch       int64 // 0 without an election

	// Save stores a position as the cursor, and Skipped notes with the next one that
	// the order to leave something out was carried out. Nil: there is no cursor.
	Save    func(context.Context, position.Position) error
	Skipped func()
}

// Claim makes a producer ready and decides where the term goes on: where the
// cursor says, unless the producer has a record of what readers have. exact tells
// that it does, and that this is where the term goes on: behind a cursor readers may
// have more. With such a producer a cursor of somebody else is taken over at once,
// so that it does not look as if it was set back when the record has moved on and
// this node has not saved yet.
func Claim(ctx context.Context, p Claimer, saved position.Saved, o Owner, l *slog.Logger) (from position.Resume, exact bool, err error) {
	from, err = p.Claim(ctx, o.Epoch)
	b, keeps := p.(Beginner)
	switch {
	case errors.Is(err, position.ErrNone):
		from, err = position.Resume{Position: saved.Position}, nil
		if keeps && saved.Delivery == position.ExactlyOnce {
			l.Warn("the record of what readers have is gone, with its topic or from it: going on at the cursor, which is a little behind, and looking in the topics for what they have",
				"file", saved.File, "offset", saved.Offset, "gtids", saved.GTIDs)
		}
	case err == nil:
		from, exact, err = o.choose(from, saved, l)
	}
	if err != nil {
		return from, exact, err
	}
	from.Skip = saved.Skip
	if exact && o.Skipped != nil && from.Passed(from.Skip) && !saved.Passed(from.Skip) {
		// The last owner left it out, committed that, and ended before it saved the cursor.
		o.Skipped()
		from.Skip = ""
	}
	if !keeps {
		return from, exact, nil
	}
	if err := b.Begin(ctx, from); err != nil {
		return from, exact, err
	}
	if saved.Foreign && o.Save != nil {
		if err := o.Save(ctx, from.Position); err != nil {
			return from, exact, fmt.Errorf("take over the cursor that somebody else set: %w", err)
		}
	}
	return from, exact, nil
}

// Decision is which of two positions a term goes on from.
type Decision string

// What Decide answers.
const (
	Record  Decision = "record"  // where readers are
	Cursor  Decision = "cursor"  // the stored cursor, which is ahead of that
	Neither Decision = "neither" // an operator has to choose
)

// Decide chooses between what readers have and the cursor. A cursor that
// exactly-once wrote was written behind the record, which decides. One of
// at-least-once is obeyed when it is ahead, since changes were sent without a
// record until there. One that somebody else set is obeyed when it is ahead, and
// otherwise nobody can tell what was meant: readers have what follows it, or it
// cannot be compared.
func Decide(record position.Resume, saved position.Saved) Decision {
	reached, comparable := record.Covers(saved.Position)
	back, _ := saved.Covers(record.Position)
	switch {
	case saved.IsZero(), !saved.Foreign && saved.Delivery == position.ExactlyOnce:
		return Record
	case !comparable:
		return Neither
	case !reached:
		return Cursor
	case saved.Foreign && !back:
		return Neither
	}
	return Record
}

func (o Owner) choose(record position.Resume, saved position.Saved, l *slog.Logger) (from position.Resume, exact bool, err error) {
	switch Decide(record, saved) {
	case Neither:
		return record, false, o.refuse(record, saved)
	case Cursor:
		who := "at-least-once"
		if saved.Foreign {
			who = "somebody else"
		}
		l.Warn("the cursor is ahead of what was sent exactly once: going on at the cursor", "written by", who,
			"file", saved.File, "offset", saved.Offset, "gtids", saved.GTIDs, "sent.file", record.File, "sent.offset", record.Offset, "sent.gtids", record.GTIDs)
		return position.Resume{Position: saved.Position}, false, nil
	}
	if reached, comparable := record.Covers(saved.Position); !saved.IsZero() && comparable && !reached {
		l.Warn("the cursor is ahead of what readers have, although it was saved later: has Kafka lost records? Going on where readers are, so that they get them again",
			"file", saved.File, "offset", saved.Offset, "gtids", saved.GTIDs, "sent.file", record.File, "sent.offset", record.Offset, "sent.gtids", record.GTIDs)
	}
	return record, true, nil
}

// refuse names the two commands of which an operator has to choose one.
func (o Owner) refuse(record position.Resume, saved position.Saved) error {
	who, why := "somebody else", "which they have already reached"
	target := fmt.Sprintf("%s:%d", saved.File, saved.Offset)
	if _, comparable := record.Covers(saved.Position); !comparable {
		why = "which cannot be compared with it"
		if saved.GTIDs != "" {
			target = "'" + saved.GTIDs + "'"
		}
	}
	if saved.File == "" {
		target = "'" + saved.GTIDs + "'"
	}
	if !saved.Foreign {
		who = "at-least-once"
	}
	flags := " --destination " + o.Destination
	if o.Epoch != 0 {
		flags += " --release"
	}
	return fmt.Errorf("readers have everything up to %s:%d %s, and %s set the cursor to %s:%d %s, %s. "+
		"To go on where readers are: canal-relay cursor set record%s --reason WHY. "+
		"To go to the cursor and send again what follows it: canal-relay cursor set %s --resend%s --reason WHY",
		record.File, record.Offset, record.GTIDs, who, saved.File, saved.Offset, saved.GTIDs, why, flags, target, flags)
}
