package target

import (
	"github.com/canal-relay/canal-relay/mqstarter/route"
)

// Group is the rows of a change that go to one partition, in their order; nil
// rows are all of them.
type Group struct {
	Partition int32
	Rows      []int
}

// Splitter groups rows by partition. Its memory is used again for each change.
type Splitter struct {
	key        []byte
	partitions []int32 // of each row
	ends       []int   // by partition: where its rows end
	rows       []int
	groups     []Group
}

// Keyed is an encoder that has a change open whose rows can be hashed.
type Keyed interface {
	Rows() int
	AppendKey(dst []byte, row, column int) ([]byte, error)
}

// Hash finds the partition of each row of the change that k has open, as
// route.Router.Rule says. It is valid until the next call.
func (s *Splitter) Hash(k Keyed, to *Target) ([]int32, error) {
	s.partitions = s.partitions[:0]
	for row := range k.Rows() {
		h := to.Rule.Seed
		for _, column := range to.columns {
			var err error
			if s.key, err = k.AppendKey(s.key[:0], row, column); err != nil {
				return nil, err
			}
			h ^= route.Hash(s.key)
		}
		s.partitions = append(s.partitions, route.Partition(h, to.Rule.Partitions))
	}
	return s.partitions, nil
}

// Split groups the rows of the change that k has open in ascending order of
// partitions. The groups are valid until the next call.
func (s *Splitter) Split(k Keyed, to *Target) ([]Group, error) {
	if _, err := s.Hash(k, to); err != nil {
		return nil, err
	}
	n, count := len(s.partitions), int(to.Rule.Partitions)
	if n == 1 {
		s.groups = append(s.groups[:0], Group{Partition: s.partitions[0]})
		return s.groups, nil
	}
	s.sort(n, count)
	return s.groups, nil
}

// sort is a counting sort: rows keep their order within a partition.
func (s *Splitter) sort(n, count int) {
	s.ends = append(s.ends[:0], make([]int, count)...)
	for _, p := range s.partitions {
		s.ends[p]++
	}
	sum := 0
	for p, rows := range s.ends {
		s.ends[p] = sum // where the partition's rows begin, for now
		sum += rows
	}
	s.rows = append(s.rows[:0], make([]int, n)...)
	for row, p := range s.partitions {
		s.rows[s.ends[p]] = row
		s.ends[p]++
	}
	s.groups = s.groups[:0]
	begin := 0
	for p, end := range s.ends {
		if end > begin {
			s.groups = append(s.groups, Group{Partition: int32(p), Rows: s.rows[begin:end]})
		}
		begin = end
	}
}
