package audit

import (
	"context"
	"slices"
)

// names reports whether a letter's change, one row, is of e.
func (e *expected) names(letter *Change) bool {
	tx, row := e.Tx, e.Row
	if e.In != "" {
		tx, row = e.In, e.Last
	}
	return tx == letter.Tx && row >= letter.Row && e.Topic == letter.Topic && e.Partition == letter.Partition
}

// letter takes the row that a dead letter stands for out of what is expected in
// its own place. Its topic and that one have no order between them.
func (c *comparison) letter(ctx context.Context, letter *Change) (ok bool, err error) {
	row := *letter
	row.Sum = 0
	absent := c.absent[letter.Tx]
	for i := range absent {
		if e := &absent[i]; e.names(letter) {
			if !e.takes(&row) {
				c.absent[letter.Tx] = slices.Delete(absent, i, i+1)
				c.total--
			}
			return true, nil
		}
	}
	p := place{letter.Topic, letter.Partition}
	for n := range maxAhead {
		e, err := c.nth(ctx, p, n)
		if err != nil || e == nil {
			return false, err
		}
		if e.names(letter) {
			c.furthest = max(c.furthest, e.number)
			if !e.takes(&row) {
				c.waiting[p] = slices.Delete(c.waiting[p], n, n+1)
				c.total--
			}
			return true, nil
		}
	}
	return false, nil
}

// excuse puts off what is said of a change that is missing until all letters are
// read.
func (c *comparison) excuse(e *expected, offset int64) bool {
	if c.absent == nil {
		return false
	}
	tx := e.Tx
	if e.In != "" {
		tx = e.In
	}
	e.offset = offset + 1
	c.absent[tx] = append(c.absent[tx], *e)
	c.total++
	return true
}
