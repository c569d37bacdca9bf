package half

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestOf: rows are left out of the transaction that they are of, and of no other one.
func TestOf(t *testing.T) {
	var log bytes.Buffer
	var unusual []string
	of := func(h *Transaction, tx string) uint64 {
		return h.Of([]byte(tx), func(what string) { unusual = append(unusual, what) }, slog.New(slog.NewTextHandler(&log, nil)))
	}
	if n := of(&Transaction{}, "0-1-1"); n != 0 {
		t.Errorf("%d rows of none", n)
	}
	if n := of(&Transaction{Rows: 3}, "0-1-1"); n != 3 {
		t.Errorf("%d rows of one that has no name", n)
	}
	h := &Transaction{Tx: []byte("0-1-2"), Rows: 3}
	if n := of(h, "0-1-2"); n != 3 || log.Len() > 0 {
		t.Errorf("%d rows, %s", n, &log)
	}
	if n := of(h, "0-2-2") + of(h, "0-2-3"); n != 0 || len(unusual) != 1 || strings.Count(log.String(), "transaction=0-1-2") != 1 {
		t.Errorf("%d rows of others, %q, %s", n, unusual, &log)
	}
	if n := of(h, "0-1-2"); n != 3 {
		t.Errorf("%d rows of the one that comes later", n)
	}
}
