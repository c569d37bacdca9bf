package lex

import (
	"strings"
)

// Bits of sql_mode that change how a text is read.
const (
	RealAsFloat        = 1 << 0
	ANSIQuotes         = 1 << 2
	Oracle             = 1 << 9 // MariaDB only
	NoBackslashEscapes = 1 << 20
)

// Options say how the server that ran a statement read it.
type Options struct {
	SQLMode uint64 // sql_mode as in the query event
	MariaDB bool
	Version uint32 // MySQL 9.7.4 is 90704, MariaDB 10.11.19 is 101119; 0 is unknown, taken for the newest
}

// Kind is a kind of token.
type Kind uint8

// The kinds of token.
const (
	End    Kind = iota
	Word        // unquoted identifier or keyword
	Quoted      // quoted identifier
	String      // string literal
	Number
	Punct // one byte
)

// Token is a piece of a text.
type Token struct {
	Kind  Kind
	Text  string // as it stands there, quotes included
	Start int    // where it begins
}

// Is reports whether t is the unquoted word w, whatever its case.
func (t Token) Is(w string) bool { return t.Kind == Word && strings.EqualFold(t.Text, w) }

// Any reports whether t is one of the words.
func (t Token) Any(words ...string) bool {
	for _, w := range words {
		if t.Is(w) {
			return true
		}
	}
	return false
}

// IsPunct reports whether t is this byte of punctuation.
func (t Token) IsPunct(c byte) bool { return t.Kind == Punct && t.Text[0] == c }

// Name is the identifier that t spells, and whether it can be one.
func (t Token) Name() (string, bool) {
	switch t.Kind {
	case Word:
		return t.Text, true
	case Quoted:
		q := t.Text[:1]
		return strings.ReplaceAll(t.Text[1:len(t.Text)-1], q+q, q), true
	}
	return "", false
}

// Lexer cuts a statement into tokens. Comments vanish; the text of executable
// comments whose condition holds is read as part of the statement.
type Lexer struct {
	s    string
	i    int
	o    Options
	exec int  // executable comments open
	dot  bool // the last Token was a dot: what follows is an identifier, even 1e5
	err  string
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// New returns a lexer of a text.
func New(text string, o Options) *Lexer { return &Lexer{s: text, o: o} }

// Err is why the text ended early: a quote or a comment that is not closed.
// Empty if it did not.
func (l *Lexer) Err() string { return l.err }

// at is the byte n places ahead, 0 beyond the end.
func (l *Lexer) at(n int) byte {
	if l.i+n < len(l.s) {
		return l.s[l.i+n]
	}
	return 0
}

// Next cuts the next token. After an error it is the end, for good.
func (l *Lexer) Next() Token {
	l.blank()
	if l.err != "" || l.i >= len(l.s) {
		return Token{Kind: End, Start: len(l.s)}
	}
	start, kind := l.i, Punct
	switch c := l.s[l.i]; {
	case c == '`' || c == '"' && l.o.SQLMode&ANSIQuotes != 0:
		kind = Quoted
		l.quoted(c, false)
	case c == '\'' || c == '"':
		kind = String
		l.quoted(c, l.o.SQLMode&NoBackslashEscapes == 0)
	case isDigit(c) && !l.dot && l.number():
		kind = Number
	case isWord(c):
		kind = Word
		for l.i < len(l.s) && isWord(l.s[l.i]) {
			l.i++
		}
	default:
		l.i++
	}
	if l.err != "" {
		return Token{Kind: End, Start: len(l.s)}
	}
	t := Token{Kind: kind, Text: l.s[start:l.i], Start: start}
	l.dot = t.IsPunct('.')
	return t
}

// number passes over a number; it stays where it is when the digits begin an
// identifier, as in 1st.
func (l *Lexer) number() bool {
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
func (l *Lexer) quoted(q byte, escapes bool) {
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

func (l *Lexer) fail(why string) {
	l.i = len(l.s)
	l.err = why
}

// blank passes over white space and comments.
func (l *Lexer) blank() {
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
func (l *Lexer) comment() {
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
