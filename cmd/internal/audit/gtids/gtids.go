// Package gtids finds holes in the GTIDs that were seen.
package gtids

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxSpans bounds what is remembered of numbers that are not continuous.
const maxSpans = 1 << 18

// Seen are numbers of transactions by their source, a UUID or a domain.
type Seen struct {
	spans map[string][]span
	total int
	full  bool
}

// New returns one without any.
func New() *Seen { return &Seen{spans: make(map[string][]span)} }

// Full reports whether there were too many spans to remember, so that nothing is
// known of holes.
func (n *Seen) Full() bool { return n.full }

type span struct{ first, last uint64 }

// Add notes a number.
func (n *Seen) Add(source string, number uint64) {
	if n.full {
		return
	}
	all := n.spans[source]
	if k := len(all); k > 0 && number >= all[k-1].first {
		switch last := &all[k-1]; {
		case number <= last.last:
			return
		case number == last.last+1:
			last.last++
			return
		}
	}
	at, found := slices.BinarySearchFunc(all, number, func(s span, v uint64) int { return cmp.Compare(s.first, v) })
	switch {
	case found || at > 0 && number <= all[at-1].last:
		return
	case at > 0 && all[at-1].last+1 == number:
		all[at-1].last++
		if at < len(all) && all[at].first == number+1 {
			all[at-1].last = all[at].last
			all = slices.Delete(all, at, at+1)
			n.total--
		}
	case at < len(all) && all[at].first == number+1:
		all[at].first--
	default:
		all = slices.Insert(all, at, span{number, number})
		n.total++
		n.full = n.total > maxSpans
	}
	n.spans[source] = all
}

// Holes counts the numbers between the first and the last of each source that were
// not seen, and names so many at most.
func (n *Seen) Holes(most int) (count uint64, named []string) {
	for _, source := range slices.Sorted(maps.Keys(n.spans)) {
		all := n.spans[source]
		for i := 1; i < len(all); i++ {
			first, last := all[i-1].last+1, all[i].first-1
			count += last - first + 1
			if len(named) < most {
				named = append(named, fmt.Sprintf("%s: %d-%d", source, first, last))
			}
		}
	}
	return count, named
}
