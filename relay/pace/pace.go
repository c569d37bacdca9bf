package pace

import (
	"context"
	"time"
)

const (
	credit  = 100 * time.Millisecond // of unused rate that may be caught up on
	least   = 5 * time.Millisecond   // a shorter wait is left to add up
	longest = 10 * time.Minute       // of one wait; the source gives up on a reader after two hours
)

// Pace is a rate. It belongs to one goroutine. A nil Pace never waits.
type Pace struct {
	rate int
	due  time.Time // when all that was charged is paid for
}

// New returns a Pace of so many bytes per second; nil for 0, which is no limit.
func New(bytesPerSecond int) *Pace {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &Pace{rate: bytesPerSecond}
}

// Wait charges n bytes, and waits while the stream is ahead of its rate. It
// returns why the context ended if it did.
func (p *Pace) Wait(ctx context.Context, n int) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	if late := now.Add(-credit); p.due.Before(late) {
		p.due = late
	}
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	ahead := p.due.Sub(now)
	if ahead < least {
		return nil
	}
	timer := time.NewTimer(min(ahead, longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
