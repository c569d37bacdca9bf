package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/relay/position"
)

// notedCursor is a cursor that remembers, for the page, the last position that it loaded or saved.
type notedCursor struct {
	mqstarter.Cursor
	last atomic.Pointer[position.Position]
}

// Load loads the stored position.
func (c *notedCursor) Load(ctx context.Context) (position.Saved, error) {
	saved, err := c.Cursor.Load(ctx)
	if err == nil {
		c.last.Store(&saved.Position)
	}
	return saved, err
}

// Save stores a position.
func (c *notedCursor) Save(ctx context.Context, p position.Position) error {
	err := c.Cursor.Save(ctx, p)
	if err == nil {
		c.last.Store(&p)
	}
	return err
}

// shownGTIDs is how much of a GTID set the page has room for.
const shownGTIDs = 200

// String is the position in words; empty when none was seen yet.
func (c *notedCursor) String() string {
	p := c.last.Load()
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%s:%d", p.File, p.Offset)
	if gtids := p.GTIDs; gtids != "" {
		if len(gtids) > shownGTIDs {
			gtids = gtids[:shownGTIDs] + "…"
		}
		text += ", " + gtids
	}
	return text
}
