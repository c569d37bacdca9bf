package column

import (
	"encoding/binary"
	"math"
	"strconv"
)

// AppendLatin1 appends every byte as the code point of the same number, the
// form in which Canal carries binary values.
func AppendLatin1(dst, raw []byte) []byte {
	for _, b := range raw {
		if b < 0x80 {
			dst = append(dst, b)
		} else {
			dst = append(dst, 0xc0|b>>6, 0x80|b&0x3f)
		}
	}
	return dst
}

// AppendVector appends a VECTOR, four-byte floats, as MySQL's
// VECTOR_TO_STRING: [1.00000e+00,2.50000e+00].
func AppendVector(dst, raw []byte) ([]byte, error) {
	if len(raw)%4 != 0 {
		return dst, short("vector", raw, len(raw)/4*4)
	}
	dst = append(dst, '[')
	for i := 0; i < len(raw); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))
		dst = strconv.AppendFloat(dst, float64(f), 'e', 5, 32)
	}
	return append(dst, ']'), nil
}

const hexDigits = "0123456789abcdef"

// AppendUUID appends a MariaDB UUID: 16 bytes, of which the binlog leaves out
// zeros at the end.
func AppendUUID(dst, raw []byte) ([]byte, error) {
	if len(raw) > 16 {
		return dst, short("uuid", raw, 16)
	}
	for i := range 16 {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		b := byte(0)
		if i < len(raw) {
			b = raw[i]
		}
		dst = append(dst, hexDigits[b>>4], hexDigits[b&15])
	}
	return dst, nil
}

// AppendInet4 appends a MariaDB INET4: 4 bytes, of which the binlog leaves out
// zeros at the end.
func AppendInet4(dst, raw []byte) ([]byte, error) {
	if len(raw) > 4 {
		return dst, short("inet4", raw, 4)
	}
	for i := range 4 {
		if i > 0 {
			dst = append(dst, '.')
		}
		b := byte(0)
		if i < len(raw) {
			b = raw[i]
		}
		dst = strconv.AppendUint(dst, uint64(b), 10)
	}
	return dst, nil
}

// AppendInet6 appends a MariaDB INET6: 16 bytes, of which the binlog leaves out
// zeros at the end. The longest run of zero words is "::", the last 32 bits are
// dotted when only they, or they after ffff, follow such a run.
func AppendInet6(dst, raw []byte) ([]byte, error) {
	if len(raw) > 16 {
		return dst, short("inet6", raw, 16)
	}
	var b [16]byte
	copy(b[:], raw)
	var words [8]uint16
	for i := range words {
		words[i] = binary.BigEndian.Uint16(b[2*i:])
	}
	gap, n := longestZeros(&words)
	dotted := gap == 0 && (n == 6 || n == 5 && words[5] == 0xffff)
	for i := 0; i < 8; i++ {
		switch {
		case n > 0 && i == gap:
			dst = append(dst, ':', ':')
			i += n - 1
		case dotted && i == 6:
			if n == 5 {
				dst = append(dst, ':')
			}
			return AppendInet4(dst, b[12:])
		default:
			if i > 0 && (n == 0 || i != gap+n) {
				dst = append(dst, ':')
			}
			dst = strconv.AppendUint(dst, uint64(words[i]), 16)
		}
	}
	return dst, nil
}

// longestZeros finds the first longest run of zero words.
func longestZeros(words *[8]uint16) (at, n int) {
	for i := 0; i < len(words); i++ {
		run := 0
		for i+run < len(words) && words[i+run] == 0 {
			run++
		}
		if run > n {
			at, n = i, run
		}
		i += run
	}
	return at, n
}
