package ha

import (
	"context"
	"errors"
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
	// ErrReload says that the destination was reconfigured: drain, and start
	// again in the same ownership.
	ErrReload error = &cause{text: "the destination was reconfigured", drain: true}
)

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
	// Lost yields ErrLost or ErrReleased, once.
	Lost() <-chan error
	// Resign gives the destination up. handover leaves the mark that lets the
	// next node start at once: everything was drained and its position saved.
	Resign(ctx context.Context, handover bool) error
}

// Starter runs one term of a destination. It returns nil when the context
// ended, and the reason otherwise. It drains when the context's cause has a
// method Drain that says so, and drops everything otherwise.
type Starter interface {
	Run(ctx context.Context, epoch int64) error
}
