package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/ha/zookeeper/paths"
	"github.com/canal-relay/canal-relay/ha/zookeeper/pause"
	"github.com/canal-relay/canal-relay/ha/zookeeper/running"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/ha/zookeeper/stored"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Errors of what an operator asks for.
var (
	// ErrNobody says that no node owns the destination.
	ErrNobody = errors.New("no node runs it")
	// ErrOwned says that a node owns the destination.
	ErrOwned = errors.New("a node runs it")
	// ErrAlone says that no other node could take the destination over.
	ErrAlone = errors.New("no other node knows it, so that nobody would take it over")
)

// Owner is who owns a destination.
type Owner struct {
	Address string // ip:port; empty if the running node cannot be read
	Epoch   int64  // 0 if nobody owns it
	Leaving bool   // it was asked to let go
}

// Seen is what the tree says about a destination.
type Seen struct {
	Name  string
	Owner Owner
	Nodes []string // ip:port of the nodes that know it, the owner among them
	Lazy  []string // of these, those that know it only and will not own it
	Pause *Pause   // nil unless it is paused

	Saved position.Saved
	State position.State // that stands beside the cursor, for its earlier positions
	Err   error          // why Saved says nothing; position.ErrNone when there is no position

	Order    *position.Skip // that was not carried out yet; nil if none is
	OrderErr error          // why it cannot be read
}

// Standbys are the nodes that would take the destination over.
func (s Seen) Standbys() []string {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(node string) bool { return node == s.Owner.Address || slices.Contains(s.Lazy, node) })
}

// Survey reads what the tree says about some destinations, about all of them in
// their order when none is named. It changes nothing.
func Survey(ctx context.Context, c session.Config, destinations ...string) ([]Seen, error) {
	var all []Seen
	err := session.Briefly(ctx, c, func(v *session.Visit) (err error) {
		if len(destinations) == 0 {
			if destinations, err = v.Children(paths.Root + "/destinations"); err != nil {
				return err
			}
		}
		all = make([]Seen, len(destinations))
		var looks errgroup.Group
		looks.SetLimit(32) // a thousand destinations are ten thousand round trips
		for i, d := range destinations {
			looks.Go(func() (err error) { all[i], err = see(v, d); return err })
		}
		return looks.Wait()
	})
	return all, err
}

// Peek reads the stored position of a destination, for one who does not own it:
// in a short session that changes nothing. Its errors are those of Cursor.Load,
// but for a ZooKeeper that is away it waits only as long as the context lasts.
func Peek(ctx context.Context, c session.Config, destination string) (position.Saved, error) {
	all, err := Survey(ctx, c, destination)
	if err != nil {
		return position.Saved{}, err
	}
	return all[0].Saved, all[0].Err
}

func see(v *session.Visit, destination string) (s Seen, err error) {
	s.Name = destination
	if s.Owner, _, err = ownerOf(v, destination); err != nil {
		return s, err
	}
	if s.Nodes, err = v.Children(paths.Destination(destination) + "/cluster"); err != nil {
		return s, err
	}
	for _, node := range s.Nodes {
		n, _, err := v.Get(paths.Standby(destination, node))
		if err != nil {
			return s, err
		}
		if string(n.Data) == lazyText {
			s.Lazy = append(s.Lazy, node)
		}
	}
	if s.Pause, _, err = pause.Of(v, paths.Paused(destination)); err != nil {
		return s, err
	}
	cursor, state, err := stored.Read(v.Get, destination)
	if err != nil {
		return s, err
	}
	s.Saved, s.State, s.Err = stored.Decode(destination, cursor, state)
	n, found, err := v.Get(paths.Skip(destination))
	if err != nil || !found {
		return s, err
	}
	order, err := stored.Order(destination, n.Data)
	if s.OrderErr = err; err == nil {
		s.Order = &order
	}
	return s, nil
}

func ownerOf(v *session.Visit, destination string) (Owner, session.Node, error) {
	n, found, err := v.Get(paths.Running(destination))
	if err != nil || !found {
		return Owner{}, n, err
	}
	o := Owner{Epoch: n.Czxid}
	if r, err := running.Parse(n.Data); err == nil {
		o.Address, o.Leaving = r.Address, !r.Active
	}
	return o, n, nil
}

// Release asks the owner of a destination to let go, and waits until another
// node owns it. It is refused with ErrNobody or ErrAlone.
func Release(ctx context.Context, c session.Config, destination string) (from, to Owner, err error) {
	err = session.Briefly(ctx, c, func(v *session.Visit) error {
		s, err := see(v, destination)
		switch {
		case err != nil:
			return err
		case s.Owner.Epoch == 0:
			return ErrNobody
		case len(s.Standbys()) == 0:
			return ErrAlone
		}
		if from, err = letGo(v, destination); err != nil {
			return err
		}
		to, err = awaitOwner(ctx, v, destination, func(o Owner) bool { return o.Epoch != 0 && o.Epoch != from.Epoch })
		if err != nil {
			return fmt.Errorf("%s was asked to let go, and no node has taken over: %w", from.Address, err)
		}
		return nil
	})
	if err != nil {
		return from, to, fmt.Errorf("release %s: %w", destination, err)
	}
	return from, to, nil
}

// letGo asks whoever owns the destination to let go.
func letGo(v *session.Visit, destination string) (Owner, error) {
	for {
		o, n, err := ownerOf(v, destination)
		switch {
		case err != nil:
			return o, err
		case o.Epoch == 0:
			return o, ErrNobody
		case o.Address == "":
			return o, fmt.Errorf("its owner is unknown: the running node holds %q", n.Data)
		}
		err = v.Do(v.Set(paths.Running(destination), running.Node{Active: false, Address: o.Address}.Bytes(), n.Version))
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNoNode) {
			return o, err
		}
	}
}

// awaitOwner looks until the owner, which may be nobody, is as wanted.
func awaitOwner(ctx context.Context, v *session.Visit, destination string, wanted func(Owner) bool) (Owner, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		o, _, err := ownerOf(v, destination)
		if err != nil && !session.Transient(err) {
			return o, err
		}
		if err == nil && wanted(o) {
			return o, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return o, context.Cause(ctx)
		}
	}
}

// OrderSkip orders the next term of a destination to leave one thing out. An
// earlier order that was not carried out is replaced, and returned.
func OrderSkip(ctx context.Context, c session.Config, destination string, s position.Skip) (old *position.Skip, err error) {
	err = session.Briefly(ctx, c, func(v *session.Visit) error {
		path := paths.Skip(destination)
		n, found, err := v.Get(path)
		if err != nil {
			return err
		}
		if !found {
			if err := v.Ensure(paths.Parent(path)); err != nil {
				return err
			}
			return v.Do(v.Create(path, s.Append(nil), false))
		}
		if before, err := position.ParseSkip(n.Data); err == nil {
			old = &before
		}
		return v.Do(v.Set(path, s.Append(nil), n.Version))
	})
	if err != nil {
		return nil, fmt.Errorf("order %s to leave %s out: %w", destination, s.At, err)
	}
	return old, nil
}

// Move is a new position of a destination.
type Move struct {
	To      position.Position
	Reason  string // for people, kept with the position
	GTIDOn  bool   // see CursorConfig
	Release bool   // ask an owner to let go first, instead of refusing

	Delivery string // see CursorConfig
	// Before, if not nil, is called when nobody owns the destination and nobody
	// may start it, and returns what is stored in the place of To. It is called
	// again, under a later Hold, when somebody did start it.
	Before func(context.Context, Hold) (position.Position, error)
}

// Hold is a destination that an operator holds.
type Hold struct {
	Epoch    int64  // larger than that of any owner until now, smaller than that of any later one
	Identity string // of the tree, as Client.Identity tells it
}

// Moved is what a Move did.
type Moved struct {
	Old  position.Position // zero if there was none
	From Owner             // who was asked to let go
}

// errStarted says that a node that had looked before the destination was held
// back has started it since.
var errStarted = fmt.Errorf("%w: it started at this moment; try again", ErrOwned)

// SetCursor moves the stored position of a destination, in one transaction that
// succeeds only while nobody owns it and nobody else has moved it. While it
// lasts no node starts the destination: not even one that was asked to let go.
// A node that owns it is ErrOwned, unless the Move says to release it.
func SetCursor(ctx context.Context, c session.Config, destination string, m Move) (moved Moved, err error) {
	for attempt := 1; attempt == 1 || attempt <= 3 && m.Release && errors.Is(err, errStarted); attempt++ {
		moved, err = setCursor(ctx, c, destination, m)
	}
	if err != nil {
		err = fmt.Errorf("set the cursor of %s: %w", destination, err)
	}
	return moved, err
}

func setCursor(ctx context.Context, c session.Config, destination string, m Move) (moved Moved, err error) {
	err = session.Briefly(ctx, c, func(v *session.Visit) error {
		o, _, err := ownerOf(v, destination)
		if err != nil {
			return err
		}
		if o.Epoch != 0 && !m.Release {
			return fmt.Errorf("%w: %s", ErrOwned, o.Address)
		}
		err = v.Show(paths.Held(destination), nil)
		if errors.Is(err, zk.ErrNodeExists) {
			return errors.New("another operator is moving it at this moment")
		}
		if err != nil {
			return err
		}
		if o.Epoch != 0 {
			if moved.From, err = dismiss(ctx, v, destination); err != nil {
				return err
			}
		}
		if m.Before != nil {
			h, err := hold(v, destination)
			if err != nil {
				return err
			}
			if m.To, err = m.Before(ctx, h); err != nil {
				return err
			}
		}
		moved.Old, err = move(v, destination, m)
		return err
	})
	return moved, err
}

func hold(v *session.Visit, destination string) (h Hold, err error) {
	n, found, err := v.Get(paths.Held(destination))
	if err == nil && !found {
		err = errors.New("the session has ended")
	}
	if err != nil {
		return h, err
	}
	h.Epoch = n.Czxid
	h.Identity, err = identity(v.Get(paths.Root))
	return h, err
}

// dismiss asks the owner to let go, and waits until it has.
func dismiss(ctx context.Context, v *session.Visit, destination string) (from Owner, err error) {
	from, err = letGo(v, destination)
	if errors.Is(err, ErrNobody) {
		return from, nil // it has just gone
	}
	if err != nil {
		return from, err
	}
	o, err := awaitOwner(ctx, v, destination, func(o Owner) bool { return o.Epoch != from.Epoch })
	switch {
	case err != nil:
		return from, fmt.Errorf("%s was asked to let go and has not yet: %w", from.Address, err)
	case o.Epoch != 0:
		return from, fmt.Errorf("%w: %s took over from %s although it was held back: stop it first", ErrOwned, o.Address, from.Address)
	}
	return from, nil
}

// move writes the position. To own the destination for the moment of the
// transaction is the proof that nobody else does.
func move(v *session.Visit, destination string, m Move) (old position.Position, err error) {
	cursor, state, err := stored.Read(v.Get, destination)
	if err != nil {
		return old, err
	}
	// A cursor that cannot be read is what this may be for; a state of a newer build is not ours to write.
	saved, last, err := stored.Decode(destination, cursor, state)
	if err != nil && !errors.Is(err, position.ErrNone) && state.Found {
		if _, stateErr := position.ParseState(state.Data); stateErr != nil {
			return old, err
		}
	}
	old = saved.Position
	p := m.To.Keep(old)
	next := last.Set(old, p, m.Delivery, time.Now(), m.Reason)
	if !m.GTIDOn && p.File != "" {
		p.GTIDs = "" // the state has them
	}
	for _, path := range []string{paths.Cursor(destination), paths.State(destination)} {
		if err := v.Ensure(paths.Parent(path)); err != nil {
			return old, err
		}
	}
	put := func(path string, s stored.Node, data []byte) any {
		if s.Found {
			return v.Set(path, data, s.Version)
		}
		return v.Create(path, data, false)
	}
	lock := paths.Running(destination)
	err = v.Do(v.Create(lock, running.Node{Active: false, Address: "cursor-set"}.Bytes(), true),
		put(paths.Cursor(destination), cursor, p.AppendCanal(nil)), put(paths.State(destination), state, next.Append(nil)), v.Delete(lock, 0))
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return old, errStarted
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
		return old, fmt.Errorf("%w at this moment; try again", position.ErrFenced)
	}
	return old, err
}
