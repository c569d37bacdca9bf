package ha

import (
	"errors"
	"fmt"
	"time"
)

// Config holds the time limits of a Monitor.
//
// A ZooKeeper client that has heard nothing for two thirds of the session
// timeout stops; the server lets another node in after the whole of it. What
// happens between the two must fit into the third that is left:
// Grace + ExitTimeout + Margin ≤ SessionTimeout / 3.
type Config struct {
	// SessionTimeout is the ZooKeeper session timeout; 0 when election is static.
	SessionTimeout time.Duration
	// Grace is what may pass between the end of the lease and the moment at
	// which the term learns of it: timers and schedulers are late on a busy machine.
	Grace time.Duration
	// ExitTimeout is how long a term may take to stop when the lease may be gone.
	ExitTimeout time.Duration
	// Margin is for what nobody measures: clocks of two machines that run
	// unevenly, bytes that are already in the network.
	Margin time.Duration
	// DrainTimeout is how long a term may let its window settle before a
	// shutdown, a release or a reload, while the lease is held.
	DrainTimeout time.Duration
	// ResignTimeout bounds the wait for ZooKeeper when the destination is given up.
	ResignTimeout time.Duration
	// RetryMin and RetryMax bound the pause after a term that failed: the
	// first, doubled each time up to the second.
	RetryMin, RetryMax time.Duration
	// Healthy is how long a term must have run for the pause to start again at RetryMin.
	Healthy time.Duration
	// ReloadTrial is how long a reconfigured term must run before the one it
	// replaced is no longer its fallback.
	ReloadTrial time.Duration
}

// DefaultConfig returns the limits for a session timeout of 6 s.
func DefaultConfig() Config {
	c := Config{
		Grace:         500 * time.Millisecond,
		Margin:        500 * time.Millisecond,
		DrainTimeout:  5 * time.Second,
		ResignTimeout: 2 * time.Second,
		RetryMin:      5 * time.Second,
		RetryMax:      time.Minute,
		Healthy:       time.Minute,
		ReloadTrial:   10 * time.Second,
	}
	return c.For(6 * time.Second)
}

// For returns c for another session timeout: the exit limit becomes what grace
// and margin leave of a third of it.
func (c Config) For(session time.Duration) Config {
	c.SessionTimeout = session
	c.ExitTimeout = session/3 - c.Grace - c.Margin
	return c
}

// Reserve is the time that a node needs to stop after its lease has ended.
func (c Config) Reserve() time.Duration { return c.Grace + c.ExitTimeout + c.Margin }

// Validate checks the limits and how they relate.
func (c Config) Validate() error {
	switch {
	case c.Grace < 0 || c.Margin < 0 || c.DrainTimeout < 0:
		return errors.New("grace, margin and drain timeout must not be negative")
	case c.ExitTimeout <= 0:
		return fmt.Errorf("the exit limit is %v: a third of the session timeout (%v) must be more than grace (%v) and margin (%v)",
			c.ExitTimeout, c.SessionTimeout, c.Grace, c.Margin)
	case c.SessionTimeout > 0 && c.Reserve() > c.SessionTimeout/3:
		return fmt.Errorf("grace (%v), exit limit (%v) and margin (%v) take longer than a third of the session timeout (%v)",
			c.Grace, c.ExitTimeout, c.Margin, c.SessionTimeout)
	case c.ResignTimeout <= 0 || c.RetryMin <= 0 || c.RetryMax < c.RetryMin:
		return errors.New("resign timeout and retry pauses must be positive, and the longest pause not below the first")
	}
	return nil
}
