package zookeeper

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// due says from when on this node may create the running node, which is absent.
func (e *Elector) due(ctx context.Context) (time.Time, error) {
	mark, err := e.mark(ctx)
	if err != nil {
		return time.Time{}, err
	}
	lead, err := e.lead(ctx)
	if err != nil {
		return time.Time{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if e.vanished.IsZero() {
		e.vanished = now.Add(rand.N(e.config.Jitter + 1))
	}
	due := now
	switch {
	case !e.gaveUp.IsZero():
		due = e.gaveUp.Add(e.config.GiveUpDelay + lead)
	case e.seen == 0: // none since we look
	case e.owner == e.c.id: // ours, lost against our will, perhaps by a former process
	case mark == e.seen: // its owner has stopped, and says so
	default:
		due = e.vanished.Add(e.config.TakeoverDelay)
	}
	if held := e.held(now); held.After(due) {
		due = held
		if held.After(e.stayed) {
			e.stayed = held
			e.log.Warn("this node loses the destination too often, waiting before the next attempt", "losses", len(e.losses), "within", flapSpan, "wait", due.Sub(now).Round(time.Millisecond))
		}
	}
	return due, nil
}

// mark returns the czxid of the ownership that was handed over last.
func (e *Elector) mark(ctx context.Context) (int64, error) {
	n, found, err := e.c.session.Get(ctx, paths.Released(e.destination))
	if err != nil || !found {
		return 0, err
	}
	czxid, err := strconv.ParseInt(string(n.Data), 10, 64)
	if err != nil {
		return 0, nil // written by somebody else: no mark
	}
	return czxid, nil
}

// lead is what others get on top of GiveUpDelay: canalLead if any is registered.
func (e *Elector) lead(ctx context.Context) (time.Duration, error) {
	e.mu.Lock()
	gaveUp := !e.gaveUp.IsZero()
	e.mu.Unlock()
	if !gaveUp {
		return 0, nil
	}
	nodes, err := session.Call(ctx, e.c.session, func(conn *zk.Conn) ([]string, error) {
		nodes, _, err := conn.Children(e.c.session.Path(paths.Parent(paths.Standby(e.destination, e.c.id))))
		return nodes, err
	})
	for _, id := range nodes {
		if id != e.c.id {
			return canalLead, nil
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return 0, err
}
