package jsonb

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// The operations of a difference (MySQL's Json_diff).
const (
	replaceOp byte = iota
	insertOp
	removeOp
)

// Edit appends the document that differences make of another one, in binary
// form. They are those of a PARTIAL_UPDATE_ROWS event, one after the other:
// operation (1 byte), length and text of the path, and, but for a removal,
// length and bytes of the value; lengths are MySQL's packed integers. No
// differences leave the document as it is. The error is ErrFormat.
func Edit(dst, doc, diffs []byte) ([]byte, error) {
	if len(diffs) == 0 {
		return append(dst, doc...), nil
	}
	if len(doc) == 0 {
		return dst, fmt.Errorf("differences to no document: %w", ErrFormat)
	}
	root, err := newNode(doc[0], doc[1:])
	if err != nil {
		return dst, err
	}
	for len(diffs) > 0 {
		op := diffs[0]
		var path, value []byte
		if path, diffs, err = packed(diffs[1:]); err != nil {
			return dst, err
		}
		var n node
		if op != removeOp {
			if value, diffs, err = packed(diffs); err != nil {
				return dst, err
			}
			if err = need(value, 1); err == nil {
				n, err = newNode(value[0], value[1:])
			}
			if err != nil {
				return dst, fmt.Errorf("value for %s: %w", path, err)
			}
		}
		if err := root.apply(op, path, n); err != nil {
			return dst, err
		}
	}
	return root.append(append(dst, root.kind)), nil
}

// packed takes bytes that stand after their length as a packed integer.
func packed(b []byte) (text, rest []byte, err error) {
	if err := need(b, 1); err != nil {
		return nil, nil, err
	}
	n, size := uint64(b[0]), 1
	if b[0] > 251 {
		size = [...]int{252: 3, 253: 4, 254: 9, 255: 1}[b[0]]
		if err := need(b, size); err != nil {
			return nil, nil, err
		}
		n = 0
		for i := size - 1; i > 0; i-- {
			n = n<<8 | uint64(b[i])
		}
	}
	b = b[size:]
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%d bytes of %d: %w", n, len(b), ErrFormat)
	}
	return b[:n], b[n:], nil
}

// node is a value of a document that is edited. A container is opened only when
// a difference leads into it; all else is copied as it is.
type node struct {
	kind byte
	raw  []byte // the value; void once open
	open bool
	keys [][]byte // of an open object, as long as kids
	kids []node
}

// newNode is the value of a type that the bytes begin with.
func newNode(kind byte, b []byte) (node, error) {
	n, err := extent(kind, b)
	if err == nil {
		err = need(b, n)
	}
	if err != nil {
		return node{}, err
	}
	return node{kind: kind, raw: b[:n]}, nil
}

// extent is the length of a value.
func extent(kind byte, b []byte) (int, error) {
	at := 0
	switch kind {
	case smallObject, smallArray, largeObject, largeArray:
		f, err := containerOf(kind).frame(b)
		return len(f.body), err
	case opaqueValue:
		at = 1
	case stringValue:
	default:
		if int(kind) >= len(scalarSizes) {
			return 0, fmt.Errorf("type %d: %w", kind, ErrFormat)
		}
		return scalarSizes[kind], nil
	}
	n := uint64(0)
	for i := 0; i < 5 && at < len(b); i, at = i+1, at+1 {
		n |= uint64(b[at]&0x7f) << (7 * i)
		if b[at] < 0x80 {
			return at + 1 + int(n), nil
		}
	}
	return 0, fmt.Errorf("length of a text: %w", ErrFormat)
}

func containerOf(kind byte) container {
	c := container{object: kind == smallObject || kind == largeObject, width: 2}
	if kind == largeObject || kind == largeArray {
		c.width = 4
	}
	return c
}

// expand opens a container.
func (n *node) expand() error {
	if n.open {
		return nil
	}
	if n.kind > largeArray {
		return fmt.Errorf("a difference leads into a value of type %d: %w", n.kind, ErrFormat)
	}
	c := containerOf(n.kind)
	f, err := c.frame(n.raw)
	if err != nil {
		return err
	}
	n.kids = make([]node, f.count)
	if c.object {
		n.keys = make([][]byte, f.count)
	}
	for i := range f.count {
		if c.object {
			if n.keys[i], err = c.key(&f, i); err != nil {
				return err
			}
		}
		kind, b, err := c.element(&f, i)
		if err != nil {
			return err
		}
		if n.kids[i], err = newNode(kind, b); err != nil {
			return err
		}
	}
	n.open, n.kind = true, largeArray
	if c.object {
		n.kind = largeObject
	}
	return nil
}

// leg is a step of a path: a member's key or a cell's index.
type leg struct {
	key   []byte
	index int  // -1: a member
	last  bool // the index counts from the last cell backwards
}

// apply does one difference; the path is JSON's as the server writes it:
// $, .name, ."quoted name", [index], [last-index]. A cell 0 of what is no array
// is the value itself.
func (n *node) apply(op byte, path []byte, value node) error {
	rest, ok := bytes.CutPrefix(path, []byte("$"))
	if !ok || op > removeOp {
		return fmt.Errorf("difference %d at %s: %w", op, path, ErrFormat)
	}
	if len(rest) == 0 && op == replaceOp {
		*n = value
		return nil
	}
	for {
		l, behind, err := nextLeg(rest)
		if err == nil && l.index == 0 && n.kind != smallArray && n.kind != largeArray && (len(behind) > 0 || op == replaceOp) {
			if rest = behind; len(rest) > 0 {
				continue
			}
			*n = value
			return nil
		}
		if err == nil {
			err = n.expand()
		}
		if err != nil {
			return fmt.Errorf("path %s: %w", path, err)
		}
		if (n.kind == largeObject) != (l.index < 0) {
			return fmt.Errorf("path %s is not in the document: %w", path, ErrFormat)
		}
		at, found := n.find(l)
		if len(behind) == 0 {
			// A member is inserted where there is none, a cell anywhere.
			if fits := found != (op == insertOp); !fits && (op != insertOp || l.index < 0) {
				return fmt.Errorf("difference %d at %s does not fit the document: %w", op, path, ErrFormat)
			}
			n.change(op, at, l, value)
			return nil
		}
		if !found {
			return fmt.Errorf("path %s is not in the document: %w", path, ErrFormat)
		}
		n, rest = &n.kids[at], behind
	}
}

// nextLeg takes the first step of a path.
func nextLeg(path []byte) (l leg, rest []byte, err error) {
	bad := fmt.Errorf("step %q: %w", path, ErrFormat)
	if len(path) < 2 {
		return leg{}, nil, bad
	}
	if path[0] == '[' {
		digits, rest, ok := bytes.Cut(path[1:], []byte("]"))
		back, last := bytes.CutPrefix(digits, []byte("last"))
		if ok && last && len(back) == 0 {
			return leg{last: true}, rest, nil
		}
		if last {
			digits, last = bytes.CutPrefix(back, []byte("-"))
			ok = ok && last
		}
		i, err := strconv.ParseUint(string(digits), 10, 31)
		if !ok || err != nil {
			return leg{}, nil, bad
		}
		return leg{index: int(i), last: last}, rest, nil
	}
	if path[0] != '.' {
		return leg{}, nil, bad
	}
	path = path[1:]
	if path[0] != '"' {
		end := bytes.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		return leg{key: path[:end], index: -1}, path[end:], nil
	}
	for end := 1; end < len(path); end++ {
		switch path[end] {
		case '\\':
			end++
		case '"':
			var key string
			if json.Unmarshal(path[:end+1], &key) != nil {
				return leg{}, nil, bad
			}
			return leg{key: []byte(key), index: -1}, path[end+1:], nil
		}
	}
	return leg{}, nil, bad
}

// find looks a step up: where it is, or would be, among the elements.
func (n *node) find(l leg) (at int, found bool) {
	if l.index < 0 {
		return slices.BinarySearchFunc(n.keys, l.key, compareKeys)
	}
	at = l.index
	if l.last {
		at = len(n.kids) - 1 - l.index
	}
	return max(min(at, len(n.kids)), 0), at >= 0 && at < len(n.kids)
}

// compareKeys is the order in which the server stores keys.
func compareKeys(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

func (n *node) change(op byte, at int, l leg, value node) {
	switch op {
	case replaceOp:
		n.kids[at] = value
	case insertOp:
		n.kids = slices.Insert(n.kids, at, value)
		if l.index < 0 {
			n.keys = slices.Insert(n.keys, at, l.key)
		}
	case removeOp:
		n.kids = slices.Delete(n.kids, at, at+1)
		if l.index < 0 {
			n.keys = slices.Delete(n.keys, at, at+1)
		}
	}
}

// append appends the value without its type, open containers in the large form.
func (n *node) append(dst []byte) []byte {
	if !n.open {
		return append(dst, n.raw...)
	}
	const word = 4
	start := len(dst)
	offset := func() uint32 { return uint32(len(dst) - start) }
	keys := start + 2*word
	values := keys + len(n.keys)*(word+2)
	dst = append(dst, make([]byte, values+len(n.kids)*(word+1)-start)...)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(n.kids)))
	for i, k := range n.keys {
		at := keys + i*(word+2)
		binary.LittleEndian.PutUint32(dst[at:], offset())
		binary.LittleEndian.PutUint16(dst[at+word:], uint16(len(k)))
		dst = append(dst, k...)
	}
	for i := range n.kids {
		kid, at := &n.kids[i], values+i*(word+1)
		dst[at] = kid.kind
		if (container{width: word}).inline(kid.kind) {
			copy(dst[at+1:at+1+word], kid.raw)
			continue
		}
		binary.LittleEndian.PutUint32(dst[at+1:], offset())
		dst = kid.append(dst)
	}
	binary.LittleEndian.PutUint32(dst[start+word:], offset())
	return dst
}
