package zktest

import (
	"encoding/binary"
	"errors"
)

// Request types, by ZooKeeper's ZooDefs.OpCode.
const (
	opCreate       int32 = 1
	opDelete       int32 = 2
	opExists       int32 = 3
	opGetData      int32 = 4
	opSetData      int32 = 5
	opGetChildren  int32 = 8
	opSync         int32 = 9
	opPing         int32 = 11
	opGetChildren2 int32 = 12
	opCheck        int32 = 13
	opMulti        int32 = 14
	opAuth         int32 = 100
	opSetWatches   int32 = 101
	opClose        int32 = -11
	opError        int32 = -1
)

// Error codes, by KeeperException.Code.
const (
	codeOK            int32 = 0
	codeRolledBack    int32 = -2 // what the rest of a failed transaction answers
	codeUnimplemented int32 = -6
	codeNoNode        int32 = -101
	codeNoAuth        int32 = -102
	codeBadVersion    int32 = -103
	codeNoChildren    int32 = -108
	codeNodeExists    int32 = -110
	codeNotEmpty      int32 = -111
)

// Event types of a watch.
const (
	eventCreated  int32 = 1
	eventDeleted  int32 = 2
	eventChanged  int32 = 3
	eventChildren int32 = 4
)

const (
	xidEvent       int32 = -1
	stateConnected int32 = 3
)

var errShort = errors.New("zktest: request is cut short")

// reader decodes ZooKeeper's jute: big-endian integers, counted bytes. After
// the first failure everything reads as zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.err, r.b = errShort, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// buffer returns nil for the length -1.
func (r *reader) buffer() []byte {
	n := r.int32()
	if n < 0 {
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) string() string { return string(r.buffer()) }

func (r *reader) strings() []string {
	n := r.int32()
	var list []string
	for i := int32(0); i < n && r.err == nil; i++ {
		list = append(list, r.string())
	}
	return list
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendBuffer(b, v []byte) []byte {
	if v == nil {
		return appendInt32(b, -1)
	}
	return append(appendInt32(b, int32(len(v))), v...)
}

func appendStrings(b []byte, list []string) []byte {
	b = appendInt32(b, int32(len(list)))
	for _, s := range list {
		b = appendBuffer(b, []byte(s))
	}
	return b
}

func (n *node) appendStat(b []byte) []byte {
	b = appendInt64(b, n.czxid)
	b = appendInt64(b, n.mzxid)
	b = appendInt64(b, n.ctime)
	b = appendInt64(b, n.mtime)
	b = appendInt32(b, n.version)
	b = appendInt32(b, n.cversion)
	b = appendInt32(b, 0) // version of the ACL
	b = appendInt64(b, n.owner)
	b = appendInt32(b, int32(len(n.data)))
	b = appendInt32(b, int32(len(n.children)))
	return appendInt64(b, n.pzxid)
}
