package mqstarter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
)

// target is where the changes of one table go.
type target struct {
	topic     string
	limit     int // bytes of a message
	rule      route.Rule
	statement int32 // partition of what has no rows
	columns   []int // of the layout, whose texts are hashed
}

// partition is where a change goes whose rows are not spread.
func (t *target) partition(rows int) int32 {
	if rows == 0 {
		return t.statement
	}
	return t.rule.Partition
}

// maxTargets bounds a builder's memory of targets: a DDL makes a new layout,
// and statements may name any table.
const maxTargets = 4096

// targets remembers targets: those of row events by layout, so that the hot
// path compares a pointer, those of statements by name.
type targets struct {
	router  *route.Router
	limit   int
	limiter Limiter // nil if the producer knows no limits
	fold    bool    // column names in rules match in any case

	layouts    map[*event.Layout]*target
	statements map[[2]string]*target
	layout     *event.Layout // the latest, and its target
	target     *target
}

func newTargets(t *term) targets {
	limiter, _ := t.producer.(Limiter)
	return targets{
		router: t.config.Router, limit: t.config.Limit, limiter: limiter, fold: t.config.Packets != nil,
		layouts:    make(map[*event.Layout]*target),
		statements: make(map[[2]string]*target),
	}
}

// of returns the target of a change.
func (t *targets) of(ctx context.Context, c *event.Change) (*target, error) {
	if c.Layout == nil {
		return t.statement(ctx, c)
	}
	if c.Layout == t.layout {
		return t.target, nil
	}
	to := t.layouts[c.Layout]
	if to == nil {
		var err error
		if to, err = t.make(ctx, c); err != nil {
			return nil, err
		}
		if len(t.layouts) >= maxTargets {
			clear(t.layouts)
		}
		t.layouts[c.Layout] = to
	}
	t.layout, t.target = c.Layout, to
	return to, nil
}

func (t *targets) statement(ctx context.Context, c *event.Change) (*target, error) {
	name := [2]string{c.Schema, c.Table}
	if to := t.statements[name]; to != nil {
		return to, nil
	}
	to, err := t.make(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(t.statements) >= maxTargets {
		clear(t.statements)
	}
	t.statements[name] = to
	return to, nil
}

func (t *targets) make(ctx context.Context, c *event.Change) (*target, error) {
	to := &target{topic: t.router.Topic(c.Schema, c.Table), limit: t.limit, statement: t.router.Statement()}
	if c.Layout != nil {
		to.rule = t.router.Rule(to.topic, c.Schema, c.Table)
		to.columns = hashed(&to.rule, c.Layout, t.fold)
	}
	if err := t.router.Err(); err != nil {
		return nil, err
	}
	if to.topic == "" {
		return nil, errors.New("no rule gives it a topic, and there is no default topic")
	}
	if t.limiter != nil {
		limit, err := t.limiter.Limit(ctx, to.topic)
		if err != nil {
			return nil, fmt.Errorf("prepare topic: %w", err)
		}
		to.limit = min(to.limit, limit)
	}
	return to, nil
}

// hashed returns the columns that take part in the hash of a row. Canal finds
// their names in any case in its protobuf form, in the flat form only as they are.
func hashed(r *route.Rule, l *event.Layout, fold bool) []int {
	if !r.Hashed {
		return nil
	}
	if r.PrimaryKey {
		return l.Table.PrimaryKey
	}
	var columns []int
	for _, name := range r.Columns {
		for i := range l.Columns {
			if have := l.Columns[i].Name; have == name || fold && strings.EqualFold(have, name) {
				columns = append(columns, i)
			}
		}
	}
	return columns
}

// group is the rows of a change that go to one partition, in their order.
type group struct {
	partition int32
	rows      []int
}

// splitter groups rows by partition. Its memory is used again for each change.
type splitter struct {
	key        []byte
	partitions []int32 // of each row
	ends       []int   // by partition: where its rows end
	rows       []int
	groups     []group
}

// keyed is an encoder that has a change open whose rows can be hashed.
type keyed interface {
	Rows() int
	AppendKey(dst []byte, row, column int) ([]byte, error)
}

// hash finds the partition of each row of the change that k has open, as
// route.Router.Rule says.
func (s *splitter) hash(k keyed, to *target) error {
	s.partitions = s.partitions[:0]
	for row := range k.Rows() {
		h := to.rule.Seed
		for _, column := range to.columns {
			var err error
			if s.key, err = k.AppendKey(s.key[:0], row, column); err != nil {
				return err
			}
			h ^= route.Hash(s.key)
		}
		s.partitions = append(s.partitions, route.Partition(h, to.rule.Partitions))
	}
	return nil
}

// split groups the rows of the change that k has open in ascending order of
// partitions.
func (s *splitter) split(k keyed, to *target) ([]group, error) {
	if err := s.hash(k, to); err != nil {
		return nil, err
	}
	n, count := len(s.partitions), int(to.rule.Partitions)
	if n == 1 {
		s.groups = append(s.groups[:0], group{partition: s.partitions[0]})
		return s.groups, nil
	}
	s.sort(n, count)
	return s.groups, nil
}

// sort is a counting sort: rows keep their order within a partition.
func (s *splitter) sort(n, count int) {
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
			s.groups = append(s.groups, group{partition: int32(p), rows: s.rows[begin:end]})
		}
		begin = end
	}
}
