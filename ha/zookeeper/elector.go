package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/running"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// ElectorConfig holds the pauses of an election.
type ElectorConfig struct {
	// TakeoverDelay is how long other nodes wait when a running node vanishes
	// without the hand-over mark.
	TakeoverDelay time.Duration
	// Jitter is the most that is added to it, so that nodes do not all come at once.
	Jitter time.Duration
	// GiveUpDelay is how long a node that gave a destination up itself leaves it
	// to others. Where others are registered they get canalLead on top of it.
	GiveUpDelay time.Duration
	Lazy        bool // this node knows the destination and never owns it
}

// lazyText is what such a node holds under cluster, where others hold nothing.
const lazyText = "lazy"

// DefaultElectorConfig returns the pauses for at-least-once.
func DefaultElectorConfig() ElectorConfig {
	return ElectorConfig{TakeoverDelay: 2 * time.Second, Jitter: 200 * time.Millisecond, GiveUpDelay: 5 * time.Second}
}

// A node backs off when it has lost the destination flapTurns times within
// flapSpan without a clean hand-over: by flapDelay, and by as much more for each
// further time, up to flapMost. That is counted from the last loss, and no more
// than what a crash costs anyway. What others lose does not count: nobody is
// helped by a healthy standby that lets a destination wait.
const (
	flapTurns = 3
	flapSpan  = time.Minute
	flapDelay = 5 * time.Second
	flapMost  = 10 * time.Second
)

// canalLead is what Canal's nodes need besides: they leave a destination that
// another one gave up alone for five seconds, as we do, and come then.
const canalLead = 3 * time.Second

// heldLook is how often a node looks whether a destination is still held back.
const heldLook = 200 * time.Millisecond

// Elector elects the owner of one destination: whoever creates the running node.
// Its methods but Changes and Delay are for one Monitor, which calls one at a time.
type Elector struct {
	c           *Client
	destination string
	config      ElectorConfig
	log         *slog.Logger

	mu       sync.Mutex
	seen     int64       // czxid of the running node seen last; 0 for none yet
	owner    string      // address in it; empty if unreadable
	vanished time.Time   // when it was found gone; zero while it is there
	gaveUp   time.Time   // when this node gave it up itself, until another owner is seen
	losses   []time.Time // recent ends of its own ownership without a clean hand-over
	changes  uint64      // all changes of the owner
	stayed   time.Time   // until when it was said that this node stays away
	said     string      // the error that was logged last
}

// Elector returns the elector of a destination. It remembers what it has seen of
// the destination, so there should be one of them for as long as it is configured.
func (c *Client) Elector(destination string, config ElectorConfig) *Elector {
	return &Elector{c: c, destination: destination, config: config, log: c.log.With("destination", destination)}
}

// Changes counts how often this node saw the owner change.
func (e *Elector) Changes() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changes
}

// Delay changes the TakeoverDelay, from the next time on that a running node
// vanishes. Unlike the other methods it may be called at any time.
func (e *Elector) Delay(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.config.TakeoverDelay = d
}

// Register shows this node under the destination's cluster nodes, in this
// session and in each that follows. It does not wait.
func (e *Elector) Register(context.Context) error {
	e.c.session.WishText(paths.Standby(e.destination, e.c.id), map[bool]string{true: lazyText}[e.config.Lazy])
	return nil
}

// Unregister takes that back. What cannot be done at once is done when there is
// a session again.
func (e *Elector) Unregister(ctx context.Context) error {
	path := paths.Standby(e.destination, e.c.id)
	e.c.session.Wish(path, false)
	s, _ := e.c.session.Current()
	return e.c.session.Hide(ctx, path, s.ID)
}

// Release asks the owner, whoever it is, to let the destination go: it sets
// active to false in the running node.
func (e *Elector) Release(ctx context.Context) error {
	n, found, err := e.c.session.Get(ctx, paths.Running(e.destination))
	if err == nil && !found {
		err = ErrNobody
	}
	var r running.Node
	if err == nil {
		r, err = running.Parse(n.Data)
	}
	if err == nil {
		r.Active = false
		_, err = session.Call(ctx, e.c.session, func(conn *zk.Conn) (*zk.Stat, error) {
			return conn.Set(e.c.session.Path(paths.Running(e.destination)), r.Bytes(), n.Version)
		})
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", e.destination, err)
	}
	return nil
}

// Campaign blocks until this node's session.State owns the running node. It waits for
// ZooKeeper when it is away, and returns an error when the context ended, when the
// granted session is too short to own anything safely, or when an access list
// keeps this node out.
func (e *Elector) Campaign(ctx context.Context) (ha.Lease, error) {
	path := paths.Running(e.destination)
	e.c.session.Forget(path)
	var l *lease
	err := e.leave(ctx)
	if err == nil {
		l, err = e.campaign(ctx, path)
	}
	if err != nil {
		e.c.session.Wish(path, false) // a request under way may still create it
		return nil, err
	}
	return l, nil
}

// leave sees to it that the running node of the ownership before is gone. Its
// session may well have survived the lease; but what its term sent may still be
// under way to Kafka, and only another epoch tells it from what comes next.
func (e *Elector) leave(ctx context.Context) error {
	e.c.mu.Lock()
	l := e.c.leases[e.destination]
	e.c.mu.Unlock()
	for l != nil {
		err := l.remove(ctx, false)
		if err == nil {
			return nil
		}
		if err = e.again(ctx, "delete the former running node", err); err != nil {
			return err
		}
	}
	return nil
}

func (e *Elector) campaign(ctx context.Context, path string) (*lease, error) {
	for {
		s, err := e.c.session.Await(ctx)
		if err != nil {
			return nil, err
		}
		n, found, err := e.c.session.Look(ctx, path)
		switch {
		case err != nil:
			err = e.again(ctx, "look at the running node", err)
		case found && n.Owner == s.ID:
			return e.elected(ctx, s, n), nil
		case found:
			e.note(ctx, n)
			err = e.sleep(ctx, s, n.Watch, 0)
		default:
			err = e.takeOver(ctx, s, path, n.Watch)
		}
		if err != nil {
			return nil, err
		}
	}
}

// again is retry in a campaign, which ends when an access list keeps this node
// out: the Monitor shows that as the node's state, and campaigns again later.
func (e *Elector) again(ctx context.Context, what string, err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return e.retry(ctx, what, err)
}

// retry logs an error that is not only a lost connection, and pauses.
func (e *Elector) retry(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !session.Transient(err) {
		e.complain(what, err)
	}
	select {
	case <-time.After(time.Second / 2):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// complain logs an error unless it is the one that was logged last.
func (e *Elector) complain(what string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.said == err.Error() {
		return
	}
	e.said = err.Error()
	e.log.Error("election request failed; trying again", "step", what, "error", err)
}

// sleep waits until the watch fires, the session changes, or d is over if it is
// not 0.
func (e *Elector) sleep(ctx context.Context, was session.State, watch <-chan zk.Event, d time.Duration) error {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	for {
		now, changed := e.c.session.Current()
		if now.ID != was.ID {
			return nil
		}
		select {
		case <-watch:
			return nil
		case <-over:
			return nil
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeOver creates the running node when it is this node's turn. It returns nil
// when there is something new to look at, its own node included.
func (e *Elector) takeOver(ctx context.Context, s session.State, path string, watch <-chan zk.Event) error {
	due, err := e.due(ctx)
	if err != nil {
		return e.again(ctx, "read the hand-over mark", err)
	}
	for d := time.Until(due); d > 0; d = time.Until(due) {
		if err := e.sleep(ctx, s, watch, d); err != nil || time.Now().Before(due) {
			return err
		}
	}
	if now, _ := e.c.session.Current(); now.ID != s.ID {
		return nil
	}
	if _, held, err := e.c.session.Get(ctx, paths.Held(e.destination)); err != nil {
		return e.again(ctx, "look whether it is held back", err)
	} else if held {
		return e.sleep(ctx, s, watch, heldLook)
	}
	err = e.c.session.CreateEphemeral(ctx, path, e.self())
	if errors.Is(err, zk.ErrNoNode) {
		err = e.c.session.Ensure(ctx, paths.Parent(path))
	}
	if err == nil || errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	// The node may have been created although no answer came: look again.
	return e.again(ctx, "create the running node", err)
}

func (e *Elector) self() []byte { return running.Node{Active: true, Address: e.c.id}.Bytes() }

// held says until when this node stays away because it loses the destination too often.
func (e *Elector) held(now time.Time) time.Time {
	for len(e.losses) > 0 && now.Sub(e.losses[0]) > flapSpan {
		e.losses = e.losses[1:]
	}
	if len(e.losses) < flapTurns {
		return time.Time{}
	}
	d := min(flapDelay*time.Duration(len(e.losses)-flapTurns+1), flapMost)
	return e.losses[len(e.losses)-1].Add(d)
}

// note remembers the owner that was seen, and counts changes.
func (e *Elector) note(ctx context.Context, n session.Node) {
	e.mu.Lock()
	before := e.seen
	e.mu.Unlock()
	clean := false
	if before != 0 && before != n.Czxid {
		mark, err := e.mark(ctx)
		clean = err == nil && mark == before
	}
	owner := ""
	if r, err := running.Parse(n.Data); err == nil {
		owner = r.Address
	}
	s, _ := e.c.session.Current()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.vanished = time.Time{}
	if n.Owner != s.ID {
		e.gaveUp = time.Time{}
	}
	if before != 0 && before != n.Czxid {
		e.changes++
		if !clean && e.owner == e.c.id {
			e.losses = append(e.losses, time.Now())
		}
	}
	switch {
	case before != n.Czxid && n.Owner == 0:
		e.log.Error("the running node is nobody's, since it is not ephemeral: no node runs the destination until it is deleted", "node", paths.Running(e.destination))
	case before != n.Czxid:
		e.log.Info("destination has an owner", "address", owner, "epoch", n.Czxid)
	}
	e.seen, e.owner = n.Czxid, owner
}

// elected makes a lease of a running node that this session owns.
func (e *Elector) elected(ctx context.Context, s session.State, n session.Node) *lease {
	e.note(ctx, n)
	e.mu.Lock()
	e.owner, e.gaveUp = e.c.id, time.Time{}
	e.mu.Unlock()
	return newLease(e, s.ID, n.Czxid)
}
