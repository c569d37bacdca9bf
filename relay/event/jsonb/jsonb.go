package jsonb

import (
	"bytes"
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
	MySQL   bool         // the server's own text instead of Canal's: what SELECT shows
	CutTail bool         // decimals lose an all-zero tail group, as in column.AppendDecimal
	Charset *charset.Set // of opaque bytes; nil is UTF-8; not in the server's text
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

// Append appends the document's text: separators ", " and ": ", keys in stored
// order; in Canal's style doubles as Java's and dates with six digits of
// fraction, in the server's as the server prints them. An empty value, which the
// server keeps for a NOT NULL document that was not given, is an empty text in
// Canal's, and null in the server's. Errors are ErrFormat or column.ErrValue; the
// text appended so far is then void.
func Append(dst, doc []byte, s Style) ([]byte, error) {
	if len(doc) == 0 {
		if s.MySQL {
			dst = append(dst, "null"...)
		}
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
		return w.quoted(dst, text, nil), nil
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
	return w.scalar(dst, kind, b)
}

// scalarSizes are the bytes of literals and numbers.
var scalarSizes = [...]int{literal: 1, int16Value: 2, uint16Value: 2, int32Value: 4, uint32Value: 4, int64Value: 8, uint64Value: 8, doubleValue: 8}

// scalar appends a literal or a number.
func (w *writer) scalar(dst []byte, kind byte, b []byte) ([]byte, error) {
	if kind > doubleValue {
		return dst, fmt.Errorf("type %d: %w", kind, ErrFormat)
	}
	if err := need(b, scalarSizes[kind]); err != nil {
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
	v := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if !w.style.MySQL {
		return column.AppendDouble(dst, v), nil
	}
	start := len(dst)
	if dst = column.AppendShortest(dst, v, 64); !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst, nil
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

// frame is a container's head, checked.
type frame struct {
	count  int
	keys   int // where the entries of keys begin
	values int // where the entries of values begin
	head   int // where all entries end
	body   []byte
}

func (c container) frame(b []byte) (frame, error) {
	if err := need(b, 2*c.width); err != nil {
		return frame{}, err
	}
	f := frame{count: c.number(b, 0), keys: 2 * c.width}
	size := c.number(b, c.width)
	f.values = f.keys
	if c.object {
		f.values += f.count * (c.width + 2)
	}
	f.head = f.values + f.count*(c.width+1)
	if size < f.head || size > len(b) {
		return f, fmt.Errorf("%d elements in %d of %d bytes: %w", f.count, size, len(b), ErrFormat)
	}
	f.body = b[:size]
	return f, nil
}

// key is the key of an element.
func (c container) key(f *frame, i int) ([]byte, error) {
	at := f.keys + i*(c.width+2)
	from := c.number(f.body, at)
	n := int(binary.LittleEndian.Uint16(f.body[at+c.width:]))
	if from < f.head || from > len(f.body) || n > len(f.body)-from {
		return nil, fmt.Errorf("key of %d bytes at %d of %d: %w", n, from, len(f.body), ErrFormat)
	}
	return f.body[from : from+n], nil
}

// element is the type of an element and the bytes that its value begins.
func (c container) element(f *frame, i int) (byte, []byte, error) {
	at := f.values + i*(c.width+1)
	kind := f.body[at]
	if c.inline(kind) {
		return kind, f.body[at+1 : at+1+c.width], nil
	}
	from := c.number(f.body, at+1)
	if from < f.head || from > len(f.body) {
		return kind, nil, fmt.Errorf("element at %d of %d: %w", from, len(f.body), ErrFormat)
	}
	return kind, f.body[from:], nil
}

func (w *writer) container(dst, b []byte, c container, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, fmt.Errorf("more than %d levels: %w", maxDepth, ErrFormat)
	}
	f, err := c.frame(b)
	if err != nil {
		return dst, err
	}
	open, shut := byte('['), byte(']')
	if c.object {
		open, shut = '{', '}'
	}
	dst = append(dst, open)
	for i := range f.count {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if c.object {
			key, err := c.key(&f, i)
			if err == nil {
				err = w.spend(len(key))
			}
			if err != nil {
				return dst, err
			}
			dst = append(w.quoted(dst, key, nil), ": "...)
		}
		kind, value, err := c.element(&f, i)
		if err != nil {
			return dst, err
		}
		if dst, err = w.value(dst, kind, value, depth+1); err != nil {
			return dst, err
		}
	}
	return append(dst, shut), nil
}
