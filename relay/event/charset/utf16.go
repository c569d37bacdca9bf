package charset

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUTF16 appends big-endian UTF-16, which takes in UCS-2.
func appendUTF16(dst, src []byte) []byte { return appendUnits(dst, src, binary.BigEndian) }

func appendUTF16LE(dst, src []byte) []byte { return appendUnits(dst, src, binary.LittleEndian) }

// appendUnits appends UTF-16. A lone surrogate, or a last odd byte, is U+FFFD.
func appendUnits(dst, src []byte, order binary.ByteOrder) []byte {
	for len(src) >= 2 {
		r := rune(order.Uint16(src))
		src = src[2:]
		if utf16.IsSurrogate(r) {
			second := rune(0)
			if len(src) >= 2 {
				second = rune(order.Uint16(src))
			}
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				src = src[2:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	if len(src) > 0 {
		dst = append(dst, replacement...)
	}
	return dst
}

// appendUTF32 appends big-endian UTF-32.
func appendUTF32(dst, src []byte) []byte {
	for len(src) >= 4 {
		dst = utf8.AppendRune(dst, rune(binary.BigEndian.Uint32(src)))
		src = src[4:]
	}
	if len(src) > 0 {
		dst = append(dst, replacement...)
	}
	return dst
}
