package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// beat asks the leader something several times in a session timeout, so that the
// lease is proved again and again, also while nothing else happens. A server that
// does not bring the leader's answer is left for another one while the lease lasts.
func (c *Client) beat(ctx context.Context) error {
	tick := time.NewTicker(c.config.SessionTimeout / 6)
	defer tick.Stop()
	for {
		limited, cancel := context.WithTimeout(ctx, c.config.SessionTimeout/3)
		_, err := Call(limited, c, func(conn *zk.Conn) (string, error) { return conn.Sync("/") })
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			c.log.Warn("ZooKeeper did not answer in time; trying another connection")
			c.hangUp()
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
		s, changed := c.Current()
		err := c.tend(ctx, s, &standing)
		if err != nil && ctx.Err() == nil && !Transient(err) && err.Error() != said {
			said = err.Error()
			c.log.Error("this node cannot be shown in ZooKeeper; trying again", "error", err)
		}
		select {
		case <-changed:
		case <-c.poke:
		case <-standing:
			standing = nil
		case <-tick.C:
			if s, _ := c.Current(); time.Since(s.resumed) >= c.config.SessionTimeout/6 {
				c.rewatched() // it should have been said long ago
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// tend does what is to be done in the session s. The standing watch is on a node
// that hardly ever changes, and is set anew when it does: see rewatched.
func (c *Client) tend(ctx context.Context, s State, standing *<-chan zk.Event) error {
	if !s.connected {
		return nil
	}
	if err := c.present(ctx); err != nil {
		return err
	}
	if !s.ready || *standing == nil {
		if err := c.prepare(ctx); err != nil {
			if !s.ready {
				c.shutOut(err)
			}
			return err
		}
		if err := pause(ctx, firstWatch); err != nil {
			return err
		}
		n, _, err := c.Look(ctx, c.parents[0])
		if err != nil {
			return err
		}
		*standing = n.Watch
		c.mu.Lock()
		if c.session.ID == s.ID && !c.session.ready {
			c.session.ready, c.out = true, nil
			c.broadcast()
		}
		c.mu.Unlock()
	}
	return c.fulfil(ctx, s.ID)
}

// shutOut notes that an access list keeps this node out of the tree altogether.
func (c *Client) shutOut(err error) {
	if !errors.Is(err, zk.ErrNoAuth) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out == nil {
		c.broadcast()
	}
	c.out = err
}

// firstWatch is how long a new session waits before it sets its first watch. The
// zk client looks for watches to repeat right after it has opened a session; one
// that it finds there makes it read what it has no lock for: see rewatched.
const firstWatch = 10 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// prepare creates the nodes that everything else is put under.
func (c *Client) prepare(ctx context.Context) error {
	if c.chroot != "" {
		there, err := Call(ctx, c, func(conn *zk.Conn) (bool, error) {
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
	for _, path := range c.parents {
		if err := c.Ensure(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// Ensure creates a persistent node without data, and its parents, where missing.
func (c *Client) Ensure(ctx context.Context, path string) error {
	return ensure(c.Path(path), func(path string) error {
		_, err := Call(ctx, c, func(conn *zk.Conn) (string, error) { return conn.Create(path, nil, 0, c.ACL()) })
		return err
	})
}

// ensure begins at the node itself: those above it may be closed to this user.
func ensure(path string, create func(path string) error) error {
	err := create(path)
	if errors.Is(err, zk.ErrNoNode) && parentOf(path) != "" {
		if err := ensure(parentOf(path), create); err != nil {
			return err
		}
		err = create(path)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// Path is where path is in the whole tree: below the chroot.
func (c *Client) Path(path string) string { return c.chroot + path }

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// CreateEphemeral creates a node of this session. If nobody waits for the answer
// any more when it comes, the node is removed again.
func (c *Client) CreateEphemeral(ctx context.Context, path string, data []byte) error {
	_, err := Call(ctx, c, func(conn *zk.Conn) (string, error) {
		made, err := conn.Create(c.Path(path), data, zk.FlagEphemeral, c.ACL())
		if ctx.Err() != nil {
			c.Wish(path, false)
		}
		return made, err
	})
	return err
}

// Node is what a look at a path showed.
type Node struct {
	Data         []byte
	Czxid, Mzxid int64           // transactions that created it and wrote it last
	Ctime        int64           // when it was created, by the server's clock, ms since 1970
	Version      int32           // of the data
	Owner        int64           // session of an ephemeral node, otherwise 0
	Watch        <-chan zk.Event // fires once, when the node changes; nil if not asked for
}

func newNode(data []byte, s *zk.Stat, watch <-chan zk.Event) Node {
	return Node{Data: data, Czxid: s.Czxid, Mzxid: s.Mzxid, Ctime: s.Ctime, Version: s.Version, Owner: s.EphemeralOwner, Watch: watch}
}

// Get reads a node; found is false when there is none.
func (c *Client) Get(ctx context.Context, path string) (n Node, found bool, err error) {
	n, err = Call(ctx, c, func(conn *zk.Conn) (Node, error) {
		data, stat, err := conn.Get(c.Path(path))
		if err != nil {
			return Node{}, err
		}
		return newNode(data, stat, nil), nil
	})
	return asFound(n, err, path)
}

// Look reads a node and sets a watch, on its coming if it is absent.
func (c *Client) Look(ctx context.Context, path string) (n Node, found bool, err error) {
	for {
		n, err = Call(ctx, c, func(conn *zk.Conn) (Node, error) {
			data, stat, watch, err := conn.GetW(c.Path(path))
			if err != nil {
				return Node{}, err
			}
			return newNode(data, stat, watch), nil
		})
		if !errors.Is(err, zk.ErrNoNode) {
			return asFound(n, err, path)
		}
		there := false
		n, err = Call(ctx, c, func(conn *zk.Conn) (Node, error) {
			exists, _, watch, err := conn.ExistsW(c.Path(path))
			if exists {
				return Node{Version: -1}, err // it came between the two calls
			}
			return Node{Watch: watch}, err
		})
		there = n.Version == -1
		if err != nil || !there {
			return n, false, err
		}
	}
}

func asFound(n Node, err error, path string) (Node, bool, error) {
	if errors.Is(err, zk.ErrNoNode) {
		return Node{}, false, nil
	}
	if err != nil {
		return Node{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	return n, true, nil
}

// explain says what a refusal means.
func explain(err error) error {
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return fmt.Errorf("%w: the access list of the node does not let this one in: set canal.relay.zookeeper.auth to the credentials that it was made with, or have an administrator change the list", err)
	case errors.Is(err, zk.ErrAuthFailed):
		return fmt.Errorf("%w: ZooKeeper does not take canal.relay.zookeeper.auth", err)
	}
	return err
}

// Transient reports whether an error says only that the connection or the
// session went: the request may or may not have been executed.
func Transient(err error) bool {
	for _, e := range []error{
		ErrNone, zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrClosing,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
