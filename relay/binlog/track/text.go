package track

import (
	"bytes"
	"strings"
)

// Text is what the text of a query event means for transactions.
type Text uint8

// The texts that are told apart. Everything else is a statement: DDL, or
// statement-format DML.
const (
	TextStatement Text = iota
	TextBegin
	TextCommit
	TextRollback
	TextSavepoint // SAVEPOINT, RELEASE SAVEPOINT, ROLLBACK TO
	TextXAStart
	TextXAEnd
	TextXADecision // XA COMMIT or XA ROLLBACK
)

// ClassifyText reads a query event's text. BEGIN and COMMIT must be the whole
// text, so that a statement that merely ends in one of them stays a statement.
func ClassifyText(query []byte) Text {
	q := bytes.TrimRight(bytes.TrimSpace(query), " ;\x00")
	if len(q) == 0 {
		return TextStatement
	}
	switch q[0] | 0x20 {
	case 'b':
		if equal(q, "BEGIN") {
			return TextBegin
		}
	case 'c':
		if equal(q, "COMMIT") {
			return TextCommit
		}
	case 'r':
		switch {
		case equal(q, "ROLLBACK"):
			return TextRollback
		case prefix(q, "ROLLBACK TO"), prefix(q, "RELEASE SAVEPOINT"):
			return TextSavepoint
		}
	case 's':
		if prefix(q, "SAVEPOINT ") {
			return TextSavepoint
		}
	case 'x':
		switch {
		case prefix(q, "XA START"), prefix(q, "XA BEGIN"):
			return TextXAStart
		case prefix(q, "XA END"):
			return TextXAEnd
		case prefix(q, "XA COMMIT"), prefix(q, "XA ROLLBACK"):
			return TextXADecision
		}
	}
	return TextStatement
}

func equal(q []byte, word string) bool {
	return len(q) == len(word) && strings.EqualFold(string(q), word)
}

func prefix(q []byte, word string) bool {
	return len(q) >= len(word) && strings.EqualFold(string(q[:len(word)]), word)
}
