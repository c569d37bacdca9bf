// Package half knows of which transaction an earlier stream handed on a part.
package half

import (
	"bytes"
	"log/slog"
)

// Transaction is one of which the first Rows rows were handed on.
type Transaction struct {
	Tx   []byte // its name; empty where only Rows is known: the first one that has rows
	Rows uint64 // 0: there is none
	told bool
}

// Of is how many rows at the start of a transaction were handed on. The first one
// of a stream should be that one; on a source that never got it, its part stays
// with readers, which is told once.
func (t *Transaction) Of(tx []byte, unusual func(string), log *slog.Logger) uint64 {
	switch {
	case t.Rows == 0:
		return 0
	case len(t.Tx) == 0 || bytes.Equal(t.Tx, tx):
		return t.Rows
	case !t.told:
		t.told = true
		unusual("half_transaction")
		log.Warn("readers have the first rows of a transaction that does not come next: unless it comes later, the source does not have it, and they keep what they have",
			"transaction", string(t.Tx), "rows", t.Rows, "next", string(tx))
	}
	return 0
}
