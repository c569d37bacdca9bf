package column

import (
	"math"
	"time"
)

// Zone is a time zone, laid out for TIMESTAMP columns: every change of the
// offset from UTC in the range of 32-bit seconds. It is immutable. A nil Zone
// is UTC.
type Zone struct {
	from    []uint32 // second since 1970 from which offsets[i] holds
	offsets []int32  // seconds east of UTC
}

// NewZone lays out the zone of a location.
func NewZone(l *time.Location) *Zone {
	z := &Zone{}
	for t := time.Unix(0, 0).In(l); t.Unix() <= math.MaxUint32; {
		_, offset := t.Zone()
		if n := len(z.offsets); n == 0 || z.offsets[n-1] != int32(offset) {
			z.from = append(z.from, uint32(t.Unix()))
			z.offsets = append(z.offsets, int32(offset))
		}
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		if !end.After(t) { // Go 1.26 says so on the last day of leap years after 2037
			end = t.Add(time.Hour)
		}
		t = end
	}
	return z
}

// offset is the offset at a second, found by bisection.
func (z *Zone) offset(second uint32) int32 {
	if z == nil {
		return 0
	}
	lo, hi := 0, len(z.from)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; z.from[mid] <= second {
			lo = mid
		} else {
			hi = mid
		}
	}
	return z.offsets[lo]
}
