package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// ErrValue says that bytes are not a value of their column's type.
var ErrValue = errors.New("not a value of the column's type")

// short is the error of a value with the wrong number of bytes.
func short(what string, raw []byte, want int) error {
	return fmt.Errorf("%s of %d bytes, want %d: %w", what, len(raw), want, ErrValue)
}

// Int is the signed little-endian integer of 1 to 8 bytes.
func Int(raw []byte) int64 {
	shift := 64 - 8*uint(len(raw))
	return int64(Uint(raw)<<shift) >> shift
}

// Uint is the unsigned little-endian integer of at most 8 bytes: also the
// index of an ENUM and the mask of a SET.
func Uint(raw []byte) uint64 {
	switch len(raw) {
	case 1:
		return uint64(raw[0])
	case 2:
		return uint64(raw[0]) | uint64(raw[1])<<8
	case 4:
		_ = raw[3]
		return uint64(raw[0]) | uint64(raw[1])<<8 | uint64(raw[2])<<16 | uint64(raw[3])<<24
	}
	v := uint64(0)
	for i := len(raw) - 1; i >= 0; i-- {
		v = v<<8 | uint64(raw[i])
	}
	return v
}

// UintBE is the unsigned big-endian integer of at most 8 bytes: the bits of a
// BIT column.
func UintBE(raw []byte) uint64 {
	v := uint64(0)
	for _, b := range raw {
		v = v<<8 | uint64(b)
	}
	return v
}

// AppendYear appends a YEAR: four digits, 0000 for the zero year.
func AppendYear(dst []byte, v byte) []byte {
	if v == 0 {
		return append(dst, "0000"...)
	}
	return strconv.AppendUint(dst, 1900+uint64(v), 10)
}

// decimalBytes is how many bytes hold that many decimal digits.
var decimalBytes = [10]int{0, 1, 1, 2, 2, 3, 3, 4, 4, 4}

// DecimalSize is the number of bytes of a DECIMAL(precision, scale), or -1 when
// the server has no such type.
func DecimalSize(precision, scale int) int {
	if precision < 1 || precision > 65 || scale > 30 || scale > precision {
		return -1
	}
	whole := precision - scale
	return whole/9*4 + decimalBytes[whole%9] + scale/9*4 + decimalBytes[scale%9]
}

// AppendDecimal appends a DECIMAL(precision, scale) from MySQL's packed form:
// groups of nine digits in four bytes, the first and the last group in fewer;
// the sign is the inverted top bit, a negative number has all bits inverted.
// With cutTail the digits past the last whole group of the fraction are left
// out when they are all zero, as Canal does: 10.00 becomes 10.0.
func AppendDecimal(dst, raw []byte, precision, scale int, cutTail bool) ([]byte, error) {
	if n := DecimalSize(precision, scale); n < 1 || len(raw) != n {
		return dst, short("decimal", raw, n)
	}
	var g groups
	copy(g.raw[:], raw)
	if raw[0]&0x80 == 0 {
		for i := range raw {
			g.raw[i] = ^raw[i]
		}
		dst = append(dst, '-')
	}
	g.raw[0] ^= 0x80

	whole := precision - scale
	start := len(dst)
	if r := whole % 9; r > 0 {
		if v := g.next(r); v != 0 {
			dst = strconv.AppendUint(dst, uint64(v), 10)
		}
	}
	for range whole / 9 {
		v := g.next(9)
		switch {
		case len(dst) > start:
			dst = AppendPadded(dst, v, 9)
		case v != 0:
			dst = strconv.AppendUint(dst, uint64(v), 10)
		}
	}
	if len(dst) == start {
		dst = append(dst, '0')
	}
	if scale > 0 {
		dst = g.appendFraction(append(dst, '.'), scale, cutTail)
	}
	if g.bad {
		return dst, fmt.Errorf("decimal digits %x: %w", raw, ErrValue)
	}
	return dst, nil
}

// groups reads a packed decimal group by group, its sign bit and inversion undone.
type groups struct {
	raw [36]byte // the longest, 30 bytes, and room to load four at once
	at  int
	bad bool // a group had too many digits
}

// next reads the group of n digits.
func (g *groups) next(n int) uint32 {
	size := decimalBytes[n]
	v := binary.BigEndian.Uint32(g.raw[g.at:]) >> (32 - 8*size)
	g.at += size
	if uint64(v) >= pow10[n] {
		g.bad = true
	}
	return v
}

func (g *groups) appendFraction(dst []byte, scale int, cutTail bool) []byte {
	for range scale / 9 {
		dst = AppendPadded(dst, g.next(9), 9)
	}
	if r := scale % 9; r > 0 {
		if v := g.next(r); v != 0 || !cutTail {
			return AppendPadded(dst, v, r)
		}
		if scale < 9 {
			dst = append(dst, '0')
		}
	}
	return dst
}

const twoDigits = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// AppendPadded appends the last n ≤ 9 digits of v with leading zeros.
func AppendPadded(dst []byte, v uint32, n int) []byte {
	var b [10]byte
	for i := len(b) - 2; i >= len(b)-n-1 && i >= 0; i -= 2 {
		p := v % 100 * 2
		b[i], b[i+1] = twoDigits[p], twoDigits[p+1]
		v /= 100
	}
	return append(dst, b[len(b)-n:]...)
}

// append2 appends two digits; v is below 100.
func append2(dst []byte, v uint32) []byte {
	p := v % 100 * 2
	return append(dst, twoDigits[p], twoDigits[p+1])
}
