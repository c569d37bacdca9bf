package event

import (
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/event/jsonb"
)

// Complete turns the images of a PARTIAL_UPDATE_ROWS event into those of an
// update: each list of differences becomes the document that it makes of the one
// in the before image. The error is ErrPartialJSON where that is not there,
// ErrImage where the bytes are not rows.
//
// In front of every after image stands a packed integer; its bit 0 says that one
// bit follows for each JSON column of the table, set where the column's value is
// a list of differences (Rows_log_event in MySQL's log_event.h).
func (l *Layout) Complete(present, after, image []byte) ([]byte, error) {
	if err := l.checkBitmaps(true, present, after, image); err != nil {
		return nil, err
	}
	p := partial{Layout: l, image: image, was: make([]Field, len(l.widths)), is: make([]Field, len(l.widths))}
	before, then := newImage(l, present), newImage(l, after)
	out := make([]byte, 0, len(image)+len(image)/2)
	for at, row := 0, 0; at < len(image); row++ {
		next, column := before.locate(l, image, at, p.was)
		if column >= 0 {
			return nil, l.broken(column, row)
		}
		out = append(out, image[at:next]...)
		if at = p.options(next); at < 0 {
			return nil, l.broken(-1, row)
		}
		next, column = then.locate(l, image, at, p.is)
		if column >= 0 {
			return nil, l.broken(column, row)
		}
		var err error
		if out, err = p.append(append(out, image[at:at+then.nulls]...), row); err != nil {
			return nil, err
		}
		at = next
	}
	return out, nil
}

// partial is one row of such an event.
type partial struct {
	*Layout
	image   []byte
	was, is []Field
	bits    []byte // one for each JSON column, nil if none is partial
}

// options reads what stands in front of an after image; it returns where that
// begins, or -1.
func (p *partial) options(at int) int {
	p.bits = nil
	if at >= len(p.image) {
		return -1
	}
	options, _, n := mysql.LengthEncodedInt(p.image[at:])
	if at += n; options&1 == 0 {
		return at
	}
	documents := 0
	for i := range p.Columns {
		if p.Columns[i].Wire == mysql.MYSQL_TYPE_JSON {
			documents++
		}
	}
	end := at + (documents+7)/8
	if end > len(p.image) {
		return -1
	}
	p.bits = p.image[at:end]
	return end
}

// append appends the after image's values, documents whole.
func (p *partial) append(out []byte, row int) ([]byte, error) {
	document := -1
	for i := range p.Columns {
		c, f := &p.Columns[i], p.is[i]
		if c.Wire == mysql.MYSQL_TYPE_JSON {
			document++
		}
		if f.n < 0 {
			continue
		}
		differs := p.bits != nil && c.Wire == mysql.MYSQL_TYPE_JSON && p.bits[document>>3]>>(document&7)&1 == 1
		if !differs {
			out = append(out, p.image[int(f.at)-int(c.prefix):f.at+f.n]...)
			continue
		}
		where := func(err error) error {
			return fmt.Errorf("table %s.%s column %s row %d of the event: %w", p.Table.Schema, p.Table.Name, c.Name, row+1, err)
		}
		was := p.was[i]
		if was.n < 0 {
			return out, where(ErrPartialJSON)
		}
		start := len(out)
		out = append(out, make([]byte, c.prefix)...)
		var err error
		if out, err = jsonb.Edit(out, p.image[was.at:was.at+was.n], p.image[f.at:f.at+f.n]); err != nil {
			return out, where(err)
		}
		n := len(out) - start - int(c.prefix)
		for b := range int(c.prefix) {
			out[start+b] = byte(n >> (8 * b))
		}
	}
	return out, nil
}
