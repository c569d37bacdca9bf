package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// Pause says that a destination is not to be read. It stands in a node of its
// own, as JSON, and outlives its owner.
type Pause struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"` // for people
}

// String is the pause in words.
func (p *Pause) String() string {
	text := "paused since " + p.Since.UTC().Format(time.RFC3339)
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

// parsePause reads a pause. A node whose content cannot be read is one, too.
func parsePause(n session.Node) *Pause {
	var p Pause
	if json.Unmarshal(n.Data, &p) != nil {
		return &Pause{Reason: "its node cannot be read"}
	}
	return &p
}

// Pauses tells the owner of a destination of its pauses, one term at a time.
type Pauses struct {
	c           *Client
	destination string

	session int64 // in which watch was set
	watch   <-chan zk.Event
}

// Pauses returns the pauses of a destination. One value serves all its terms.
func (c *Client) Pauses(destination string) *Pauses { return &Pauses{c: c, destination: destination} }

// Watch sends the pause, nil for none, at once and whenever it has changed, until
// the context ends.
func (p *Pauses) Watch(ctx context.Context, to chan<- *Pause) {
	first, last := true, ""
	for ctx.Err() == nil {
		n, found, err := p.look(ctx)
		if err != nil {
			select {
			case <-time.After(time.Second / 2):
			case <-ctx.Done():
			}
			continue
		}
		if now := fmt.Sprint(found, string(n.Data)); first || now != last {
			var pause *Pause
			if found {
				pause = parsePause(n)
			}
			select {
			case to <- pause:
				first, last = false, now
			case <-ctx.Done():
				return
			}
		}
		p.sleep(ctx)
	}
}

// look reads the node, and sets a watch unless an earlier term has left one that
// has not fired.
func (p *Pauses) look(ctx context.Context) (n session.Node, found bool, err error) {
	s, err := p.c.session.Await(ctx)
	if err != nil {
		return n, false, err
	}
	if p.watch != nil && p.session == s.ID {
		return p.c.session.Get(ctx, pausedPath(p.destination))
	}
	n, found, err = p.c.session.Look(ctx, pausedPath(p.destination))
	if err == nil {
		p.session, p.watch = s.ID, n.Watch
	}
	return n, found, err
}

// sleep waits until the watch fires, the session is another one, or the context
// ends.
func (p *Pauses) sleep(ctx context.Context) {
	for {
		s, changed := p.c.session.Current()
		if s.ID != p.session {
			p.watch = nil
			return
		}
		select {
		case <-p.watch:
			p.watch = nil
			return
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func pauseOf(v *session.Visit, destination string) (*Pause, session.Node, error) {
	n, found, err := v.Get(pausedPath(destination))
	if err != nil || !found {
		return nil, n, err
	}
	return parsePause(n), n, nil
}

// SetPause pauses a destination, or, with nil, resumes it. It returns the pause
// that was there, nil for none, and who owns the destination. It does not wait
// for the owner.
func SetPause(ctx context.Context, c session.Config, destination string, p *Pause) (before *Pause, o Owner, err error) {
	err = session.Briefly(ctx, c, func(v *session.Visit) (err error) {
		var n session.Node
		if before, n, err = pauseOf(v, destination); err != nil {
			return err
		}
		if o, _, err = ownerOf(v, destination); err != nil {
			return err
		}
		return put(v, destination, p, before != nil, n)
	})
	if err != nil {
		return before, o, fmt.Errorf("write the pause of %s: %w", destination, err)
	}
	return before, o, nil
}

func put(v *session.Visit, destination string, p *Pause, there bool, n session.Node) error {
	path := pausedPath(destination)
	if p == nil {
		if !there {
			return nil
		}
		err := v.Do(v.Delete(path, n.Version))
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if there {
		return v.Do(v.Set(path, data, n.Version))
	}
	if err := v.Ensure(parentOf(path)); err != nil {
		return err
	}
	return v.Do(v.Create(path, data, false))
}
