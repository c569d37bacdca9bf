package charset

import "unicode/utf8"

const replacement = "\uFFFD"

// appendLatin1 appends bytes as code points.
func appendLatin1(dst, src []byte) []byte {
	for _, b := range src {
		if b < utf8.RuneSelf {
			dst = append(dst, b)
		} else {
			dst = append(dst, 0xc0|b>>6, 0x80|b&0x3f)
		}
	}
	return dst
}

// appendUTF8 appends well-formed text as it is. Elsewhere it does as Java: the
// longest run of bytes that begins a character is one U+FFFD (Unicode 3.9,
// "maximal subpart"), and an encoded surrogate is one, too.
func appendUTF8(dst, src []byte) []byte {
	if utf8.Valid(src) {
		return append(dst, src...)
	}
	for len(src) > 0 {
		if src[0] < utf8.RuneSelf {
			dst = append(dst, src[0])
			src = src[1:]
			continue
		}
		if r, n := utf8.DecodeRune(src); r != utf8.RuneError || n > 1 {
			dst = append(dst, src[:n]...)
			src = src[n:]
			continue
		}
		dst = append(dst, replacement...)
		src = src[malformed(src):]
	}
	return dst
}

// malformed is the length of the malformed piece at the start of b.
func malformed(b []byte) int {
	lo, hi, size := byte(0x80), byte(0xbf), 1
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		size = 2
	case c >= 0xe0 && c <= 0xef:
		size = 3
		if c == 0xe0 {
			lo = 0xa0
		}
	case c >= 0xf0 && c <= 0xf4:
		size = 4
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	}
	n := 1
	for n < size && n < len(b) && b[n] >= lo && b[n] <= hi {
		lo, hi = 0x80, 0xbf
		n++
	}
	return n
}
