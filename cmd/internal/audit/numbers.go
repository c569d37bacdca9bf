package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxSpans bounds what is remembered of numbers that are not continuous.
const maxSpans = 1 << 18

// numbers are the GTIDs seen, by source.
type numbers struct {
	spans map[string][]span
	total int
	full  bool // there are too many to remember
	files bool // some transactions have no GTID
}

type span struct{ first, last uint64 }

func (n *numbers) add(o order) {
	switch {
	case o.file || o.source == "":
		n.files = true
		return
	case n.full:
		return
	}
	all := n.spans[o.source]
	if k := len(all); k > 0 && o.number >= all[k-1].first {
		switch last := &all[k-1]; {
		case o.number <= last.last:
			return
		case o.number == last.last+1:
			last.last++
			return
		}
	}
	at, found := slices.BinarySearchFunc(all, o.number, func(s span, v uint64) int { return cmp.Compare(s.first, v) })
	switch {
	case found || at > 0 && o.number <= all[at-1].last:
		return
	case at > 0 && all[at-1].last+1 == o.number:
		all[at-1].last++
		if at < len(all) && all[at].first == o.number+1 {
			all[at-1].last = all[at].last
			all = slices.Delete(all, at, at+1)
			n.total--
		}
	case at < len(all) && all[at].first == o.number+1:
		all[at].first--
	default:
		all = slices.Insert(all, at, span{o.number, o.number})
		n.total++
		n.full = n.total > maxSpans
	}
	n.spans[o.source] = all
}

// holes counts the numbers between the first and the last that were not seen,
// and names some.
func (n *numbers) holes() (count uint64, named []string) {
	for _, source := range slices.Sorted(maps.Keys(n.spans)) {
		all := n.spans[source]
		for i := 1; i < len(all); i++ {
			first, last := all[i-1].last+1, all[i].first-1
			count += last - first + 1
			if len(named) < maxNamed {
				named = append(named, fmt.Sprintf("%s: %d-%d", source, first, last))
			}
		}
	}
	return count, named
}

// maxNamed is how many findings of a kind are told in words.
const maxNamed = 20
