package ddl

import (
	"strings"
)

// Bits of sql_mode that change how a text is read.
const (
	modeRealAsFloat = 1 << 0
	modeANSIQuotes  = 1 << 2
	modeOracle      = 1 << 9 // MariaDB only
	modeNoBackslash = 1 << 20
)

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // unquoted identifier or keyword
	tokenQuoted           // quoted identifier
	tokenString           // string literal
	tokenNumber
	tokenPunct // one byte
)

// token is a piece of the statement; text is cut from it, quotes included.
type token struct {
	kind  tokenKind
	text  string
	start int
}

// is reports whether t is the unquoted word w, whatever its case.
func (t token) is(w string) bool { return t.kind == tokenWord && strings.EqualFold(t.text, w) }

// any reports whether t is one of the words.
func (t token) any(words ...string) bool {
	for _, w := range words {
		if t.is(w) {
			return true
		}
	}
	return false
}

func (t token) punct(c byte) bool { return t.kind == tokenPunct && t.text[0] == c }

// name is the identifier that t spells, and whether it can be one.
func (t token) name() (string, bool) {
	switch t.kind {
	case tokenWord:
		return t.text, true
	case tokenQuoted:
		q := t.text[:1]
		return strings.ReplaceAll(t.text[1:len(t.text)-1], q+q, q), true
	}
	return "", false
}

// lexer cuts a statement into tokens. Comments vanish; the text of executable
// comments whose condition holds is read as part of the statement.
type lexer struct {
	s    string
	i    int
	o    Options
	exec int  // executable comments open
	dot  bool // the last token was a dot: what follows is an identifier, even 1e5
	err  string
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// at is the byte n places ahead, 0 beyond the end.
func (l *lexer) at(n int) byte {
	if l.i+n < len(l.s) {
		return l.s[l.i+n]
	}
	return 0
}

// next cuts the next token. After an error it is the end, for good.
func (l *lexer) next() token {
	l.blank()
	if l.err != "" || l.i >= len(l.s) {
		return token{kind: tokenEnd, start: len(l.s)}
	}
	start, kind := l.i, tokenPunct
	switch c := l.s[l.i]; {
	case c == '`' || c == '"' && l.o.SQLMode&modeANSIQuotes != 0:
		kind = tokenQuoted
		l.quoted(c, false)
	case c == '\'' || c == '"':
		kind = tokenString
		l.quoted(c, l.o.SQLMode&modeNoBackslash == 0)
	case isDigit(c) && !l.dot && l.number():
		kind = tokenNumber
	case isWord(c):
		kind = tokenWord
		for l.i < len(l.s) && isWord(l.s[l.i]) {
			l.i++
		}
	default:
		l.i++
	}
	if l.err != "" {
		return token{kind: tokenEnd, start: len(l.s)}
	}
	t := token{kind: kind, text: l.s[start:l.i], start: start}
	l.dot = t.punct('.')
	return t
}

// number passes over a number; it stays where it is when the digits begin an
// identifier, as in 1st.
func (l *lexer) number() bool {
	i := l.i
	digits := func() {
		for i < len(l.s) && isDigit(l.s[i]) {
			i++
		}
	}
	digits()
	if i+1 < len(l.s) && l.s[i] == '.' && isDigit(l.s[i+1]) {
		i++
		digits()
	}
	if i < len(l.s) && (l.s[i] == 'e' || l.s[i] == 'E') {
		j := i + 1
		if j < len(l.s) && (l.s[j] == '+' || l.s[j] == '-') {
			j++
		}
		if j < len(l.s) && isDigit(l.s[j]) {
			i = j
			digits()
		}
	}
	if i < len(l.s) && isWord(l.s[i]) {
		return false
	}
	l.i = i
	return true
}

// quoted passes over a quoted piece: doubled quotes and, in strings, escapes
// belong to it.
func (l *lexer) quoted(q byte, escapes bool) {
	for l.i++; l.i < len(l.s); l.i++ {
		switch c := l.s[l.i]; {
		case c == '\\' && escapes:
			l.i++
		case c == q && l.at(1) == q:
			l.i++
		case c == q:
			l.i++
			return
		}
	}
	l.fail("a quote is not closed")
}

func (l *lexer) fail(why string) {
	l.i = len(l.s)
	l.err = why
}

// blank passes over white space and comments.
func (l *lexer) blank() {
	for l.i < len(l.s) && l.err == "" {
		switch c := l.s[l.i]; {
		case isSpace(c) || c == 0:
			l.i++
		case c == '#' || c == '-' && l.at(1) == '-' && (l.i+2 >= len(l.s) || l.at(2) <= ' '):
			n := strings.IndexByte(l.s[l.i:], '\n')
			if n < 0 {
				n = len(l.s) - l.i
			}
			l.i += n
		case c == '/' && l.at(1) == '*':
			l.comment()
		case c == '*' && l.at(1) == '/' && l.exec > 0:
			l.exec--
			l.i += 2
		default:
			return
		}
	}
}

// comment passes over a comment, or over the opening of an executable one.
func (l *lexer) comment() {
	l.i += 2
	maria := l.at(0) == 'M' && l.at(1) == '!'
	nested := l.at(0) == '!' || maria
	if nested {
		digits := l.i + 1
		if maria {
			digits++
		}
		version, n := 0, 0
		for n < 6 && digits+n < len(l.s) && isDigit(l.s[digits+n]) {
			version = version*10 + int(l.s[digits+n]-'0')
			n++
		}
		if n < 5 {
			version, n = 0, 0
		}
		if l.o.runs(version, maria) {
			l.exec++
			l.i = digits + n
			return
		}
	}
	for depth := 1; l.i < len(l.s); l.i++ {
		switch {
		case l.s[l.i] == '*' && l.at(1) == '/':
			l.i++
			if depth--; depth == 0 {
				l.i++
				return
			}
		case nested && l.s[l.i] == '/' && l.at(1) == '*':
			l.i++
			depth++
		}
	}
	l.fail("a comment is not closed")
}

// runs reports whether the server reads the text of an executable comment.
// MariaDB passes over what is meant for MySQL 5.7 and later.
func (o Options) runs(version int, maria bool) bool {
	own := int(o.Version)
	switch {
	case own == 0 && o.MariaDB:
		own = 129999
	case own == 0:
		own = 98999
	}
	if o.MariaDB {
		return version <= own && (maria || version < 50700 || version > 99999)
	}
	return version <= own && !maria
}

// unescape is the value of a string literal.
func (o Options) unescape(lit string) string {
	q := lit[:1]
	s := strings.ReplaceAll(lit[1:len(lit)-1], q+q, q)
	if o.SQLMode&modeNoBackslash != 0 || !strings.Contains(s, `\`) {
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
