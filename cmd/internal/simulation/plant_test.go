package simulation

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// plant is a bug, made by wrapping the real parts of each process.
type plant struct {
	name    string
	finds   string // how the bug shows
	allowed bool   // Kafka connections ask nobody
	raw     bool   // processes have a ZooKeeper client that knows no leases
	once    bool   // the world is one of exactly-once

	strangers bool // transactional ids are the nodes', so that nobody is fenced
	readers   bool // only what readers have counts, not who has sent something
	elector   func(ha.Elector) ha.Elector
	starter   func(*process, mqstarter.Cursor, ha.Starter) ha.Starter
	cursor    func(mqstarter.Cursor) mqstarter.Cursor
	producer  func(func() (mqstarter.Producer, error)) (mqstarter.Producer, error)
}

var plants = []*plant{
	{name: "resign before stop", finds: "while its term still ran", starter: func(p *process, _ mqstarter.Cursor, s ha.Starter) ha.Starter {
		return &hasty{s, p, make(chan struct{}, 1)}
	}},
	{name: "commit past an unacknowledged record", finds: "is lost|was not in Kafka yet", producer: func(dial func() (mqstarter.Producer, error)) (mqstarter.Producer, error) {
		p, err := dial()
		return &rash{p}, err
	}},
	{name: "cursor written after the lease is lost", finds: "does not own", raw: true,
		cursor:  func(c mqstarter.Cursor) mqstarter.Cursor { return &remembering{Cursor: c} },
		starter: func(p *process, c mqstarter.Cursor, s ha.Starter) ha.Starter { return &late{s, p, c.(*remembering)} }},
	{name: "no latch", finds: "is missing", producer: func(dial func() (mqstarter.Producer, error)) (mqstarter.Producer, error) {
		p, err := dial()
		return &unlatched{dial: dial, now: p}, err
	}},
	{name: "fencing ignored", finds: "were sent when the owner's was", allowed: true,
		elector: func(e ha.Elector) ha.Elector { return &deaf{e} },
		cursor:  func(c mqstarter.Cursor) mqstarter.Cursor { return &unfenced{c} }},
	{name: "the lease is not asked for at the connection", finds: "were sent when the owner's was", allowed: true},
	{name: "nobody is fenced", finds: "is repeated", once: true, allowed: true, readers: true, strangers: true},
}

// found returns the broken promise by which the bug shows.
func (p *plant) found(w *world) string {
	for _, text := range w.broken() {
		if slices.ContainsFunc(strings.Split(p.finds, "|"), func(part string) bool { return strings.Contains(text, part) }) {
			return text
		}
	}
	return ""
}

const aliasMark = "raw-"

// alias tells which node a raw client belongs to, by its entry.
func alias(path string) (string, bool) {
	return strings.CutPrefix(path, "/otter/canal/cluster/"+aliasMark)
}

// hasty is a starter that says it has ended when it is asked to end. In the same
// process, terms still follow each other.
type hasty struct {
	ha.Starter
	process *process
	terms   chan struct{} // a lock; waiting for a mutex would stop virtual time
}

func (h *hasty) Run(ctx context.Context, epoch int64) error {
	ended := make(chan error, 1)
	h.process.node.world.all.Go(func() {
		h.terms <- struct{}{}
		defer func() { <-h.terms }()
		ended <- h.Starter.Run(ctx, epoch)
	})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

// rash is a producer that takes everything for acknowledged.
type rash struct{ mqstarter.Producer }

func (r *rash) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	r.Producer.Send(ctx, clone(p), func(error) {})
	done(nil)
}

// clone copies a parcel, whose bytes are used again when it is done.
func clone(p *message.Parcel) *message.Parcel {
	c := *p
	c.Messages = slices.Clone(p.Messages)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Key, m.Value = bytes.Clone(m.Key), bytes.Clone(m.Value)
		m.Headers.Tx, m.Headers.Row = bytes.Clone(m.Headers.Tx), bytes.Clone(m.Headers.Row)
	}
	return &c
}

// remembering is a cursor that knows what was last to be saved.
type remembering struct {
	mqstarter.Cursor
	mu   sync.Mutex
	last position.Position
}

func (r *remembering) Save(ctx context.Context, p position.Position) error {
	r.mu.Lock()
	r.last = p
	r.mu.Unlock()
	return r.Cursor.Save(ctx, p)
}

// late is a starter that saves the position also when the lease was lost.
type late struct {
	ha.Starter
	process *process
	cursor  *remembering
}

func (l *late) Run(ctx context.Context, epoch int64) error {
	err := l.Starter.Run(ctx, epoch)
	var d interface{ Drain() bool }
	if ctx.Err() == nil || errors.As(context.Cause(ctx), &d) && d.Drain() {
		return err
	}
	l.cursor.mu.Lock()
	last := l.cursor.last
	l.cursor.mu.Unlock()
	if last.IsZero() {
		return err
	}
	p := l.process
	p.node.world.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c := p.raw.Cursor(destination, zookeeper.CursorConfig{})
		if _, err := c.Load(ctx); err == nil {
			_ = c.Save(ctx, last)
		}
	})
	return err
}

// unlatched is a producer that goes on behind a message that was refused, and
// tells of the refusal only a second later.
type unlatched struct {
	dial func() (mqstarter.Producer, error)

	mu     sync.Mutex
	now    mqstarter.Producer
	epoch  int64
	closed bool
	old    []mqstarter.Producer
}

func (u *unlatched) Claim(ctx context.Context, epoch int64) (position.Resume, error) {
	u.epoch = epoch
	return u.now.Claim(ctx, epoch)
}

func (u *unlatched) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	u.mu.Lock()
	now := u.now
	u.mu.Unlock()
	now.Send(ctx, clone(p), func(err error) {
		if err == nil {
			done(nil)
			return
		}
		go func() {
			u.replace(now)
			time.Sleep(time.Second)
			done(err)
		}()
	})
}

func (u *unlatched) replace(failed mqstarter.Producer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || u.now != failed {
		return
	}
	if p, err := u.dial(); err == nil {
		u.old, u.now = append(u.old, failed), p
	}
}

func (u *unlatched) Close(ctx context.Context) error {
	u.mu.Lock()
	u.closed = true
	all := append(slices.Clone(u.old), u.now)
	u.mu.Unlock()
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Close(ctx))
	}
	return errors.Join(errs...)
}

// deaf is an elector whose leases are never lost.
type deaf struct{ ha.Elector }

func (d *deaf) Campaign(ctx context.Context) (ha.Lease, error) {
	l, err := d.Elector.Campaign(ctx)
	if err != nil {
		return nil, err
	}
	return &kept{l}, nil
}

type kept struct{ ha.Lease }

func (k *kept) Lost() <-chan error { return nil }

// unfenced is a cursor that does not say that somebody else has moved it.
type unfenced struct{ mqstarter.Cursor }

func (u *unfenced) Save(ctx context.Context, p position.Position) error {
	err := u.Cursor.Save(ctx, p)
	if errors.Is(err, position.ErrFenced) {
		return nil
	}
	return err
}
