// Package pause lets a destination rest: the node that says so.
package pause

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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

// Watcher tells the owner of a destination of its pauses, one term at a time.
type Watcher struct {
	client *session.Client
	path   string

	session int64 // in which watch was set
	watch   <-chan zk.Event
}

// New returns the pauses that stand at a path. One value serves all terms of its
// destination.
func New(client *session.Client, path string) *Watcher { return &Watcher{client: client, path: path} }

// Watch sends the pause, nil for none, at once and whenever it has changed, until
// the context ends: then it returns nil. It waits for a ZooKeeper that is away; one
// that does not let the node be read is an error.
func (p *Watcher) Watch(ctx context.Context, to chan<- *Pause) error {
	first, last := true, ""
	for ctx.Err() == nil {
		n, found, err := p.look(ctx)
		if err != nil && ctx.Err() == nil && !session.Transient(err) {
			return fmt.Errorf("look whether the destination is paused: %w", err)
		}
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
				return nil
			}
		}
		p.sleep(ctx)
	}
	return nil
}

// look reads the node, and sets a watch unless an earlier term has left one that
// has not fired.
func (p *Watcher) look(ctx context.Context) (n session.Node, found bool, err error) {
	s, err := p.client.Await(ctx)
	if err != nil {
		return n, false, err
	}
	if p.watch != nil && p.session == s.ID {
		return p.client.Get(ctx, p.path)
	}
	n, found, err = p.client.Look(ctx, p.path)
	if err == nil {
		p.session, p.watch = s.ID, n.Watch
	}
	return n, found, err
}

// sleep waits until the watch fires, the session is another one, or the context
// ends.
func (p *Watcher) sleep(ctx context.Context) {
	for {
		s, changed := p.client.Current()
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

// Of reads the pause at a path, nil for none, and its node.
func Of(v *session.Visit, path string) (*Pause, session.Node, error) {
	n, found, err := v.Get(path)
	if err != nil || !found {
		return nil, n, err
	}
	return parsePause(n), n, nil
}

// Put writes a pause, or with nil takes it away. there and n are what Of found.
func Put(v *session.Visit, path string, p *Pause, there bool, n session.Node) error {
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
	if err := v.Ensure(path[:strings.LastIndexByte(path, '/')]); err != nil {
		return err
	}
	return v.Do(v.Create(path, data, false))
}
