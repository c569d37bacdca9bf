package route

import "unicode/utf8"

// Hash is Java's String.hashCode of a text: 31·h + c over its UTF-16 units, in
// 32 bits. A byte that is not UTF-8 counts as U+FFFD. It does not allocate.
func Hash[T ~string | ~[]byte](text T) int32 {
	var h int32
	i := 0
	for ; i < len(text) && text[i] < utf8.RuneSelf; i++ {
		h = 31*h + int32(text[i])
	}
	if i == len(text) {
		return h
	}
	return hashRunes(h, text[i:])
}

func hashRunes[T ~string | ~[]byte](h int32, text T) int32 {
	for len(text) > 0 {
		r, n := decode(text)
		text = text[n:]
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + 0xd800 + r>>10
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}

// decode decodes the first rune without converting all of the text.
func decode[T ~string | ~[]byte](text T) (rune, int) {
	var b [utf8.UTFMax]byte
	n := copy(b[:], text)
	return utf8.DecodeRune(b[:n])
}

// Partition picks one of n partitions for a hash, as Canal: | |h| mod n |, where
// |·| is Java's Math.abs, which leaves the smallest number negative. n must be
// positive.
func Partition(h, n int32) int32 {
	if h < 0 {
		h = -h
	}
	if h %= n; h < 0 {
		h = -h
	}
	return h
}
