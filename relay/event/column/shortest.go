package column

import (
	"bytes"
	"strconv"
)

// AppendShortest appends v as MySQL prints numbers of type DOUBLE, with the
// fewest digits that stand for it and no other number of 32 or 64 bits: plain
// for 1e-15 ≤ |v| < 1e15, and above that with a fraction, else d.ddde±n without a
// plus sign (my_gcvt in the server's strings/dtoa.cc).
func AppendShortest(dst []byte, v float64, bits int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	e := start + bytes.IndexByte(dst[start:], 'e')
	if e < start { // no number
		return dst
	}
	exp, _ := strconv.Atoi(string(dst[e+1:])) // what AppendFloat wrote
	digits := e - start - len(".")            // if there are several
	if v < 0 {
		digits--
	}
	if exp < -15 || exp >= 15 && exp+1 >= digits {
		return strconv.AppendInt(dst[:e+1], int64(exp), 10)
	}
	return strconv.AppendFloat(dst[:start], v, 'f', -1, bits)
}
