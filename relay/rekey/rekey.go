package rekey

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/canal-relay/canal-relay/relay/event"
)

// ErrImage says that the images of an update do not tell the whole row.
var ErrImage = errors.New("a change of a primary key can only be split when the source logs whole rows: set binlog_row_image=FULL there, or canal.relay.pk.update=as-canal")

// Splitter splits updates. Its memory is used again for each one.
type Splitter struct {
	rows  event.RowIter
	moved []bool // by row: whether its key changed
	parts []event.Change
}

// Split returns what an update becomes, in the order of its rows: for a row
// whose primary key changed a delete of the old row and an insert of the new
// one, for the rows between them an update. They count as that many rows. The
// parts share the update's bytes, and are valid until the next Split. An update
// that changes no key is returned as it is, and so is one of a table without.
func (s *Splitter) Split(c *event.Change) ([]event.Change, error) {
	s.parts = s.parts[:0]
	any, err := s.compare(c)
	if err != nil {
		return nil, err
	}
	if !any {
		s.parts = append(s.parts, *c)
		return s.parts, nil
	}
	kept, at, row := 0, 0, 0 // first byte of the rows not yet in a part
	err = c.Images(func(middle, end int) {
		if s.moved[row] {
			s.update(c, kept, at, row)
			s.part(c, event.Delete, c.Present, c.Image[at:middle], 1)
			s.part(c, event.Insert, c.PresentAfter, c.Image[middle:end], 1)
			kept = end
		}
		at = end
		row++
	})
	s.update(c, kept, at, row)
	return s.parts, err
}

// update adds the rows from one byte to another, of which the last stands
// before row.
func (s *Splitter) update(c *event.Change, from, to, row int) {
	rows := 0
	for row > rows && !s.moved[row-rows-1] {
		rows++
	}
	if rows > 0 {
		s.part(c, event.Update, c.Present, c.Image[from:to], rows)
	}
}

func (s *Splitter) part(c *event.Change, k event.Kind, present, image []byte, rows int) {
	p := *c
	p.Kind, p.Present, p.Image, p.Rows = k, present, image, rows
	if k != event.Update {
		p.PresentAfter = nil
	}
	s.parts = append(s.parts, p)
}

// compare notes which rows change their primary key, and reports whether any does.
func (s *Splitter) compare(c *event.Change) (any bool, err error) {
	key := c.Layout.Table.PrimaryKey
	if len(key) == 0 {
		return false, nil
	}
	if err := c.Locate(&s.rows); err != nil {
		return false, err
	}
	s.moved = s.moved[:0]
	for row := range s.rows.Len() {
		was, is := s.rows.Old(row), s.rows.Row(row)
		moved := false
		for _, i := range key {
			// MINIMAL leaves a column out that did not change.
			if is[i].Present() && !(was[i].Present() && bytes.Equal(s.rows.Bytes(was[i]), s.rows.Bytes(is[i]))) {
				moved = true
			}
		}
		for i := range c.Layout.Columns {
			if moved && !(was[i].Present() && is[i].Present()) {
				return false, fmt.Errorf("row %d: column %s is left out: %w", row+1, c.Layout.Columns[i].Name, ErrImage)
			}
		}
		s.moved = append(s.moved, moved)
		any = any || moved
	}
	return any, nil
}
