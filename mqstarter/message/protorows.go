package message

import (
	"unicode/utf8"

	"github.com/canal-relay/canal-relay/relay/event"
)

// part is what the Column messages of a column have in common.
type part struct {
	index []byte // field index
	name  []byte // fields name and isKey
	typ   []byte // field mysqlType
	kept  bool
	utf8  bool // its raw bytes are its text, if they are UTF-8
}

func newParts(l *event.Layout, config *Config) []part {
	parts := make([]part, len(l.Columns))
	for i := range l.Columns {
		c := &l.Columns[i]
		parts[i] = part{
			index: appendVarint(nil, 0x08, uint64(i)),
			name:  append(appendText(nil, 0x1a, c.Name), 0x20, bit(c.Key)),
			kept:  config.sends(l, i),
			utf8:  c.UTF8(),
		}
		if c.Type != "" {
			parts[i].typ = appendText(nil, 0x52, c.Type)
		}
	}
	return parts
}

// Fields of RowData.
const (
	beforeColumns = 0x0a
	afterColumns  = 0x12
)

// appendRows appends the fields of a RowChange with rows.
func (p *Proto) appendRows(dst []byte, rows []int) (_ []byte, err error) {
	c := p.change
	dst = appendVarint(dst, 0x08, c.TableID)
	dst = append(dst, 0x10, byte(c.Kind), 0x50, 0)
	for i := range p.count(rows) {
		row := pick(rows, i)
		at := len(dst) + 1
		dst = append(dst, 0x62, 0, 0)
		is, was := p.rows.Row(row), p.rows.Old(row)
		if p.keyOnly {
			if is, _, err = p.keyed(row); err != nil {
				return dst, err
			}
			was = nil
		}
		if c.Kind == event.Delete {
			was, is = is, nil
		}
		if dst, err = p.appendImage(dst, beforeColumns, row, was, nil); err != nil {
			return dst, err
		}
		if dst, err = p.appendImage(dst, afterColumns, row, is, was); err != nil {
			return dst, err
		}
		dst = closeLength(dst, at, 2)
	}
	return dst, nil
}

// appendImage appends the columns of one image; was is the one before it, if
// there is one. An after image's column is updated unless it has the same text
// in both.
func (p *Proto) appendImage(dst []byte, tag byte, row int, image, was []event.Field) (_ []byte, err error) {
	for i, field := range image {
		if !field.Present() || !p.parts[i].kept {
			continue
		}
		updated := tag == afterColumns
		if was != nil && was[i].Present() {
			same, err := p.same(i, was[i], field)
			if err != nil {
				return dst, p.failed(row, i, err)
			}
			updated = !same
		}
		if dst, err = p.appendColumn(dst, tag, i, field, updated); err != nil {
			return dst, p.failed(row, i, err)
		}
	}
	return dst, nil
}

func (p *Proto) appendColumn(dst []byte, tag byte, i int, field event.Field, updated bool) ([]byte, error) {
	part, column := &p.parts[i], &p.change.Layout.Columns[i]
	raw, null := p.rows.Bytes(field), field.Null()
	at := len(dst) + 1
	dst = append(append(dst, tag, 0), part.index...)
	dst = appendVarint(dst, 0x10, uint64(int64(column.SQLType(raw, null, &p.config.Style))))
	dst = append(append(dst, part.name...), 0x28, bit(updated), 0x30, bit(null))
	switch {
	case null:
	case part.utf8 && utf8.Valid(raw):
		dst = append(appendVarint(dst, 0x42, uint64(len(raw))), raw...)
	default:
		value := len(dst) + 1
		var err error
		if dst, err = event.AppendText(append(dst, 0x42, 0), column, raw, p.config.Style); err != nil {
			return dst, err
		}
		dst = closeLength(dst, value, 1)
	}
	return closeLength(append(dst, part.typ...), at, 1), nil
}
