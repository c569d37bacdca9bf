package ha

import (
	"context"
	"errors"
	"time"
)

// The causes with which a term ends from outside. They have a method
// Drain() bool, by which the term's work knows, without importing ha, whether
// to let what is under way settle and save the position, or to drop everything.
var (
	// ErrLost says that the lease may be gone: stop at once and write nothing.
	ErrLost error = &cause{text: "the lease may be lost"}
	// ErrReleased says that the owner was asked to let go: drain, then resign.
	ErrReleased error = &cause{text: "release was requested", drain: true}
	// ErrShutdown says that the node stops.
	ErrShutdown error = &cause{text: "the node is shutting down", drain: true}
	// ErrRemoved says that the destination was taken out of the configuration:
	// drain, then give it up without the mark. It is the cause with which the
	// context of Monitor.Run is cancelled for that.
	ErrRemoved error = &cause{text: "the destination was removed", drain: true}
	// ErrReload says that the destination was reconfigured: drain, and start
	// again in the same ownership.
	ErrReload error = &cause{text: "the destination was reconfigured", drain: true}
)

// draining reports whether a cause lets work under way settle.
func draining(err error) bool {
	var d interface{ Drain() bool }
	return errors.As(err, &d) && d.Drain()
}

type cause struct {
	text  string
	drain bool
}

func (c *cause) Error() string { return c.text }

// Drain reports whether work under way may settle before the term ends.
func (c *cause) Drain() bool { return c.drain }

// ErrExitTimeout says that a term did not stop in time. The process must end,
// because it may still write while the lease cannot be held for it.
var ErrExitTimeout = errors.New("the term did not stop in time")

// Elector elects one node for a destination.
type Elector interface {
	// Campaign blocks until this node is elected or the context ends.
	Campaign(ctx context.Context) (Lease, error)
}

// Lease is one ownership of a destination.
type Lease interface {
	// Epoch grows with every ownership: the running node's czxid; 0 when static.
	Epoch() int64
	// Lost yields ErrReleased and ErrLost, each at most once. It is not closed.
	Lost() <-chan error
	// Resign gives the destination up, and ends the lease whatever it returns.
	// handover leaves the mark that lets the next node start at once:
	// everything was drained and its position saved. Of a lost lease it takes
	// back only what is provably still this node's.
	Resign(ctx context.Context, handover bool) error
}

// Registrar is what an Elector may also be: it shows that this node knows the
// destination, whether it owns it or not.
type Registrar interface {
	// Register shows the node until Unregister. It does not wait for a
	// server that is away: the entry appears when it is back.
	Register(ctx context.Context) error
	Unregister(ctx context.Context) error
}

// Starter runs one term of a destination. It returns nil when the context
// ended, and the reason otherwise. It drains when the context's cause has a
// method Drain that says so, and drops everything otherwise. While it drains,
// the lease may be lost as well: the cause's channel Cut() is then closed, and
// whatever is still under way must be dropped at once.
type Starter interface {
	Run(ctx context.Context, epoch int64) error
}

// Drainer is what a Starter may also be: it knows how long its term may take to
// settle, when that differs from the Monitor's DrainTimeout.
type Drainer interface {
	DrainTimeout() time.Duration
}
