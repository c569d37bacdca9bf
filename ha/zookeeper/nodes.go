package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// present presents the credentials once; the zk client repeats them by itself.
func (c *Client) present(ctx context.Context) error {
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	if known || c.config.Auth == "" {
		return nil
	}
	_, err := call(ctx, c, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.AddAuth("digest", []byte(c.config.Auth))
	})
	if err != nil {
		return fmt.Errorf("present credentials: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = true
	return nil
}

// acl is who may use the nodes that we create: everybody, as with Canal, or
// whoever has our credentials.
func (c *Client) acl() []zk.ACL {
	if c.config.Auth != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

// beat asks the leader something several times in a session timeout, so that the
// lease is proved again and again, also while nothing else happens.
func (c *Client) beat(ctx context.Context) error {
	tick := time.NewTicker(c.config.SessionTimeout / 6)
	defer tick.Stop()
	for {
		_, err := call(ctx, c, func(conn *zk.Conn) (string, error) { return conn.Sync("/") })
		if err != nil && ctx.Err() == nil && !errors.Is(err, errNoSession) {
			c.log.Debug("ZooKeeper heartbeat not answered", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// maintain makes the tree show what this node wants to show: after each new
// session, when a wish changes, and now and then for what could not be done.
func (c *Client) maintain(ctx context.Context) error {
	tick := time.NewTicker(c.config.SessionTimeout / 6)
	defer tick.Stop()
	said := ""
	var standing <-chan zk.Event
	for {
		s, changed := c.current()
		err := c.tend(ctx, s, &standing)
		if err != nil && ctx.Err() == nil && !transient(err) && err.Error() != said {
			said = err.Error()
			c.log.Error("this node cannot be shown in ZooKeeper; trying again", "error", err)
		}
		select {
		case <-changed:
		case <-c.poke:
		case <-standing:
			standing = nil
		case <-tick.C:
			c.rewatched() // the watches should long have been set again
		case <-ctx.Done():
			return nil
		}
	}
}

// tend does what is to be done in the session s. The standing watch is on a node
// that hardly ever changes, and is set anew when it does: see rewatched.
func (c *Client) tend(ctx context.Context, s session, standing *<-chan zk.Event) error {
	if !s.connected {
		return nil
	}
	if !s.ready || *standing == nil {
		if err := c.present(ctx); err != nil {
			return err
		}
		if err := c.prepare(ctx); err != nil {
			return err
		}
		n, _, err := c.look(ctx, root+"/cluster")
		if err != nil {
			return err
		}
		*standing = n.watch
		c.mu.Lock()
		if c.session.id == s.id && !c.session.ready {
			c.session.ready = true
			c.broadcast()
		}
		c.mu.Unlock()
	}
	return c.fulfil(ctx, s.id)
}

// prepare creates the nodes that Canal creates when it starts.
func (c *Client) prepare(ctx context.Context) error {
	if c.chroot != "" {
		there, err := call(ctx, c, func(conn *zk.Conn) (bool, error) {
			there, _, err := conn.Exists(c.chroot)
			return there, err
		})
		if err != nil {
			return fmt.Errorf("look for the chroot %s: %w", c.chroot, err)
		}
		if !there {
			c.log.Warn("the chroot of canal.zkServers did not exist and is created: check that no other spelling is in use", "chroot", c.chroot)
		}
	}
	for _, path := range []string{root + "/cluster", root + "/destinations"} {
		if err := c.ensure(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// ensure creates a persistent node without data, and its parents, where missing.
func (c *Client) ensure(ctx context.Context, path string) error {
	full := c.chroot + path
	for i := 1; i <= len(full); i++ {
		if i < len(full) && full[i] != '/' {
			continue
		}
		_, err := call(ctx, c, func(conn *zk.Conn) (string, error) {
			return conn.Create(full[:i], nil, 0, c.acl())
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create %s: %w", full[:i], err)
		}
	}
	return nil
}

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// wish records that an ephemeral node of ours is wanted, or no longer.
func (c *Client) wish(path string, want bool) {
	c.mu.Lock()
	c.wishes[path] = want
	delete(c.made, path)
	c.mu.Unlock()
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// forget takes a wish back without doing anything.
func (c *Client) forget(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.wishes, path)
	delete(c.made, path)
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
			err = c.hide(ctx, path, session)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// show creates an ephemeral node. One that is there already belongs to a former
// session of this node: it goes when that session ends, and we come again.
func (c *Client) show(ctx context.Context, path string, session int64) error {
	err := c.createEphemeral(ctx, path, nil)
	if errors.Is(err, zk.ErrNoNode) {
		if err := c.ensure(ctx, parentOf(path)); err != nil {
			return err
		}
		err = c.createEphemeral(ctx, path, nil)
	}
	if errors.Is(err, zk.ErrNodeExists) {
		n, found, err := c.get(ctx, path)
		if err != nil || !found || n.owner != session {
			return err
		}
	} else if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wishes[path] {
		c.made[path] = session
	} else {
		c.wishes[path] = false // taken back meanwhile: remove it again
	}
	return nil
}

// hide deletes an ephemeral node if it is this session's.
func (c *Client) hide(ctx context.Context, path string, session int64) error {
	n, found, err := c.get(ctx, path)
	if err == nil && found && n.owner == session {
		_, err = call(ctx, c, func(conn *zk.Conn) (struct{}, error) {
			return struct{}{}, conn.Delete(c.chroot+path, n.version)
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

// createEphemeral creates a node of this session. If nobody waits for the answer
// any more when it comes, the node is removed again.
func (c *Client) createEphemeral(ctx context.Context, path string, data []byte) error {
	_, err := call(ctx, c, func(conn *zk.Conn) (string, error) {
		made, err := conn.Create(c.chroot+path, data, zk.FlagEphemeral, c.acl())
		if ctx.Err() != nil {
			c.wish(path, false)
		}
		return made, err
	})
	return err
}

// node is what a look at a path showed.
type node struct {
	data         []byte
	czxid, mzxid int64
	version      int32
	owner        int64
	watch        <-chan zk.Event // fires once, when the node changes; nil if not asked for
}

func newNode(data []byte, s *zk.Stat, watch <-chan zk.Event) node {
	return node{data: data, czxid: s.Czxid, mzxid: s.Mzxid, version: s.Version, owner: s.EphemeralOwner, watch: watch}
}

// get reads a node; found is false when there is none.
func (c *Client) get(ctx context.Context, path string) (n node, found bool, err error) {
	n, err = call(ctx, c, func(conn *zk.Conn) (node, error) {
		data, stat, err := conn.Get(c.chroot + path)
		if err != nil {
			return node{}, err
		}
		return newNode(data, stat, nil), nil
	})
	return asFound(n, err, path)
}

// look reads a node and sets a watch, on its coming if it is absent.
func (c *Client) look(ctx context.Context, path string) (n node, found bool, err error) {
	for {
		n, err = call(ctx, c, func(conn *zk.Conn) (node, error) {
			data, stat, watch, err := conn.GetW(c.chroot + path)
			if err != nil {
				return node{}, err
			}
			return newNode(data, stat, watch), nil
		})
		if !errors.Is(err, zk.ErrNoNode) {
			return asFound(n, err, path)
		}
		there := false
		n, err = call(ctx, c, func(conn *zk.Conn) (node, error) {
			exists, _, watch, err := conn.ExistsW(c.chroot + path)
			if exists {
				return node{version: -1}, err // it came between the two calls
			}
			return node{watch: watch}, err
		})
		there = n.version == -1
		if err != nil || !there {
			return n, false, err
		}
	}
}

func asFound(n node, err error, path string) (node, bool, error) {
	if errors.Is(err, zk.ErrNoNode) {
		return node{}, false, nil
	}
	if err != nil {
		return node{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	return n, true, nil
}

// transient reports whether an error says only that the connection or the
// session went: the request may or may not have been executed.
func transient(err error) bool {
	for _, e := range []error{
		errNoSession, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrClosing,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
