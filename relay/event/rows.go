package event

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// width is the length of a column's values in bytes: fixed, or told by a
// little-endian number of prefix bytes before each.
type width struct {
	fixed  int32
	prefix uint8
}

func fixed(n int) width { return width{fixed: int32(n)} }

func prefixed(n int) width { return width{prefix: uint8(n)} }

// step is a stretch of fixed-width values, then, if prefix is not 0, one with
// a length.
type step struct {
	skip   int
	prefix uint8
}

func newPlan(widths []width) []step {
	var plan []step
	skip := 0
	for _, w := range widths {
		if w.prefix == 0 {
			skip += int(w.fixed)
			continue
		}
		plan = append(plan, step{skip, w.prefix})
		skip = 0
	}
	return append(plan, step{skip, 0})
}

// CountRows counts the rows of a row event, walking its images: present and
// after are the event's column bitmaps, after for an update only. The error is
// ErrImage with table, column and row where the images do not fit the layout.
func (l *Layout) CountRows(update bool, present, after, image []byte) (int, error) {
	if err := l.checkBitmaps(update, present, after, image); err != nil {
		return 0, err
	}
	before := newImage(l, present)
	var then images
	if update {
		then = newImage(l, after)
	}
	rows := 0
	for at := 0; at < len(image); rows++ {
		next, column := before.skip(l, image, at)
		if column < 0 && update {
			next, column = then.skip(l, image, next)
		}
		if column >= 0 || next == at {
			return rows, l.broken(column, rows)
		}
		at = next
	}
	return rows, nil
}

// SkipTo drops the rows of a row event that stand before an index in the
// transaction; one at least must be left.
func (c *Change) SkipTo(index uint64) error {
	if index <= c.Row {
		return nil
	}
	n, l, update := int(index-c.Row), c.Layout, c.Kind == Update
	if l == nil {
		return fmt.Errorf("skip %d rows of a statement", n)
	}
	if err := l.checkBitmaps(update, c.Present, c.PresentAfter, c.Image); err != nil {
		return err
	}
	before := newImage(l, c.Present)
	var after images
	if update {
		after = newImage(l, c.PresentAfter)
	}
	at := 0
	for row := 0; row < n; row++ {
		next, column := before.skip(l, c.Image, at)
		if column < 0 && update {
			next, column = after.skip(l, c.Image, next)
		}
		if column >= 0 {
			return l.broken(column, row)
		}
		at = next
	}
	c.Image, c.Row, c.Rows = c.Image[at:], c.Row+uint64(n), c.Rows-n
	return nil
}

// Images calls each for every row of an update, in order, with the index in Image
// of the byte behind the row's before image and of that behind its after image.
func (c *Change) Images(each func(middle, end int)) error {
	l := c.Layout
	if err := l.checkBitmaps(true, c.Present, c.PresentAfter, c.Image); err != nil {
		return err
	}
	before, after := newImage(l, c.Present), newImage(l, c.PresentAfter)
	for at, row := 0, 0; at < len(c.Image); row++ {
		middle, column := before.skip(l, c.Image, at)
		if column >= 0 {
			return l.broken(column, row)
		}
		if at, column = after.skip(l, c.Image, middle); column >= 0 {
			return l.broken(column, row)
		}
		each(middle, at)
	}
	return nil
}

func (l *Layout) checkBitmaps(update bool, present, after, image []byte) error {
	n := (len(l.widths) + 7) / 8
	if len(present) < n || update && len(after) < n {
		return fmt.Errorf("table %s.%s: column bitmap of %d bytes for %d columns: %w", l.Table.Schema, l.Table.Name, len(present), len(l.Columns), ErrImage)
	}
	if len(image) > math.MaxInt32 {
		return fmt.Errorf("table %s.%s: row event of %d bytes: %w", l.Table.Schema, l.Table.Name, len(image), ErrImage)
	}
	return nil
}

// broken is the error of a row whose column does not fit into the image, or
// that has no bytes at all.
func (l *Layout) broken(column, row int) error {
	name := "(none present)"
	if column >= 0 && column < len(l.Columns) {
		name = l.Columns[column].Name
	}
	return fmt.Errorf("table %s.%s column %s row %d of the event: %w", l.Table.Schema, l.Table.Name, name, row+1, ErrImage)
}

// images is what the images under one column bitmap have in common.
type images struct {
	present []byte
	nulls   int  // bytes of the NULL bitmap
	full    bool // every column is there
}

func newImage(l *Layout, present []byte) images {
	n := len(l.widths)
	count := 0
	for i := 0; i < n; i += 8 {
		b := present[i>>3]
		if rest := n - i; rest < 8 {
			b &= 1<<rest - 1
		}
		count += bits.OnesCount8(b)
	}
	return images{present, (count + 7) / 8, count == n}
}

// skip finds the end of the image that begins at a place. The column is that
// which does not fit, or -1.
func (m *images) skip(l *Layout, image []byte, at int) (next, column int) {
	if m.full && len(image)-at >= m.nulls && allZero(image[at:at+m.nulls]) {
		if end := m.skipPlan(l.plan, image, at+m.nulls); end >= 0 {
			return end, -1
		}
	}
	return m.locate(l, image, at, nil)
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// skipPlan skips a row without NULL, or returns -1.
func (m *images) skipPlan(plan []step, image []byte, at int) int {
	for _, s := range plan {
		at += s.skip
		if s.prefix == 0 {
			break
		}
		if at+int(s.prefix) > len(image) {
			return -1
		}
		at += int(s.prefix) + length(image[at:], s.prefix)
	}
	if at > len(image) {
		return -1
	}
	return at
}

// length reads the length before a value.
func length(b []byte, prefix uint8) int {
	switch prefix {
	case 1:
		return int(b[0])
	case 2:
		return int(b[0]) | int(b[1])<<8
	case 3:
		return int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	}
	return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 | int(b[3])<<24
}

// locate walks one image column by column and, if fields is not nil, notes
// where each is.
func (m *images) locate(l *Layout, image []byte, at int, fields []Field) (next, column int) {
	if len(image)-at < m.nulls {
		return at, 0
	}
	nulls := image[at : at+m.nulls]
	at += m.nulls
	bit := 0
	for i := range l.widths {
		f := Field{n: absent}
		if m.present[i>>3]&(1<<(i&7)) != 0 {
			null := nulls[bit>>3]&(1<<(bit&7)) != 0
			bit++
			f.n = isNull
			if !null {
				w := l.widths[i]
				n := int(w.fixed)
				if w.prefix != 0 {
					if len(image)-at < int(w.prefix) {
						return at, i
					}
					n = length(image[at:], w.prefix)
					at += int(w.prefix)
				}
				if n > len(image)-at {
					return at, i
				}
				f = Field{int32(at), int32(n)}
				at += n
			}
		}
		if fields != nil {
			fields[i] = f
		}
	}
	return at, -1
}

// Field is where the value of a column stands in a change's row images.
type Field struct {
	at, n int32
}

// What stands in place of a length.
const (
	isNull = -1
	absent = -2
)

// Present says that the image holds the column. Images of fewer columns
// (binlog_row_image MINIMAL, NOBLOB) are no statement about the others.
func (f Field) Present() bool { return f.n != absent }

// Absent is a Field that the image does not hold.
func Absent() Field { return Field{n: absent} }

// Null says that the column is there and NULL.
func (f Field) Null() bool { return f.n == isNull }

// RowIter holds where the columns of a change's rows are. It is scratch to be
// used again: once grown it allocates nothing.
type RowIter struct {
	image   []byte
	fields  []Field
	columns int
	images  int // images of a row: 2 for an update
	rows    int
}

// Locate finds every column of every row of a row event. The iterator refers to
// the change's bytes until it is used again. The error is ErrImage.
func (c *Change) Locate(it *RowIter) error {
	l := c.Layout
	update := c.Kind == Update
	rows, err := l.CountRows(update, c.Present, c.PresentAfter, c.Image)
	if err != nil {
		return err
	}
	it.image, it.columns, it.rows, it.images = c.Image, len(l.widths), rows, 1
	if update {
		it.images = 2
	}
	n := rows * it.images * it.columns
	it.fields = slices.Grow(it.fields[:0], n)[:n]

	before := newImage(l, c.Present)
	after := before
	if update {
		after = newImage(l, c.PresentAfter)
	}
	at := 0
	for row := range rows {
		if update {
			at, _ = before.locate(l, c.Image, at, it.image0(row))
		}
		at, _ = after.locate(l, c.Image, at, it.Row(row))
	}
	return nil
}

// Len is the number of rows.
func (it *RowIter) Len() int { return it.rows }

// Row has the fields of a row, one a column of the layout and some more of columns that the server hides: of the row that was
// inserted or deleted, or of an update's after image.
func (it *RowIter) Row(row int) []Field {
	from := ((row+1)*it.images - 1) * it.columns
	return it.fields[from : from+it.columns]
}

// Old has the fields of an update's before image; nil for other changes.
func (it *RowIter) Old(row int) []Field {
	if it.images != 2 {
		return nil
	}
	return it.image0(row)
}

func (it *RowIter) image0(row int) []Field {
	from := row * it.images * it.columns
	return it.fields[from : from+it.columns]
}

// Bytes is the value of a field without its length, nil for one that is NULL or
// absent.
func (it *RowIter) Bytes(f Field) []byte {
	if f.n < 0 {
		return nil
	}
	return it.image[f.at : f.at+f.n]
}
