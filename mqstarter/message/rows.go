package message

import (
	"unicode/utf8"

	"github.com/canal-relay/canal-relay/relay/event"
)

// appendData appends the member data.
func (f *Flat) appendData(dst []byte, rows []int) (_ []byte, err error) {
	if len(f.data) == 0 {
		return append(dst, null...), nil
	}
	if f.keyOnly {
		_, key, err := f.keyed(rows[0])
		if err != nil {
			return dst, err
		}
		dst, err = f.AppendRecordKey(append(dst, '['), rows[0], key)
		return append(dst, ']'), err
	}
	dst = append(dst, '[')
	for i := range f.count(rows) {
		if i > 0 {
			dst = append(dst, ',')
		}
		start, row := len(dst), pick(rows, i)
		fields := f.rows.Row(row)
		for _, column := range f.data {
			field := fields[column]
			if dst, err = f.appendMember(dst, column, f.rows.Bytes(field), field.Null()); err != nil {
				return dst, f.failed(row, column, err)
			}
		}
		dst = closeObject(dst, start)
	}
	return append(dst, ']'), nil
}

// appendOld appends the member old: of each row of an update what its changed
// columns were before, as far as the before image has them.
func (f *Flat) appendOld(dst []byte, rows []int) (_ []byte, err error) {
	if f.change.Kind != event.Update || f.keyOnly {
		return append(dst, null...), nil
	}
	dst = append(dst, '[')
	for i := range f.count(rows) {
		if i > 0 {
			dst = append(dst, ',')
		}
		start, row := len(dst), pick(rows, i)
		was, is := f.rows.Old(row), f.rows.Row(row)
		for _, column := range f.old {
			if dst, err = f.appendChanged(dst, column, was[column], is[column]); err != nil {
				return dst, f.failed(row, column, err)
			}
		}
		dst = closeObject(dst, start)
	}
	return append(dst, ']'), nil
}

// appendChanged appends a column's member as it was before, if it changed: if
// its text is another one now.
func (f *Flat) appendChanged(dst []byte, column int, was, is event.Field) ([]byte, error) {
	if same, err := f.same(column, was, is); err != nil || same {
		return dst, err
	}
	return f.appendMember(dst, column, f.rows.Bytes(was), was.Null())
}

// appendMember appends ,"name":"text" or ,"name":null.
func (f *Flat) appendMember(dst []byte, column int, raw []byte, isNull bool) ([]byte, error) {
	s := &f.shape.columns[column]
	if isNull {
		return append(append(dst, s.name[:len(s.name)-1]...), null...), nil
	}
	dst = append(dst, s.name...)
	if s.utf8 && utf8.Valid(raw) {
		return append(appendEscaped(dst, raw), '"'), nil
	}
	start := len(dst)
	dst, err := event.AppendText(dst, &f.change.Layout.Columns[column], raw, f.config.Style)
	if err != nil {
		return dst, err
	}
	if !s.plain && clean(dst[start:]) < len(dst)-start {
		f.text = append(f.text[:0], dst[start:]...)
		dst = appendEscaped(dst[:start], f.text)
	}
	return append(dst, '"'), nil
}

// closeObject makes an object of the members from start on, each of which begins
// with a comma.
func closeObject(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{'
	return append(dst, '}')
}
