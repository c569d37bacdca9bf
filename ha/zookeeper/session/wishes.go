package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// Wish records that an ephemeral node of ours is wanted, or no longer.
func (c *Client) Wish(path string, want bool) { c.wish(path, want, "") }

// WishText records that an ephemeral node of ours is wanted that holds a text,
// which may be empty.
func (c *Client) WishText(path, text string) { c.wish(path, true, text) }

func (c *Client) wish(path string, want bool, text string) {
	c.mu.Lock()
	c.wishes[path] = want
	if delete(c.texts, path); text != "" {
		c.texts[path] = []byte(text)
	}
	delete(c.made, path)
	delete(c.others, path)
	c.mu.Unlock()
	c.nudge()
}

// nudge lets maintain look at the wishes.
func (c *Client) nudge() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Forget takes a wish back without doing anything.
func (c *Client) Forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.wishes, path)
	delete(c.texts, path)
	delete(c.made, path)
	delete(c.others, path)
}

// fulfil makes the nodes that are wanted and not yet made in this session, and
// removes those that are no longer wanted.
func (c *Client) fulfil(ctx context.Context, session int64) error {
	c.mu.Lock()
	wishes := maps.Clone(c.wishes)
	for path := range wishes {
		if c.made[path] == session {
			delete(wishes, path)
		}
	}
	c.mu.Unlock()
	var errs []error
	for path, want := range wishes {
		var err error
		if want {
			err = c.show(ctx, path, session)
		} else {
			err = c.Hide(ctx, path, session)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, c.Shared())...)
}

// show creates an ephemeral node. One that is there already is watched: it goes
// when the session that made it ends.
func (c *Client) show(ctx context.Context, path string, session int64) error {
	c.mu.Lock()
	text := c.texts[path]
	c.mu.Unlock()
	err := c.CreateEphemeral(ctx, path, text)
	if errors.Is(err, zk.ErrNoNode) {
		if err := c.Ensure(ctx, parentOf(path)); err != nil {
			return err
		}
		err = c.CreateEphemeral(ctx, path, text)
	}
	if errors.Is(err, zk.ErrNodeExists) {
		n, ours, err := c.yield(ctx, path, session)
		if err != nil || !ours {
			return err
		}
		if err := c.rewrite(ctx, path, n, text); err != nil {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.others, path)
	if c.wishes[path] {
		c.made[path] = session
	} else {
		c.wishes[path] = false // taken back meanwhile: remove it again
	}
	return nil
}

// rewrite writes what a node of ours is to hold, unless it does.
func (c *Client) rewrite(ctx context.Context, path string, n Node, text []byte) error {
	if bytes.Equal(n.Data, text) {
		return nil
	}
	_, err := Call(ctx, c, func(conn *zk.Conn) (*zk.Stat, error) { return conn.Set(c.Path(path), text, n.Version) })
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ErrShared says that an ephemeral node under this node's address is another
// session's, and has been for longer than a session lives on without its process.
var ErrShared = errors.New("another process uses this node's address")

// other is a node that is wanted and that another session has.
type other struct {
	owner int64 // its session
	since time.Time
}

// yield looks at a node that is there although it was to be made: ours tells
// whether it is this session's after all. If not, it is watched. That of a
// former session of this node goes within a session timeout.
func (c *Client) yield(ctx context.Context, path string, session int64) (n Node, ours bool, err error) {
	c.mu.Lock()
	o, known := c.others[path]
	c.mu.Unlock()
	look := c.Look
	if known {
		look = c.Get // the watch is set
	}
	n, found, err := look(ctx, path)
	if err != nil || !found || n.Owner == session {
		return n, found && n.Owner == session, err
	}
	if o.owner != n.Owner {
		o = other{n.Owner, time.Now()}
	}
	c.mu.Lock()
	c.others[path] = o
	c.mu.Unlock()
	return n, false, nil
}

// Shared is an error that wraps ErrShared and names the node, nil while nobody
// else seems to use this node's address.
func (c *Client) Shared() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(c.others)) {
		if o := c.others[path]; time.Since(o.since) > c.config.SessionTimeout {
			return fmt.Errorf("%w: %s has been held by session %#x for longer than the session timeout of %v: "+
				"give each node its own canal.register.ip or canal.port", ErrShared, path, o.owner, c.config.SessionTimeout)
		}
	}
	return nil
}

// Hide deletes an ephemeral node if it is this session's, unless the wish to
// remove it was taken back: then another one may stand there by now.
func (c *Client) Hide(ctx context.Context, path string, session int64) error {
	n, found, err := c.Get(ctx, path)
	if err == nil && found && n.Owner == session && c.unwanted(path) {
		_, err = Call(ctx, c, func(conn *zk.Conn) (struct{}, error) {
			return struct{}{}, conn.Delete(c.Path(path), n.Version)
		})
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if want, there := c.wishes[path]; there && !want {
		delete(c.wishes, path)
	}
	return nil
}

func (c *Client) unwanted(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	want, there := c.wishes[path]
	return there && !want
}
