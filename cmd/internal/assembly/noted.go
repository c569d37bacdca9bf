package assembly

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Cursor is a cursor that remembers, for the page, the last position that it loaded or saved.
type Cursor struct {
	mqstarter.Cursor
	last atomic.Pointer[position.Position]
}

// Load loads the stored position.
func (c *Cursor) Load(ctx context.Context) (position.Saved, error) {
	saved, err := c.Cursor.Load(ctx)
	if err == nil {
		c.last.Store(&saved.Position)
	}
	return saved, err
}

// Save stores a position.
func (c *Cursor) Save(ctx context.Context, p position.Position) error {
	err := c.Cursor.Save(ctx, p)
	if err == nil {
		c.last.Store(&p)
	}
	return err
}

// Last is the last position that was seen; zero when none was.
func (c *Cursor) Last() position.Position {
	if p := c.last.Load(); p != nil {
		return *p
	}
	return position.Position{}
}

// shownGTIDs is how much of a GTID set the page has room for.
const shownGTIDs = 200

// String is the position in words; empty when none was seen yet.
func (c *Cursor) String() string {
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

// NewCursor returns where the position of a destination is kept: in ZooKeeper,
// without it (zk is nil) in its meta.dat.
func NewCursor(zk *zookeeper.Client, i *config.Instance, log *slog.Logger) *Cursor {
	file := position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, i.Starter.Routing)
	if i.ExactlyOnce != nil {
		file.Delivery = position.ExactlyOnce
	}
	if zk == nil {
		return &Cursor{Cursor: file}
	}
	kept := zk.Cursor(i.Name, zookeeper.CursorConfig{GTIDOn: i.Relay.GTID, Routing: i.Starter.Routing, Delivery: file.Delivery})
	return &Cursor{Cursor: &importedCursor{Cursor: kept, file: file, path: i.MetaFile, log: log}}
}
