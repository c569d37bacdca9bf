package lex

import (
	"encoding/hex"
	"math/big"
	"strings"
)

// Unescape is the value of a string literal.
func (o Options) Unescape(lit string) string {
	q := lit[:1]
	s := strings.ReplaceAll(lit[1:len(lit)-1], q+q, q)
	if o.SQLMode&NoBackslashEscapes != 0 || !strings.Contains(s, `\`) {
		return s
	}
	// Doubled quotes and escapes are undone in one pass: \'' is a quote and the end of a pair.
	s = lit[1 : len(lit)-1]
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case '0':
				c = 0
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'Z':
				c = 26
			case '%', '_': // kept for LIKE
				b = append(b, '\\')
				c = s[i]
			default:
				c = s[i]
			}
		case c == q[0]:
			i++
		}
		b = append(b, c)
	}
	return string(b)
}

// Quote writes a label as Canal and SHOW CREATE TABLE do.
func (o Options) Quote(s string) string {
	if o.SQLMode&NoBackslashEscapes == 0 {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// Bits is the value of a hexadecimal (x) or binary (b) literal.
func Bits(form, digits string) string {
	if form == "x" || form == "X" {
		if len(digits)%2 == 1 {
			digits = "0" + digits
		}
		b, err := hex.DecodeString(digits)
		if err != nil {
			return digits
		}
		return string(b)
	}
	n, ok := new(big.Int).SetString(digits, 2)
	if !ok {
		return digits
	}
	b := make([]byte, (len(digits)+7)/8)
	return string(n.FillBytes(b))
}
