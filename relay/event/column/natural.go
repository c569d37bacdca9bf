package column

import "math/bits"

// natural is a natural number of at most 1,280 bits, least word first, enough
// for ten times the largest double. It lives on the stack.
type natural struct {
	w [20]uint64
	n int // words in use
}

// set makes it f·5^p·2^shift.
func (a *natural) set(f uint64, p, shift int) {
	*a = natural{n: 1}
	a.w[0] = f
	for ; p >= 27; p -= 27 {
		a.mul(pow5(27))
	}
	a.mul(pow5(p))
	a.shift(shift)
}

func (a *natural) mul(x uint64) {
	carry := uint64(0)
	for i := range a.n {
		hi, lo := bits.Mul64(a.w[i], x)
		lo, c := bits.Add64(lo, carry, 0)
		a.w[i] = lo
		carry = hi + c
	}
	a.push(carry)
}

func (a *natural) push(carry uint64) {
	if carry != 0 {
		a.w[a.n] = carry
		a.n++
	}
}

func (a *natural) shift(k int) {
	words := k / 64
	if words > 0 {
		copy(a.w[words:], a.w[:a.n])
		clear(a.w[:words])
		a.n += words
	}
	if k %= 64; k > 0 {
		a.mul(1 << k)
	}
}

func (a *natural) add(b *natural) {
	n := max(a.n, b.n)
	carry := uint64(0)
	for i := range n {
		a.w[i], carry = bits.Add64(a.w[i], b.w[i], carry)
	}
	a.n = n
	a.push(carry)
}

// sub takes b ≤ a away.
func (a *natural) sub(b *natural) {
	borrow := uint64(0)
	for i := range a.n {
		a.w[i], borrow = bits.Sub64(a.w[i], b.w[i], borrow)
	}
	for a.n > 1 && a.w[a.n-1] == 0 {
		a.n--
	}
}

func (a *natural) cmp(b *natural) int {
	if a.n != b.n {
		return compareInt(a.n, b.n)
	}
	for i := a.n - 1; i >= 0; i-- {
		if a.w[i] != b.w[i] {
			if a.w[i] < b.w[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func compareInt(a, b int) int {
	if a < b {
		return -1
	}
	return 1
}
