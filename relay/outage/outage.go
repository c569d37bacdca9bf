package outage

import (
	"math/rand/v2"
	"time"
)

// The waits between attempts, before a jitter of half of each.
const (
	First  = 100 * time.Millisecond // the first; they double
	Last   = 10 * time.Second       // the longest
	Away   = 2 * time.Second        // the longest while nothing answers: to ask costs little, and it may be back any moment
	steady = 10 * time.Second       // a connection that lived this long starts anew
)

// Outage is what is known of the latest attempts. It belongs to one goroutine.
type Outage struct {
	First time.Duration // the first wait, if not 0; for tests

	wait time.Duration // the one before
	said string        // what was last worth a word
	at   time.Time
}

// Wait says how long to wait after an attempt that lived for some time and then
// ended with an error, and whether that is worth a word: the same one is so once
// in Last. With away nothing answered at all.
func (o *Outage) Wait(lived time.Duration, err error, away bool) (wait time.Duration, tell bool) {
	first := o.First
	if first == 0 {
		first = First
	}
	limit := Last
	if away {
		limit = Away
	}
	o.wait = min(2*o.wait, limit)
	if o.wait == 0 || lived > steady {
		o.wait = first
	}
	if tell = err.Error() != o.said || time.Since(o.at) >= Last; tell {
		o.said, o.at = err.Error(), time.Now()
	}
	return o.wait/2 + rand.N(o.wait), tell
}
