package message

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/canal-relay/canal-relay/relay/event"
)

// The wire format of protocol buffers: a field is a tag, which here is one byte
// (its number times 8 plus 0 for a number, 2 for what has a length), and a
// varint, or a length as varint with so many bytes. Numbers below 0 are taken
// as 64 bits. Source: protobuf.dev, Encoding.

func appendVarint(dst []byte, tag byte, v uint64) []byte {
	return binary.AppendUvarint(append(dst, tag), v)
}

// appendText appends a string. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst []byte, tag byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return append(appendVarint(dst, tag, uint64(len(s))), s...)
}

// appendNumber appends a string that is a decimal number.
func appendNumber(dst []byte, tag byte, v uint64) []byte {
	at := len(dst) + 1
	return closeLength(strconv.AppendUint(append(dst, tag, 0), v, 10), at, 1)
}

// appendPair appends a message Pair.
func appendPair(dst []byte, tag byte, key string, value []byte) []byte {
	at := len(dst) + 1
	dst = appendText(append(dst, tag, 0), 0x0a, key)
	dst = append(appendVarint(dst, 0x12, uint64(len(value))), value...)
	return closeLength(dst, at, 1)
}

// appendXA appends the pairs by which Canal tells of an XA transaction: which
// statement it was, and the text behind its words.
func appendXA(dst []byte, tag byte, c *event.Change) []byte {
	if c.SQL == "" {
		return dst
	}
	var word string
	switch c.Kind {
	case event.Begin:
		word = "XA START"
	case event.End:
		word = "XA END"
	case event.XARollback:
		word = "XA ROLLBACK"
	default:
		word = "XA COMMIT"
	}
	_, xid, _ := strings.Cut(c.SQL, word)
	dst = appendPair(dst, tag, "XA_TYPE", []byte(word))
	return appendPair(dst, tag, "XA_XID", []byte(xid))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// closeLength writes the length of what was appended behind it: of all behind
// the width bytes that were kept free for it at a place. Where it takes another
// number of bytes, what follows is moved.
func closeLength(dst []byte, at, width int) []byte {
	n := len(dst) - at - width
	need := varintSize(n)
	if need > width {
		dst = append(dst, make([]byte, need-width)...)
	}
	if need != width {
		copy(dst[at+need:], dst[at+width:at+width+n])
		dst = dst[:at+need+n]
	}
	binary.PutUvarint(dst[at:], uint64(n))
	return dst
}

func varintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }
