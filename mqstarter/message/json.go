package message

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
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
	// Reading a string's bytes in place saves a copy per message.
	return append(appendEscaped(dst, unsafe.Slice(unsafe.StringData(s), len(s))), '"')
}

// appendEscaped appends the inside of a JSON string as fastjson2 writes it:
// only quotes, backslashes and codes below 0x20 are escaped. s must be UTF-8.
func appendEscaped(dst, s []byte) []byte {
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
func clean(s []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(s); n += 8 {
		x := binary.LittleEndian.Uint64(s[n:])
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
