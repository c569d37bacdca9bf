package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/ha/zookeeper/stored"
	"github.com/canal-relay/canal-relay/relay/position"
)

// CursorConfig says what is stored with a position.
type CursorConfig struct {
	// GTIDOn fills the member gtid of Canal's cursor, as Canal does only with
	// canal.instance.gtidon=true. The relay's own state has the set either way.
	GTIDOn bool
	// Routing is the hash of the routing in force.
	Routing string
	// Delivery is kept with every position, as in position.State.
	Delivery string
}

// Cursor keeps a destination's position in two nodes: Canal's cursor, which Canal
// can read and write, and relay/state, a position.State. Both are written in one
// transaction, so that their mzxids are equal for as long as nobody else writes
// the cursor. Every write is conditional on what was loaded or saved before.
//
// A Cursor serves one term after another, not two at a time.
type Cursor struct {
	c           *Client
	destination string
	config      CursorConfig

	loaded  bool
	cursor  version
	state   version
	last    position.State
	from    position.Position // that was loaded
	first   bool              // the next Save is the first since Load
	order   *position.Skip    // an operator's order that was found
	ordered int32             // version of its node
	skipped bool              // it was carried out: the next Save forgets it
	doubt   *attempt          // a Save that was sent, and whose answer was lost
}

// version is what a node's next write is conditional on.
type version struct {
	exists bool
	n      int32
}

type attempt struct {
	cursor, state []byte
	next          position.State
	skipped       bool // the order goes with it
}

// Cursor returns the cursor of a destination.
func (c *Client) Cursor(destination string, config CursorConfig) *Cursor {
	return &Cursor{c: c, destination: destination, config: config}
}

// Load reads the position, once ZooKeeper can be asked. It returns
// position.ErrNone when there is no cursor, and an error that names the node when
// it cannot be read. If somebody else wrote the cursor since the relay did, the
// cursor counts and the relay's state beside it does not.
func (k *Cursor) Load(ctx context.Context) (position.Saved, error) {
	k.loaded, k.doubt = false, nil
	for {
		_, err := k.c.session.Await(ctx)
		if err != nil {
			return position.Saved{}, fmt.Errorf("load cursor: %w", err)
		}
		saved, err := k.load(ctx)
		if !session.Transient(err) {
			return saved, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return position.Saved{}, fmt.Errorf("load cursor: %w", context.Cause(ctx))
		}
	}
}

func (k *Cursor) load(ctx context.Context) (position.Saved, error) {
	cursor, state, err := k.read(ctx)
	if err != nil {
		return position.Saved{}, fmt.Errorf("load cursor: %w", err)
	}
	for _, path := range []string{paths.Cursor(k.destination), paths.State(k.destination)} {
		if err := k.c.session.Ensure(ctx, paths.Parent(path)); err != nil {
			return position.Saved{}, fmt.Errorf("load cursor: %w", err)
		}
	}
	k.cursor, k.state = versionOf(cursor), versionOf(state)
	saved, last, err := stored.Decode(k.destination, cursor, state)
	if was := stored.Gone(last, err); was != "" {
		k.c.log.Warn("the stored position is gone; canal-relay cursor set can go on where it was", "destination", k.destination, "was", was)
	}
	k.last, k.from = last, saved.Position
	if orderErr := k.find(ctx); orderErr != nil {
		return position.Saved{}, fmt.Errorf("load cursor: %w", orderErr)
	}
	if k.order != nil {
		saved.Skip = k.order.At
	}
	k.loaded = err == nil || errors.Is(err, position.ErrNone)
	k.first = true
	return saved, err
}

// find looks for an order to leave something out.
func (k *Cursor) find(ctx context.Context) error {
	k.order, k.skipped = nil, false
	n, found, err := k.c.session.Get(ctx, paths.Skip(k.destination))
	if err != nil || !found {
		return err
	}
	order, err := stored.Order(k.destination, n.Data)
	if err != nil {
		return err
	}
	k.order, k.ordered = &order, n.Version
	return nil
}

// Skipped says that the order was carried out before the position saved next.
func (k *Cursor) Skipped() { k.skipped = k.order != nil }

func versionOf(n stored.Node) version { return version{exists: n.Found, n: n.Version} }

func (k *Cursor) read(ctx context.Context) (cursor, state stored.Node, err error) {
	return stored.Read(func(path string) (session.Node, bool, error) { return k.c.session.Get(ctx, path) }, k.destination)
}

// Save stores p and the state that belongs to it. It returns position.ErrFenced
// when one of the nodes was changed since by somebody else, or when the lease of
// this node is over. Any other error leaves open whether p was stored; the next
// Save finds out.
func (k *Cursor) Save(ctx context.Context, p position.Position) error {
	if !k.loaded {
		return errors.New("save cursor: it was not loaded in this term")
	}
	epoch, err := k.epoch()
	if err != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	if err := k.settle(ctx); err != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	skipped, err := k.obeyed(ctx)
	if err != nil {
		return fmt.Errorf("save cursor: %w", err)
	}
	a := k.attempt(p, epoch, skipped)
	replies, err := session.Call(ctx, k.c.session, func(conn *zk.Conn) ([]zk.MultiResponse, error) {
		parts := []any{k.write(paths.Cursor(k.destination), k.cursor, a.cursor), k.write(paths.State(k.destination), k.state, a.state)}
		if a.skipped {
			parts = append(parts, &zk.DeleteRequest{Path: k.c.session.Path(paths.Skip(k.destination)), Version: k.ordered})
		}
		return conn.Multi(parts...)
	})
	switch {
	case err == nil && len(replies) >= 2:
		k.settled(a)
		return nil
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode):
		return fmt.Errorf("save cursor: %w (%w)", position.ErrFenced, err)
	case errors.Is(err, session.ErrNone):
		return fmt.Errorf("save cursor: %w", err)
	}
	k.doubt = a
	return fmt.Errorf("save cursor: %w", err)
}

// Import stores, where there is no cursor, a position that was kept elsewhere, as
// it was written there: by somebody else, or under another delivery.
func (k *Cursor) Import(ctx context.Context, saved position.Saved) error {
	own := k.config
	defer func() { k.config = own }()
	if k.config.Delivery = saved.Delivery; !saved.Foreign {
		return k.Save(ctx, saved.Position)
	}
	path, data := k.c.session.Path(paths.Cursor(k.destination)), k.attempt(saved.Position, 0, false).cursor
	_, err := session.Call(ctx, k.c.session, func(conn *zk.Conn) (string, error) { return conn.Create(path, data, 0, k.c.session.ACL()) })
	k.cursor.exists = err == nil
	return err
}

// obeyed reports whether the order that was found was carried out and stands
// there still: an operator may have taken it back, or given another one.
func (k *Cursor) obeyed(ctx context.Context) (bool, error) {
	if !k.skipped {
		return false, nil
	}
	n, found, err := k.c.session.Get(ctx, paths.Skip(k.destination))
	if err == nil && (!found || n.Version != k.ordered) {
		k.skipped = false
	}
	return k.skipped, err
}

// epoch returns the epoch of this node's lease, 0 if it never had one.
func (k *Cursor) epoch() (int64, error) {
	k.c.mu.Lock()
	l := k.c.leases[k.destination]
	k.c.mu.Unlock()
	if l == nil {
		return 0, nil
	}
	if !l.valid() {
		return 0, fmt.Errorf("%w: this node's lease is over", position.ErrFenced)
	}
	return l.epoch, nil
}

func (k *Cursor) attempt(p position.Position, epoch int64, skipped bool) *attempt {
	reason := ""
	if k.first {
		reason = fmt.Sprintf("term started, epoch %d%s", epoch, k.from.Where())
	}
	if skipped {
		reason = k.order.Done()
	}
	next := k.last.Next(p, time.Now(), reason).Trust(k.config.Routing, k.config.Delivery, epoch, time.Now())
	shown := p
	if !k.config.GTIDOn {
		shown.GTIDs = ""
	}
	return &attempt{cursor: shown.AppendCanal(nil), state: next.Append(nil), next: next, skipped: skipped}
}

func (k *Cursor) write(path string, v version, data []byte) any {
	if !v.exists {
		return &zk.CreateRequest{Path: k.c.session.Path(path), Data: data, Acl: k.c.session.ACL()}
	}
	return &zk.SetDataRequest{Path: k.c.session.Path(path), Data: data, Version: v.n}
}

// settled counts the versions on: a created node has version 0, a written one the next.
func (k *Cursor) settled(a *attempt) {
	for _, v := range []*version{&k.cursor, &k.state} {
		if v.exists {
			v.n++
		}
		v.exists = true
	}
	k.last, k.first, k.doubt = a.next, false, nil
	if a.skipped {
		k.order, k.skipped = nil, false
	}
}

// settle finds out what became of a Save whose answer was lost.
func (k *Cursor) settle(ctx context.Context) error {
	if k.doubt == nil {
		return nil
	}
	cursor, state, err := k.read(ctx)
	if err != nil {
		return err
	}
	switch {
	case versionOf(cursor) == k.cursor && versionOf(state) == k.state:
		k.doubt = nil // it did not arrive
	case cursor.Mzxid == state.Mzxid && bytes.Equal(cursor.Data, k.doubt.cursor) && bytes.Equal(state.Data, k.doubt.state):
		k.settled(k.doubt)
		k.cursor, k.state = versionOf(cursor), versionOf(state)
	default:
		return position.ErrFenced
	}
	return nil
}
