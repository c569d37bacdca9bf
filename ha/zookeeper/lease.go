package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/running"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// lease is one ownership: the running node with one czxid, in one session.
type lease struct {
	e       *Elector
	session int64
	epoch   int64
	lost    chan error // holds ErrReleased and ErrLost, each at most once
	gone    atomic.Bool
	asked   bool // ErrReleased was sent; owned by attend

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// newLease starts to watch over the ownership. Two goroutines do it, since a look
// at the node may block for as long as the link is silent, and the clock must not.
func newLease(e *Elector, session, epoch int64) *lease {
	ctx, stop := context.WithCancel(context.Background())
	e.c.session.Hold(1)
	l := &lease{e: e, session: session, epoch: epoch, lost: make(chan error, 2), stop: stop}
	e.c.mu.Lock()
	e.c.leases[e.destination] = l
	e.c.mu.Unlock()
	l.wg.Add(2)
	go func() {
		defer l.wg.Done()
		l.clock(ctx)
	}()
	go func() {
		defer l.wg.Done()
		l.attend(ctx)
	}()
	return l
}

// Epoch is the running node's czxid.
func (l *lease) Epoch() int64 { return l.epoch }

// Lost yields ErrLost when the session is gone or its lease has run out by the
// clock, or when the node was deleted; ErrReleased when active was set to false.
func (l *lease) Lost() <-chan error { return l.lost }

// valid reports whether the ownership holds at this moment, by the clock.
func (l *lease) valid() bool {
	s, _ := l.e.c.session.Current()
	return !l.gone.Load() && s.ID == l.session && time.Now().Before(s.End())
}

func (l *lease) lose() {
	if !l.gone.Swap(true) {
		l.lost <- ha.ErrLost
		l.stop()
	}
}

// clock ends the lease in time, whatever the network does.
func (l *lease) clock(ctx context.Context) {
	for {
		s, changed := l.e.c.session.Current()
		left := time.Until(s.End())
		if s.ID != l.session || left <= 0 {
			l.lose()
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// attend watches the running node: whether it is there, and what it says.
func (l *lease) attend(ctx context.Context) {
	for {
		n, found, err := l.e.c.session.Look(ctx, paths.Running(l.e.destination))
		if err == nil && (!found || n.Czxid != l.epoch) {
			l.lose()
			return
		}
		if err == nil {
			err = l.heed(ctx, n)
		}
		if err != nil && l.e.retry(ctx, "watch the running node", err) != nil {
			return
		}
		if err != nil {
			continue
		}
		select {
		case <-n.Watch:
		case <-ctx.Done():
			return
		}
	}
}

// heed reads what is written in our own node. A request to let go is passed on;
// anything that does not name us as the owner is put right.
func (l *lease) heed(ctx context.Context, n session.Node) error {
	r, err := running.Parse(n.Data)
	if err == nil && r.Address == l.e.c.id {
		if !r.Active && !l.asked {
			l.asked = true
			l.lost <- ha.ErrReleased
		}
		return nil
	}
	l.e.log.Warn("the running node of this node held something else and is written again", "found", string(n.Data))
	_, err = session.Call(ctx, l.e.c.session, func(conn *zk.Conn) (*zk.Stat, error) {
		return conn.Set(l.e.c.session.Path(paths.Running(l.e.destination)), l.e.self(), n.Version)
	})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return nil // it has changed again, and the watch will say so
	}
	return err
}

// Resign deletes the running node if it is still this lease's, and with handover
// leaves the mark in the same transaction. What cannot be deleted now is deleted
// as soon as its session can be used again.
func (l *lease) Resign(ctx context.Context, handover bool) error {
	defer l.e.c.session.Hold(-1)
	l.stop()
	l.wg.Wait()
	e := l.e
	if l.gone.Swap(true) {
		if s, _ := e.c.session.Current(); !s.Usable() {
			e.c.session.Wish(paths.Running(e.destination), false) // nobody should wait for a link that is gone
			return nil
		}
	} else {
		e.mu.Lock()
		e.gaveUp = time.Now()
		e.mu.Unlock()
	}
	err := l.remove(ctx, handover)
	if err != nil {
		e.c.session.Wish(paths.Running(e.destination), false)
		return fmt.Errorf("resign: %w", err)
	}
	return nil
}

// remove repeats its request until it knows what became of the node.
func (l *lease) remove(ctx context.Context, handover bool) error {
	path := paths.Running(l.e.destination)
	for {
		s, changed := l.e.c.session.Current()
		if s.ID != l.session {
			return nil // the node went with its session
		}
		n, found, err := l.e.c.session.Get(ctx, path)
		if err == nil && (!found || n.Czxid != l.epoch) {
			return nil
		}
		if err == nil {
			err = l.drop(ctx, n, handover)
		}
		if err == nil {
			return nil
		}
		if !session.Transient(err) && !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// drop deletes the node n, which is ours.
func (l *lease) drop(ctx context.Context, n session.Node, handover bool) error {
	c := l.e.c
	remove := &zk.DeleteRequest{Path: c.session.Path(paths.Running(l.e.destination)), Version: n.Version}
	if !handover {
		_, err := session.Call(ctx, c.session, func(conn *zk.Conn) (struct{}, error) {
			return struct{}{}, conn.Delete(remove.Path, remove.Version)
		})
		return err
	}
	path := paths.Released(l.e.destination)
	_, found, err := c.session.Get(ctx, path)
	if err != nil {
		return err
	}
	mark := []byte(strconv.FormatInt(l.epoch, 10))
	var write any = &zk.SetDataRequest{Path: c.session.Path(path), Data: mark, Version: -1}
	if !found {
		if err := c.session.Ensure(ctx, paths.Parent(path)); err != nil {
			return err
		}
		write = &zk.CreateRequest{Path: c.session.Path(path), Data: mark, Acl: c.session.ACL()}
	}
	_, err = session.Call(ctx, c.session, func(conn *zk.Conn) ([]zk.MultiResponse, error) { return conn.Multi(write, remove) })
	return err
}
