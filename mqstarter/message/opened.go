package message

import (
	"errors"
	"fmt"
	"slices"

	"github.com/canal-relay/canal-relay/relay/event"
)

// Config is what messages show, in either form.
type Config struct {
	Style event.Style // how values are written

	// Column reports whether a column of a table is sent; nil sends all. It is
	// asked once per layout and encoder, on the encoder's goroutine.
	Column func(schema, table, column string) bool
}

func (c *Config) sends(l *event.Layout, column int) bool {
	return c.Column == nil || c.Column(l.Table.Schema, l.Table.Name, l.Columns[column].Name)
}

// opened is the change that an encoder has at hand, with its rows located.
type opened struct {
	config Config
	change *event.Change
	rows   event.RowIter // of the last change with rows
	text   []byte        // scratch

	keyOnly bool // rows show their primary key alone
}

// ErrNoKey says that a row cannot be told by its primary key.
var ErrNoKey = errors.New("there is no primary key, or not all of it is logged and sent")

// keyed is the row as it is named by its primary key: of an update after it, and
// before it where a column was not logged again.
func (o *opened) keyed(row int) (fields []event.Field, key []int, err error) {
	l := o.change.Layout
	if l == nil || len(l.Table.PrimaryKey) == 0 {
		return nil, nil, ErrNoKey
	}
	is, was := o.rows.Row(row), o.rows.Old(row)
	fields = slices.Repeat([]event.Field{event.Absent()}, len(is))
	for _, i := range l.Table.PrimaryKey {
		fields[i] = is[i]
		if !is[i].Present() && was != nil {
			fields[i] = was[i]
		}
		if !fields[i].Present() || !o.config.sends(l, i) {
			return nil, nil, ErrNoKey
		}
	}
	return fields, l.Table.PrimaryKey, nil
}

// AppendRowKey appends the primary key of a row of the open change as a JSON
// object of its columns' texts; nothing where it cannot be told.
func (o *opened) AppendRowKey(dst []byte, row int) []byte {
	fields, key, err := o.keyed(row)
	if err != nil {
		return dst
	}
	start := len(dst)
	for _, i := range key {
		c := &o.change.Layout.Columns[i]
		if o.text, err = event.AppendHashText(o.text[:0], c, o.rows.Bytes(fields[i]), o.config.Style); err != nil {
			return dst[:start]
		}
		dst = append(appendString(append(dst, ','), c.Name), ':')
		dst = appendString(dst, string(o.text))
	}
	return closeObject(dst, start)
}

func (o *opened) open(c *event.Change) error {
	o.change = c
	if c.Layout == nil {
		return nil
	}
	if err := c.Locate(&o.rows); err != nil {
		return fmt.Errorf("locate rows of %s.%s: %w", c.Schema, c.Table, err)
	}
	return nil
}

// appendKey appends the text by which a column of a row is hashed: of the after
// image of an update; nothing for NULL and for a column that is absent.
func (o *opened) appendKey(dst []byte, row, column int) ([]byte, error) {
	field := o.rows.Row(row)[column]
	if !field.Present() || field.Null() {
		return dst, nil
	}
	dst, err := event.AppendHashText(dst, &o.change.Layout.Columns[column], o.rows.Bytes(field), o.config.Style)
	if err != nil {
		return dst, o.failed(row, column, err)
	}
	return dst, nil
}

// same says whether two values of a column have the same text, or are both NULL.
func (o *opened) same(column int, was, is event.Field) (same bool, err error) {
	if was.Null() || is.Null() {
		return was.Null() == is.Null(), nil
	}
	c := &o.change.Layout.Columns[column]
	same, o.text, err = c.Equal(o.rows.Bytes(was), o.rows.Bytes(is), o.config.Style, o.text)
	return same, err
}

// count returns how many rows a selection holds: nil is all of them.
func (o *opened) count(rows []int) int {
	if rows == nil {
		return o.rows.Len()
	}
	return len(rows)
}

func pick(rows []int, i int) int {
	if rows == nil {
		return i
	}
	return rows[i]
}

func (o *opened) failed(row, column int, err error) error {
	c := o.change
	return fmt.Errorf("column %s of %s.%s, row %d: %w", c.Layout.Columns[column].Name, c.Schema, c.Table, row, err)
}

func has(bits []byte, i int) bool { return i>>3 < len(bits) && bits[i>>3]>>(i&7)&1 == 1 }
