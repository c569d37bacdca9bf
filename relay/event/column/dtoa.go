package column

import (
	"math"
	"math/bits"
)

// exact fills in the digits that Java's FloatingDecimal finds for v > 0, by
// the same steps: whole numbers below 2^63 directly, the rest by Steele and
// White's digit generation in 32-bit, 64-bit or long arithmetic. The words'
// sizes matter, for an overflow ends the digits early.
func (d *decimal) exact(v float64, sig int) {
	f, e, significant := split(v, sig)
	trailing := bits.TrailingZeros64(f)
	nf := 53 - trailing
	tiny := max(0, nf-e-1)
	if e >= -21 && e <= 62 && tiny == 0 {
		d.whole(f, e, significant)
		return
	}

	// v = m × 2^e; the estimate of log10(v) is the tangent at m = 1.5, which is
	// never too small.
	m := math.Float64frombits(f&(1<<52-1) | 1023<<52)
	x := int(math.Floor((m-1.5)*0.289529654 + 0.176091259 + float64(e)*0.301029995663981))
	g := generation{nf: nf, f: f >> trailing, x: x}
	g.b5 = max(0, -x)
	g.b2 = g.b5 + tiny + e
	g.s5 = max(0, x)
	g.s2 = g.s5 + tiny
	g.m2 = g.b2 - significant
	g.b2 -= nf - 1
	common := min(g.b2, g.s2)
	g.b2 -= common
	g.s2 -= common
	g.m2 -= common
	if nf == 1 { // a power of two: the next smaller number is only half as far away
		g.m2--
	}
	if g.m2 < 0 {
		g.b2 -= g.m2
		g.s2 -= g.m2
		g.m2 = 0
	}
	d.n = 0
	d.exp = g.run(d) + 1
}

// split gives v's 53 bits with the top bit set, its exponent, and how many of
// the bits the type can hold there.
func split(v float64, sig int) (f uint64, e, significant int) {
	b := math.Float64bits(v)
	e = int(b>>52) - 1023
	f = b & (1<<52 - 1)
	if e == -1023 {
		shift := bits.LeadingZeros64(f) - 11
		return f << shift, -1022 - shift, 53 - shift
	}
	significant = sig
	if sig == 24 && e < -126 { // a float below its normal range is normal as a double
		significant = 24 - (-126 - e)
	}
	return f | 1<<52, e, significant
}

// whole prints a whole number below 2^63. Digits that the type cannot hold are
// rounded away, but fewer of them than could be.
func (d *decimal) whole(f uint64, e, significant int) {
	if e >= 52 {
		f <<= e - 52
	} else {
		f >>= 52 - e
	}
	drop := 0
	if p := e - significant - 1; p > 1 {
		drop = int(float64(p) * math.Log10(2))
	}
	if drop > 0 {
		unit := pow10[drop]
		r := f % unit
		f /= unit
		if r >= unit/2 {
			f++
		}
	}
	d.n = decimalLen(f)
	d.exp = d.n + drop
	for i := d.n - 1; i >= 0; i-- {
		d.digits[i] = '0' + byte(f%10)
		f /= 10
	}
	for d.n > 1 && d.digits[d.n-1] == '0' {
		d.n--
	}
}

// pow10 holds the powers of ten that fit 64 bits.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// decimalLen is the number of decimal digits of v, 1 for 0.
func decimalLen(v uint64) int {
	n := 1
	for n < 20 && v >= pow10[n] {
		n++
	}
	return n
}

// generation is the state of digit generation: the number is B/S × 10^x with
// B = f·5^b5·2^b2 and S = 5^s5·2^s2, and M = 5^b5·2^m2 is half a unit of its
// last place on the scale of B.
type generation struct {
	f                  uint64
	nf                 int
	x                  int
	b5, b2, s5, s2, m2 int
}

// run generates the digits into d and returns the exponent of the first.
func (g *generation) run(d *decimal) int {
	nb := g.nf + g.b2 + bits5(g.b5)
	nt := g.s2 + 1 + bits5(g.s5+1)
	switch {
	case nb < 32 && nt < 32:
		return digits[int32](g, d)
	case nb < 64 && nt < 64:
		return digits[int64](g, d)
	}
	return g.long(d)
}

// bits5 is at least the length of 5^n in bits, as Java counts it.
func bits5(n int) int {
	if n < 27 {
		return bits.Len64(pow5(n))
	}
	return 3 * n
}

// pow5 is 5^n for n ≤ 27.
func pow5(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 5
	}
	return p
}

// digits generates with machine words. Where M overflows the digits end.
func digits[T int32 | int64](g *generation, d *decimal) int {
	b := T(g.f) * T(pow5(g.b5)) << g.b2
	s := T(pow5(g.s5)) << g.s2
	m := T(pow5(g.b5)) << g.m2
	tens := s * 10
	step := func() (q byte, low, high bool) {
		q = byte(b / s)
		b = 10 * (b % s)
		m *= 10
		if m <= 0 {
			return q, true, true
		}
		return q, b < m, b+m > tens
	}
	x := g.x
	q, low, high := step()
	if q == 0 && !high {
		x--
	} else {
		d.push(q)
	}
	if x < -3 || x >= 8 { // exponent form has two digits at least
		low, high = false, false
	}
	for !low && !high {
		q, low, high = step()
		d.push(q)
	}
	d.exp = x
	if high && (!low || closer(int64(b<<1-tens), d)) {
		d.roundUp()
	}
	return d.exp
}

// closer says whether rounding up is nearer, by the sign of twice the rest less
// the unit; a tie goes to the even digit.
func closer(c int64, d *decimal) bool {
	return c > 0 || c == 0 && (d.digits[d.n-1]-'0')&1 == 1
}

// long generates with natural numbers of any length.
func (g *generation) long(d *decimal) int {
	var b, s, m, tens natural
	b.set(g.f, g.b5, g.b2)
	s.set(1, g.s5, g.s2)
	m.set(1, g.b5, g.m2)
	tens = s
	tens.mul(10)
	step := func() (q byte, low, high bool) {
		for b.cmp(&s) >= 0 {
			b.sub(&s)
			q++
		}
		b.mul(10)
		m.mul(10)
		sum := b
		sum.add(&m)
		return q, b.cmp(&m) < 0, sum.cmp(&tens) >= 0
	}
	x := g.x
	q, low, high := step()
	if q == 0 && !high {
		x--
	} else {
		d.push(q)
	}
	if x < -3 || x >= 8 {
		low, high = false, false
	}
	for !low && !high {
		q, low, high = step()
		d.push(q)
	}
	d.exp = x
	if high {
		b.add(&b)
		if !low || closer(int64(b.cmp(&tens)), d) {
			d.roundUp()
		}
	}
	return d.exp
}
