package message

import (
	"errors"
	"strconv"

	"github.com/canal-relay/canal-relay/relay/event"
)

const null = "null"

// Flat writes changes as Canal's FlatMessage JSON: members in alphabetical
// order, columns in table order, nulls written, no blanks. It belongs to one
// goroutine and, once warm, allocates nothing for rows and columns.
type Flat struct {
	opened
	shapes map[*event.Layout]*shape

	// Of the change that is open:
	shape *shape // nil for a statement
	data  []int  // columns that data shows: those sent of the image, of an update's after image
	old   []int  // columns that old may show: those of data that are in the before image too
	types []byte // member mysqlType
	codes []byte // member sqlType
	keys  []byte // member pkNames

	built []byte // scratch
}

// NewFlat makes an encoder.
func NewFlat(c Config) *Flat {
	return &Flat{opened: opened{config: c}, shapes: make(map[*event.Layout]*shape)}
}

// Open takes a change, whose memory must stay as it is until the next Open, and
// locates its rows. A statement has none.
func (f *Flat) Open(c *event.Change) error {
	f.shape = nil
	f.data, f.old = f.data[:0], f.old[:0]
	if err := f.open(c); err != nil || c.Layout == nil {
		return err
	}
	f.shape = f.shapeOf(c.Layout)
	shown := c.Present
	if c.Kind == event.Update {
		shown = c.PresentAfter
	}
	for i := range f.shape.columns {
		if !f.shape.columns[i].kept || !has(shown, i) {
			continue
		}
		f.data = append(f.data, i)
		if c.Kind == event.Update && has(c.Present, i) {
			f.old = append(f.old, i)
		}
	}
	f.describe()
	return nil
}

func (f *Flat) shapeOf(l *event.Layout) *shape {
	s := f.shapes[l]
	if s == nil {
		if len(f.shapes) >= maxShapes {
			clear(f.shapes)
		}
		s = newShape(l, &f.config)
		f.shapes[l] = s
	}
	return s
}

// describe makes the members that tell of columns. They are those of the whole
// change also where a message holds some of its rows: sqlType is what it is in
// the last one.
func (f *Flat) describe() {
	f.built = f.built[:0]
	if len(f.data) == f.shape.kept {
		f.types, f.keys = f.shape.types, f.shape.keys
	} else {
		f.built = f.shape.appendTypes(f.built, f.data)
		n := len(f.built)
		f.built = f.shape.appendKeys(f.built, f.data)
		f.types, f.keys = f.built[:n], f.built[n:]
	}
	if f.Rows() == 0 {
		f.codes = append(f.codes[:0], null...)
		return
	}
	f.codes = f.codes[:0]
	last := f.rows.Row(f.rows.Len() - 1)
	for _, i := range f.data {
		name := f.shape.columns[i].name
		f.codes = append(f.codes, name[:len(name)-1]...)
		code := f.change.Layout.Columns[i].SQLType(f.rows.Bytes(last[i]), last[i].Null(), &f.config.Style)
		f.codes = strconv.AppendInt(f.codes, int64(code), 10)
	}
	f.codes = closeObject(f.codes, 0)
}

// Rows returns how many rows of the open change are in data: 0 for a statement,
// and for a row event none of whose columns is sent.
func (f *Flat) Rows() int {
	if len(f.data) == 0 {
		return 0
	}
	return f.rows.Len()
}

// AppendKey appends the text by which Canal's partition rules hash a column, by
// its index in the layout, of a row: of the after image of an update. A column
// that is NULL, absent or not sent appends nothing.
func (f *Flat) AppendKey(dst []byte, row, column int) ([]byte, error) {
	if !f.shape.columns[column].kept {
		return dst, nil
	}
	return f.appendKey(dst, row, column)
}

// AppendRecordKey appends some columns of a row, by their index in the layout, as
// the object that data has for them: those of the after image of an update, and
// where that lacks one, of the before image.
func (f *Flat) AppendRecordKey(dst []byte, row int, columns []int) (_ []byte, err error) {
	start := len(dst)
	is, was := f.rows.Row(row), f.rows.Old(row)
	for _, i := range columns {
		field := is[i]
		if !field.Present() && was != nil {
			field = was[i]
		}
		if !field.Present() {
			return dst, f.failed(row, i, errKeyAbsent)
		}
		if dst, err = f.appendMember(dst, i, f.rows.Bytes(field), field.Null()); err != nil {
			return dst, f.failed(row, i, err)
		}
	}
	return closeObject(dst, start), nil
}

var errKeyAbsent = errors.New("it belongs to the record's key, and the source did not log it: set binlog_row_image=FULL there")

// Append appends the message that holds some rows of the open change, by their
// index in it; nil is all of them, and what a statement takes. id is the number
// of the batch, ts the time in milliseconds since 1970 at which it is written.
func (f *Flat) Append(dst []byte, rows []int, id uint64, ts int64) ([]byte, error) {
	c := f.change
	dst = append(dst, `{"data":`...)
	dst, err := f.appendData(dst, rows)
	if err != nil {
		return dst, err
	}
	dst = appendString(append(dst, `,"database":`...), c.Schema)
	dst = strconv.AppendInt(append(dst, `,"es":`...), c.Time*1000, 10)
	dst = appendString(append(dst, `,"gtid":`...), c.GTID)
	dst = strconv.AppendUint(append(dst, `,"id":`...), id, 10)
	dst = strconv.AppendBool(append(dst, `,"isDdl":`...), c.DDL)
	if f.shape == nil {
		dst = append(dst, `,"mysqlType":null,"old":null,"pkNames":null,"sql":`...)
		dst = append(appendString(dst, c.SQL), `,"sqlType":null`...)
	} else {
		dst = append(append(dst, `,"mysqlType":`...), f.types...)
		if dst, err = f.appendOld(append(dst, `,"old":`...), rows); err != nil {
			return dst, err
		}
		dst = append(append(dst, `,"pkNames":`...), f.keys...)
		dst = append(append(dst, `,"sql":"","sqlType":`...), f.codes...)
	}
	dst = appendString(append(dst, `,"table":`...), c.Table)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), ts, 10)
	dst = append(append(dst, `,"type":"`...), c.Kind.String()...)
	return append(dst, `"}`...), nil
}

// AppendKeyOnly appends the message of one row as Append does, with the columns
// of its primary key alone in data, and nothing in old. It returns ErrNoKey for
// a row that has none.
func (f *Flat) AppendKeyOnly(dst []byte, row int, id uint64, ts int64) ([]byte, error) {
	if f.shape == nil || len(f.data) == 0 {
		return dst, ErrNoKey
	}
	f.keyOnly = true
	defer func() { f.keyOnly = false }()
	return f.Append(dst, []int{row}, id, ts)
}
