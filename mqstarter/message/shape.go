package message

import (
	"github.com/canal-relay/canal-relay/relay/event"
)

// maxShapes bounds the shapes that an encoder keeps. Layouts come and go with
// every DDL and reconnect; starting anew costs less than finding the oldest.
const maxShapes = 1024

// shape holds the JSON of a layout that is the same for all of its rows.
type shape struct {
	columns []fragment
	kept    int    // columns that are sent
	types   []byte // mysqlType of these
	keys    []byte // pkNames of these
}

// fragment is one column's share of a shape. Each begins with a comma, which the
// first one in an object leaves out.
type fragment struct {
	name  []byte // ,"name":"
	typ   []byte // ,"name":"type"
	key   []byte // ,"name" of a key column; nil of others
	kept  bool
	plain bool // its text never needs an escape
	utf8  bool // its raw bytes are its text, if they are UTF-8
}

func newShape(l *event.Layout, config *Config) *shape {
	s := &shape{columns: make([]fragment, len(l.Columns))}
	all := make([]int, 0, len(l.Columns))
	for i := range l.Columns {
		c := &l.Columns[i]
		name := appendString([]byte{','}, c.Name)
		s.columns[i] = fragment{
			name:  append(name[:len(name):len(name)], `:"`...),
			typ:   appendString(append(name[:len(name):len(name)], ':'), c.Type),
			kept:  config.sends(l, i),
			plain: c.Plain(),
			utf8:  c.UTF8(),
		}
		if c.Key {
			s.columns[i].key = name
		}
		if s.columns[i].kept {
			all = append(all, i)
		}
	}
	s.kept = len(all)
	s.types = s.appendTypes(nil, all)
	s.keys = s.appendKeys(nil, all)
	return s
}

// appendTypes appends the member mysqlType of some columns.
func (s *shape) appendTypes(dst []byte, columns []int) []byte {
	if len(columns) == 0 {
		return append(dst, null...)
	}
	start := len(dst)
	for _, i := range columns {
		dst = append(dst, s.columns[i].typ...)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendKeys appends the member pkNames of some columns: those of the primary
// key in table order.
func (s *shape) appendKeys(dst []byte, columns []int) []byte {
	start := len(dst)
	for _, i := range columns {
		dst = append(dst, s.columns[i].key...)
	}
	if len(dst) == start {
		return append(dst, null...)
	}
	dst[start] = '['
	return append(dst, ']')
}
