package jsonb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
)

// ErrFormat says that the bytes are not a binary JSON value.
var ErrFormat = errors.New("not a binary JSON value")

// maxDepth is the server's limit of nesting.
const maxDepth = 100

// Style is what varies in the text.
type Style struct {
	CutTail bool         // decimals lose an all-zero tail group, as in column.AppendDecimal
	Charset *charset.Set // of opaque bytes; nil is UTF-8
}

const (
	smallObject byte = iota
	largeObject
	smallArray
	largeArray
	literal
	int16Value
	uint16Value
	int32Value
	uint32Value
	int64Value
	uint64Value
	doubleValue
	stringValue
	opaqueValue = 15
)

// Append appends the document's text as Canal prints it: separators ", " and
// ": ", keys in stored order, doubles as Java's, dates with six digits of
// fraction. An empty value, which the server writes for a missing document, has
// an empty text. Errors are ErrFormat or column.ErrValue; the text appended so
// far is then void.
func Append(dst, doc []byte, s Style) ([]byte, error) {
	if len(doc) == 0 {
		return dst, nil
	}
	w := writer{style: s, budget: 2*len(doc) + 8}
	return w.value(dst, doc[0], doc[1:], 0)
}

// writer walks one document.
type writer struct {
	style Style
	// budget bounds the work to the document's length: every element costs one
	// and every text its bytes. A sound document stays below it; a broken one
	// could otherwise point at one element from many places, level by level.
	budget int
}

func (w *writer) spend(n int) error {
	if w.budget -= n; w.budget < 0 {
		return fmt.Errorf("elements overlap: %w", ErrFormat)
	}
	return nil
}

func need(b []byte, n int) error {
	if len(b) < n {
		return fmt.Errorf("value ends after %d bytes, want %d: %w", len(b), n, ErrFormat)
	}
	return nil
}

// value appends the value of a type whose bytes b begins with.
func (w *writer) value(dst []byte, kind byte, b []byte, depth int) ([]byte, error) {
	if err := w.spend(1); err != nil {
		return dst, err
	}
	switch kind {
	case smallObject, smallArray:
		return w.container(dst, b, container{object: kind == smallObject, width: 2}, depth)
	case largeObject, largeArray:
		return w.container(dst, b, container{object: kind == largeObject, width: 4}, depth)
	case stringValue:
		text, err := w.bytes(b)
		if err != nil {
			return dst, err
		}
		return appendQuoted(dst, text, nil), nil
	case opaqueValue:
		if err := need(b, 2); err != nil {
			return dst, err
		}
		raw, err := w.bytes(b[1:])
		if err != nil {
			return dst, err
		}
		return w.opaque(dst, b[0], raw)
	}
	return scalar(dst, kind, b)
}

// scalar appends a literal or a number.
func scalar(dst []byte, kind byte, b []byte) ([]byte, error) {
	if kind > doubleValue {
		return dst, fmt.Errorf("type %d: %w", kind, ErrFormat)
	}
	if err := need(b, [...]int{literal: 1, int16Value: 2, uint16Value: 2, int32Value: 4, uint32Value: 4,
		int64Value: 8, uint64Value: 8, doubleValue: 8}[kind]); err != nil {
		return dst, err
	}
	switch kind {
	case literal:
		if b[0] > 2 {
			return dst, fmt.Errorf("literal %d: %w", b[0], ErrFormat)
		}
		return append(dst, [...]string{"null", "true", "false"}[b[0]]...), nil
	case int16Value:
		return strconv.AppendInt(dst, column.Int(b[:2]), 10), nil
	case uint16Value:
		return strconv.AppendUint(dst, column.Uint(b[:2]), 10), nil
	case int32Value:
		return strconv.AppendInt(dst, column.Int(b[:4]), 10), nil
	case uint32Value:
		return strconv.AppendUint(dst, column.Uint(b[:4]), 10), nil
	case int64Value:
		return strconv.AppendInt(dst, column.Int(b[:8]), 10), nil
	case uint64Value:
		return strconv.AppendUint(dst, column.Uint(b[:8]), 10), nil
	}
	return column.AppendDouble(dst, math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
}

// bytes takes bytes that stand after their length, seven bits a byte.
func (w *writer) bytes(b []byte) ([]byte, error) {
	n := uint64(0)
	for i := range min(5, len(b)) {
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			b = b[i+1:]
			if n > uint64(len(b)) {
				return nil, need(b, int(n))
			}
			return b[:n], w.spend(int(n))
		}
	}
	return nil, fmt.Errorf("length of a text: %w", ErrFormat)
}

// container is an object or an array; its numbers have 2 or 4 bytes.
type container struct {
	object bool
	width  int
}

func (c container) number(b []byte, at int) int {
	if c.width == 2 {
		return int(binary.LittleEndian.Uint16(b[at:]))
	}
	return int(binary.LittleEndian.Uint32(b[at:]))
}

// inline says whether a value of the type stands in its entry.
func (c container) inline(kind byte) bool {
	return kind == literal || kind == int16Value || kind == uint16Value ||
		c.width == 4 && (kind == int32Value || kind == uint32Value)
}

func (w *writer) container(dst, b []byte, c container, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, fmt.Errorf("more than %d levels: %w", maxDepth, ErrFormat)
	}
	if err := need(b, 2*c.width); err != nil {
		return dst, err
	}
	count, size := c.number(b, 0), c.number(b, c.width)
	keys := 2 * c.width
	values := keys
	if c.object {
		values += count * (c.width + 2)
	}
	head := values + count*(c.width+1)
	if size < head || size > len(b) {
		return dst, fmt.Errorf("%d elements in %d of %d bytes: %w", count, size, len(b), ErrFormat)
	}
	b = b[:size]

	open, shut := byte('['), byte(']')
	if c.object {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	for i := range count {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if c.object {
			if dst, err = w.key(dst, b, c, keys+i*(c.width+2), head); err != nil {
				return dst, err
			}
		}
		if dst, err = w.element(dst, b, c, values+i*(c.width+1), head, depth); err != nil {
			return dst, err
		}
	}
	return append(dst, shut), nil
}

// key appends the key whose entry is at a place, and its colon.
func (w *writer) key(dst, b []byte, c container, at, head int) ([]byte, error) {
	from := c.number(b, at)
	n := int(binary.LittleEndian.Uint16(b[at+c.width:]))
	if from < head || from > len(b) || n > len(b)-from {
		return dst, fmt.Errorf("key of %d bytes at %d of %d: %w", n, from, len(b), ErrFormat)
	}
	if err := w.spend(n); err != nil {
		return dst, err
	}
	dst = appendQuoted(dst, b[from:from+n], nil)
	return append(dst, ": "...), nil
}

// element appends the value whose entry is at a place.
func (w *writer) element(dst, b []byte, c container, at, head, depth int) ([]byte, error) {
	kind := b[at]
	if c.inline(kind) {
		return w.value(dst, kind, b[at+1:at+1+c.width], depth+1)
	}
	from := c.number(b, at+1)
	if from < head || from > len(b) {
		return dst, fmt.Errorf("element at %d of %d: %w", from, len(b), ErrFormat)
	}
	return w.value(dst, kind, b[from:], depth+1)
}
