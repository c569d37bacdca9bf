package lex

import (
	"fmt"
	"strings"
)

// Cursor reads the tokens of a text with any look-ahead. The first failure
// sticks: from then on every token is the end, so that no loop goes on.
type Cursor struct {
	lexer  *Lexer
	ahead  []Token // looked at and not taken yet
	failed string
}

// NewCursor returns a cursor that stands before the first token.
func NewCursor(text string, o Options) Cursor { return Cursor{lexer: New(text, o)} }

// Options are how the text is read.
func (c *Cursor) Options() Options { return c.lexer.o }

// Failed says why reading ended, with what stands there; empty as long as it
// did not.
func (c *Cursor) Failed() string { return c.failed }

// Fail records the first failure: what was wanted here.
func (c *Cursor) Fail(want string) {
	if c.failed == "" {
		near := c.lexer.s[c.Peek(0).Start:]
		if len(near) > 40 {
			near = strings.ToValidUTF8(near[:40], "")
		}
		c.failed = fmt.Sprintf("want %s near %q", want, near)
	}
	c.ahead = nil
}

// Peek is the token n places ahead.
func (c *Cursor) Peek(n int) Token {
	for len(c.ahead) <= n {
		t := Token{Kind: End, Start: len(c.lexer.s)}
		if c.failed == "" {
			t = c.lexer.Next()
			c.failed = c.lexer.err
		}
		c.ahead = append(c.ahead, t)
	}
	return c.ahead[n]
}

// Take is the next token; the cursor moves behind it.
func (c *Cursor) Take() Token {
	t := c.Peek(0)
	c.ahead = append(c.ahead[:0], c.ahead[1:]...)
	return t
}

// Untake puts a token back.
func (c *Cursor) Untake(t Token) { c.ahead = append([]Token{t}, c.ahead...) }

// Stop makes what is left of the text vanish.
func (c *Cursor) Stop() {
	c.lexer.i = len(c.lexer.s)
	c.ahead = nil
}

// End reports that no token is left.
func (c *Cursor) End() bool { return c.Peek(0).Kind == End }

// Accept takes the words if they stand there one after the other.
func (c *Cursor) Accept(words ...string) bool {
	for i, w := range words {
		if !c.Peek(i).Is(w) {
			return false
		}
	}
	for range words {
		c.Take()
	}
	return true
}

// AcceptAny takes the next word if it is one of these.
func (c *Cursor) AcceptAny(words ...string) bool {
	if c.Peek(0).Any(words...) {
		c.Take()
		return true
	}
	return false
}

// AcceptAll takes the next words as long as they are among these.
func (c *Cursor) AcceptAll(words ...string) {
	for c.AcceptAny(words...) {
	}
}

// AcceptPunct takes a byte of punctuation if it stands there.
func (c *Cursor) AcceptPunct(b byte) bool {
	if c.Peek(0).IsPunct(b) {
		c.Take()
		return true
	}
	return false
}

// Skip takes one token, or all of a bracket.
func (c *Cursor) Skip() {
	if !c.Take().IsPunct('(') {
		return
	}
	for depth := 1; depth > 0; {
		switch t := c.Take(); {
		case t.Kind == End:
			c.Fail("a closing bracket")
			return
		case t.IsPunct('('):
			depth++
		case t.IsPunct(')'):
			depth--
		}
	}
}
