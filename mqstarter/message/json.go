package message

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// short holds the letter of each two-character escape.
var short = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// appendString appends s as a JSON string with its quotes. Bytes that are not
// UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	dst = append(dst, '"')
	return append(appendEscaped(dst, s), '"')
}

// appendEscaped appends the inside of a JSON string as fastjson2 writes it:
// only quotes, backslashes and codes below 0x20 are escaped. s must be UTF-8.
func appendEscaped[T ~string | ~[]byte](dst []byte, s T) []byte {
	for {
		n := clean(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		c := s[n]
		if e := short[c]; e != 0 {
			dst = append(dst, '\\', e)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		s = s[n+1:]
	}
}

// clean returns how many bytes at the start of s need no escape. It looks at
// eight at a time: a byte below 0x20 borrows from its top bit when 0x20 is taken
// from it, and a quote or backslash is zero after an exclusive or with itself. A
// borrow may also mark bytes above the first one that is marked rightly.
func clean[T ~string | ~[]byte](s T) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(s); n += 8 {
		x := load(s[n : n+8])
		quote, slash := x^ones*'"', x^ones*'\\'
		hit := ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
	}
	for ; n < len(s); n++ {
		if c := s[n]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return n
}

func load[T ~string | ~[]byte](s T) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}
