package column

import (
	"math"
	"math/bits"
	"strconv"
)

// AppendFloat appends v as Java's Float.toString prints it up to JDK 18: plain
// for 1e-3 ≤ |v| < 1e7, else d.ddE±n; the digits are not always the shortest.
func AppendFloat(dst []byte, v float32) []byte {
	return appendJava(dst, float64(v), math.Float32bits(v)>>31 != 0, 24)
}

// AppendDouble appends v as Java's Double.toString prints it up to JDK 18.
func AppendDouble(dst []byte, v float64) []byte {
	return appendJava(dst, v, math.Signbit(v), 53)
}

// decimal is a value 0.d1d2…dn × 10^exp. The digits are ASCII.
type decimal struct {
	digits [32]byte
	n      int
	exp    int
}

// appendJava lays out |v|, a float when sig is 24 and a double when it is 53.
func appendJava(dst []byte, v float64, negative bool, sig int) []byte {
	if math.IsNaN(v) {
		return append(dst, "NaN"...)
	}
	if negative {
		dst = append(dst, '-')
	}
	v = math.Abs(v)
	switch {
	case v == 0:
		return append(dst, "0.0"...)
	case math.IsInf(v, 0):
		return append(dst, "Infinity"...)
	case v < 1e7 && v == math.Trunc(v):
		return append(strconv.AppendUint(dst, uint64(v), 10), ".0"...)
	}
	var d decimal
	if !d.shortest(v, sig) {
		d.exact(v, sig)
	}
	return d.appendTo(dst)
}

// shortest fills in the shortest digits that read back as v, and says whether
// Java prints those. It does for fractions: there its loop stops at the first
// digit where the text is within half a unit of v's last place, which is what
// shortest means. It differs where its bounds are not half a unit (powers of
// two, numbers below the normal range), where it wants a second digit
// (exponent form), and for whole numbers from 2^sig on.
func (d *decimal) shortest(v float64, sig int) bool {
	b := math.Float64bits(v)
	e := int(b>>52) - 1023
	width := 64
	if sig == 24 {
		width = 32
	}
	if mantissa := b & (1<<52 - 1); mantissa == 0 || e <= lowest(sig) {
		return false
	} else if bits.TrailingZeros64(mantissa) >= 52-e && e >= sig { // whole
		return false
	} else if e >= 63 {
		return false
	}
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, width)
	d.n = 0
	i := 0
	for ; text[i] != 'e'; i++ {
		if text[i] != '.' {
			d.digits[d.n] = text[i]
			d.n++
		}
	}
	d.exp = exponent(text[i+1:]) + 1
	return d.n > 1 || d.exp > -3 && d.exp < 8
}

// lowest is the exponent of the smallest normal number, one less.
func lowest(sig int) int {
	if sig == 24 {
		return -127
	}
	return -1023
}

// exponent reads strconv's ±dd.
func exponent(b []byte) int {
	n := 0
	for _, c := range b[1:] {
		n = n*10 + int(c-'0')
	}
	if b[0] == '-' {
		return -n
	}
	return n
}

// appendTo writes the digits in Java's layout.
func (d *decimal) appendTo(dst []byte) []byte {
	digits, x := d.digits[:d.n], d.exp
	switch {
	case x > 0 && x < 8 && d.n <= x:
		dst = append(dst, digits...)
		dst = append(dst, "0000000"[:x-d.n]...)
		return append(dst, ".0"...)
	case x > 0 && x < 8:
		dst = append(dst, digits[:x]...)
		dst = append(dst, '.')
		return append(dst, digits[x:]...)
	case x > -3 && x <= 0:
		dst = append(dst, "0.00"[:2-x]...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0], '.')
	if d.n > 1 {
		dst = append(dst, digits[1:]...)
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, 'E')
	return strconv.AppendInt(dst, int64(x-1), 10)
}

// push appends a digit.
func (d *decimal) push(q byte) {
	if d.n < len(d.digits) {
		d.digits[d.n] = '0' + q
		d.n++
	}
}

// roundUp adds one to the last digit. Zeros that a carry leaves are kept: Java
// prints them.
func (d *decimal) roundUp() {
	for i := d.n - 1; i >= 0; i-- {
		if d.digits[i] < '9' {
			d.digits[i]++
			return
		}
		d.digits[i] = '0'
	}
	d.digits[0] = '1'
	d.exp++
}
