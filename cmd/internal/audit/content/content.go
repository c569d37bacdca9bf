package content

import "hash/maphash"

// Seed is of all hashes of a process.
var Seed = maphash.MakeSeed()

// factor is odd, so that no row's part in a sum is lost.
const factor = 0x9e3779b97f4a7c15

// Roll adds a row to the sum of those before it, which is 0 for the first.
func Roll(sum, row uint64) uint64 { return sum*factor + row }

// Rest is the sum of the last rows of a change, left in number, when that of all
// its rows and that of those before them are known.
func Rest(all, first uint64, left int) uint64 {
	for range left {
		first *= factor
	}
	return all - first
}

// Texts sums up rows that are given as texts.
func Texts(rows []string) (sum uint64) {
	for _, row := range rows {
		sum = Roll(sum, maphash.String(Seed, row))
	}
	return sum
}
