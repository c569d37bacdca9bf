package jsonb

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
)

// The server's column types of opaque values that have a text of their own.
const (
	timestampType = 7
	dateType      = 10
	timeType      = 11
	datetimeType  = 12
	decimalType   = 246
)

// opaque appends a value of a column type that JSON has not: decimals as
// numbers, dates and times quoted, anything else as text of its bytes, which
// are code points of the same numbers where they are no text.
func (w *writer) opaque(dst []byte, kind byte, raw []byte) ([]byte, error) {
	switch kind {
	case decimalType:
		if err := need(raw, 3); err != nil {
			return dst, err
		}
		return column.AppendDecimal(dst, raw[2:], int(raw[0]), int(raw[1]), w.style.CutTail && !w.style.MySQL)
	case dateType, datetimeType, timestampType, timeType:
		if len(raw) != 8 {
			return dst, fmt.Errorf("date or time of %d bytes: %w", len(raw), ErrFormat)
		}
		return w.temporal(dst, kind, int64(binary.LittleEndian.Uint64(raw))), nil
	}
	if w.style.MySQL {
		dst = append(strconv.AppendUint(append(dst, `"base64:type`...), uint64(kind), 10), ':')
		return append(base64.StdEncoding.AppendEncode(dst, raw), '"'), nil
	}
	if len(raw) == 0 {
		return dst, fmt.Errorf("opaque value of type %d without bytes: %w", kind, ErrFormat)
	}
	set := w.style.Charset
	if !isText(raw, set) {
		set = charset.Binary
	}
	return w.quoted(dst, raw, set), nil
}

// isText says whether the bytes are text of a character set, nil for UTF-8.
// Opaque bytes that are not are carried as those of binary columns are, for
// U+FFFD would lose them.
func isText(raw []byte, set *charset.Set) bool {
	if set == nil || set.UTF8() {
		return utf8.Valid(raw)
	}
	return !bytes.ContainsRune(set.Append(nil, raw), utf8.RuneError)
}

// temporal appends the server's packed form: the fraction in the low 24 bits,
// above it the fields of DATETIME2 or TIME2; negative as a whole. In the
// server's text a DATE is the date alone, and zeros have a fraction too.
func (w *writer) temporal(dst []byte, kind byte, v int64) []byte {
	dst = append(dst, '"')
	switch {
	case w.style.MySQL && v >= 0:
	case v == 0 && kind == timeType:
		return append(dst, `00:00:00"`...)
	case v == 0:
		return append(dst, `0000-00-00 00:00:00"`...)
	case v < 0:
		dst = append(dst, '-')
		v = -v
	}
	whole, micros := uint64(v)>>24, uint32(v&0xffffff)
	if kind == timeType {
		dst = column.AppendClock(dst, uint32(whole>>12), uint32(whole>>6&63), uint32(whole&63))
	} else {
		month := uint32(whole >> 22)
		dst = column.AppendCalendar(dst, month/13, month%13, uint32(whole>>17&31))
		if kind == dateType && w.style.MySQL {
			return append(dst, '"')
		}
		dst = column.AppendClock(append(dst, ' '), uint32(whole>>12&31), uint32(whole>>6&63), uint32(whole&63))
	}
	dst = column.AppendPadded(append(dst, '.'), micros, 6)
	return append(dst, '"')
}

// quoted appends text of a character set, nil for UTF-8, in quotes.
// Control characters from U+0000 to U+001F and U+007F to U+00A0 are escaped; in
// the server's text only the former.
func (w *writer) quoted(dst, text []byte, set *charset.Set) []byte {
	if set == nil || set.UTF8() {
		set = charset.UTF8MB4
	}
	if !set.UTF8() || !utf8.Valid(text) {
		text = set.Append(nil, text)
	}
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' && (c < 0x7f || c != 0x7f && c != 0xc2 || w.style.MySQL) {
			continue
		}
		r, n := rune(c), 1
		if c == 0xc2 {
			if r, n = rune(text[i+1]), 2; r > 0xa0 {
				continue
			}
		}
		dst = append(dst, text[from:i]...)
		dst = w.escaped(dst, r)
		from = i + n
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

func (w *writer) escaped(dst []byte, r rune) []byte {
	switch r {
	case '\b', '\f':
		if w.style.MySQL {
			return append(dst, '\\', [...]byte{'\b': 'b', '\f': 'f'}[r])
		}
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}
