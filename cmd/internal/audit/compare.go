package audit

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
)

// Source yields what topics must hold, in binlog order, and io.EOF behind the
// last change: each whole, however large. A Sum that is 0 is not compared.
type Source func(context.Context) (Change, error)

const (
	maxAhead   = 1 << 16 // expected changes of one partition that are searched for one that was met
	maxWaiting = 1 << 22 // expected changes of all partitions that wait to be met
)

type place struct {
	topic     string
	partition int32
}

// expected is a change of the source with its number among them.
type expected struct {
	Change
	number uint64
	offset int64 // behind the record where it was missed, 0 for none
}

// comparison holds a source against the new changes of the topics.
type comparison struct {
	source   Source
	read     map[string]bool       // topics that are read
	unread   map[string]uint64     // changes for others, passed over
	waiting  map[place][]expected  // in order, not met yet
	absent   map[string][]expected // by transaction: passed over, and maybe a dead letter still to be read; nil without such letters
	total    int                   // of waiting and absent
	pulled   uint64
	furthest uint64 // number behind the last one met
	met      bool   // the first change of the topics
	ended    bool
}

// pull takes one change of the source; false at its end.
func (c *comparison) pull(ctx context.Context) (*expected, error) {
	if c.ended {
		return nil, nil
	}
	if c.total > maxWaiting {
		return nil, fmt.Errorf("more than %d changes of the source are not in the topics, or not yet: let the comparison begin later in the binlog with --source-from", maxWaiting)
	}
	change, err := c.source(ctx)
	for ; err == nil && !c.read[change.Topic]; change, err = c.source(ctx) {
		c.unread[change.Topic]++
	}
	if errors.Is(err, io.EOF) {
		c.ended = true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	p := place{change.Topic, change.Partition}
	c.pulled++
	c.total++
	c.waiting[p] = append(c.waiting[p], expected{Change: change, number: c.pulled})
	all := c.waiting[p]
	return &all[len(all)-1], nil
}

// begin passes over what the source has before the first change of the topics.
func (c *comparison) begin(ctx context.Context, first *Change) error {
	c.met = true
	tx := ""
	for {
		e, err := c.pull(ctx)
		if err != nil {
			return err
		}
		if e == nil {
			return fmt.Errorf("the source has no change %s row %d, with which the topics begin: let the comparison begin earlier in the binlog with --source-from, "+
				"or the audit later with --from", first.Tx, first.Row)
		}
		if e.Tx != tx { // what stood before it is out of what was read
			tx = e.Tx
			last := *e
			clear(c.waiting)
			c.waiting[place{last.Topic, last.Partition}] = []expected{last}
			c.total = 1
		}
		if e.Tx == first.Tx && e.Row >= first.Row && e.Topic == first.Topic && e.Partition == first.Partition {
			return nil
		}
	}
}

// holds reports whether a change is e, or some of its rows: where not all of them
// fit into a message they have one each.
func (e *expected) holds(c *Change) bool {
	return e.Tx == c.Tx && (e.Row == c.Row || e.Row > c.Row && c.Rows > 0 && c.Rows <= e.Rows)
}

// takes reports whether that leaves rows of e.
func (e *expected) takes(c *Change) (left bool) {
	e.Rows -= c.Rows
	if e.Sum != 0 && c.Sum != 0 {
		e.Sum = content.Rest(e.Sum, c.Sum, e.Rows)
	} else {
		e.Sum = 0
	}
	return e.Rows > 0
}

// heads reports whether a change is the next one that its partition must hold.
func (c *comparison) heads(ctx context.Context, change *Change) (bool, error) {
	e, err := c.nth(ctx, place{change.Topic, change.Partition}, 0)
	return e != nil && e.holds(change) && (e.Rows != change.Rows || e.Sum == change.Sum || e.Sum == 0 || change.Sum == 0), err
}

// nth returns the n-th change that is expected in a partition, nil if there are
// fewer.
func (c *comparison) nth(ctx context.Context, p place, n int) (*expected, error) {
	for len(c.waiting[p]) <= n {
		if e, err := c.pull(ctx); e == nil {
			return nil, err
		}
	}
	return &c.waiting[p][n], nil
}

// match finds a new change among those expected in its partition. missing are
// those before it, and differs says that its content is another one. ok is
// false if it is not found.
func (c *comparison) match(ctx context.Context, change *Change) (missing []expected, differs, ok bool, err error) {
	p := place{change.Topic, change.Partition}
	for n := range maxAhead {
		e, err := c.nth(ctx, p, n)
		if err != nil || e == nil {
			return nil, false, false, err
		}
		if !e.holds(change) {
			continue
		}
		missing = append(missing, c.waiting[p][:n]...)
		c.furthest = max(c.furthest, e.number)
		c.total -= n
		switch part := change.Rows > 0 && change.Rows < e.Rows; {
		case part && e.takes(change) && e.Row != change.Row:
			c.waiting[p] = c.waiting[p][n:]
			return missing, false, true, nil
		case part: // the last rows, and some before them are not there
			missing = append(missing, *e)
		default:
			differs = change.Rows > 0 && e.Rows > 0 && change.Rows != e.Rows || e.Sum != 0 && change.Sum != 0 && e.Sum != change.Sum
		}
		c.waiting[p] = c.waiting[p][n+1:]
		c.total--
		return missing, differs, true, nil
	}
	return nil, false, false, nil
}

// rest takes the source to its end, and returns what was not met: before the
// last one that was, and how many rows follow it.
func (c *comparison) rest(ctx context.Context) (missing []expected, behind uint64, err error) {
	for {
		e, err := c.pull(ctx)
		if err != nil {
			return nil, 0, err
		}
		if e == nil {
			break
		}
	}
	for _, list := range c.absent {
		missing = append(missing, list...)
	}
	for _, list := range c.waiting {
		for _, e := range list {
			if e.number < c.furthest {
				missing = append(missing, e)
			} else {
				behind++
			}
		}
	}
	return missing, behind, nil
}
