package zookeeper

import (
	"context"
	"fmt"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/pause"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// Pause says that a destination is not to be read.
type Pause = pause.Pause

// Pauses tells the owner of a destination of its pauses.
func (c *Client) Pauses(destination string) *pause.Watcher {
	return pause.New(c.session, paths.Paused(destination))
}

// SetPause pauses a destination, or, with nil, resumes it. It returns the pause
// that was there, nil for none, and who owns the destination. It does not wait
// for the owner.
func SetPause(ctx context.Context, c session.Config, destination string, p *Pause) (before *Pause, o Owner, err error) {
	err = session.Briefly(ctx, c, func(v *session.Visit) (err error) {
		var n session.Node
		if before, n, err = pause.Of(v, paths.Paused(destination)); err != nil {
			return err
		}
		if o, _, err = ownerOf(v, destination); err != nil {
			return err
		}
		return pause.Put(v, paths.Paused(destination), p, before != nil, n)
	})
	if err != nil {
		return before, o, fmt.Errorf("write the pause of %s: %w", destination, err)
	}
	return before, o, nil
}
