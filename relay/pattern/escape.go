package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Sets of characters as Java's Character class has them, as items of a class.
const (
	wordSet  = `\p{L}\p{Nd}_`
	digitSet = `\p{Nd}`
	spaceSet = "\t-\r\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
)

var posixSets = map[string]string{
	"alnum":  `\p{L}\p{Nd}`,
	"alpha":  `\p{L}`,
	"ascii":  "\\x00-\\x7f",
	"blank":  " \t",
	"cntrl":  `\x00-\x1f\x7f-\x9f`,
	"digit":  digitSet,
	"graph":  `\p{L}\p{M}\p{N}\p{P}\p{S}`,
	"lower":  `\p{Ll}`,
	"print":  `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}`,
	"punct":  `\p{P}\p{S}`,
	"space":  spaceSet,
	"upper":  `\p{Lu}\p{Ll}`, // without regard to case
	"word":   wordSet,
	"xdigit": `0-9A-Fa-f`,
}

// set returns the set behind a class escape, and whether the escape means its
// complement.
func set(c rune) (items string, complement, ok bool) {
	switch c {
	case 'w', 'W':
		return wordSet, c == 'W', true
	case 'd', 'D':
		return digitSet, c == 'D', true
	case 's', 'S':
		return spaceSet, c == 'S', true
	}
	return "", false, false
}

// escape reads what follows a backslash outside a class.
func (t *translator) escape() error {
	c := t.peek(0)
	if items, complement, ok := set(c); ok {
		t.pos++
		t.out.WriteString(choose(complement, "[^", "[") + items + "]")
		return nil
	}
	switch {
	case c == -1:
		return errors.New("trailing backslash")
	case c == 'A' || c == 'G':
		t.out.WriteString(`\A`)
	case c == 'Z':
		t.out.WriteString(`\z`)
	case c == 'b' || c == 'B':
		t.boundary(c == 'b')
	case '1' <= c && c <= '9':
		return t.number()
	default:
		t.literal(t.escaped(false))
		return nil
	}
	t.pos++
	return nil
}

// boundary writes a word boundary: RE2's and regexp2's know other words.
func (t *translator) boundary(at bool) {
	const w = "[" + wordSet + "]"
	t.backtrack = true
	if at {
		t.out.WriteString("(?:(?<=" + w + ")(?!" + w + ")|(?<!" + w + ")(?=" + w + "))")
	} else {
		t.out.WriteString("(?:(?<=" + w + ")(?=" + w + ")|(?<!" + w + ")(?!" + w + "))")
	}
}

// number reads a back reference, or an octal code if it is too great for one.
func (t *translator) number() error {
	n := 1
	for isDigit(t.peek(n)) {
		n++
	}
	ref, err := strconv.Atoi(string(t.src[t.pos : t.pos+n]))
	switch {
	case err != nil:
		return fmt.Errorf("invalid back reference: %w", err)
	case ref <= t.groups:
		t.backtrack = true
		t.pos += n
		fmt.Fprintf(&t.out, `(?:\%d)`, ref)
		return nil
	case ref <= 9 || t.peek(0) > '7':
		return fmt.Errorf(`invalid back reference \%d`, ref)
	}
	t.literal(t.octal())
	return nil
}

// escaped reads the character that an escape stands for. Of unknown escapes, as
// \p and \Q, that is the character itself.
func (t *translator) escaped(inClass bool) rune {
	c := t.peek(0)
	if '0' <= c && c <= '7' {
		return t.octal()
	}
	t.pos++
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'f':
		return '\f'
	case 'e':
		return '\x1b'
	case 'a':
		return '\a'
	case 'b':
		if inClass {
			return '\b'
		}
	case 'x':
		return t.digits(16, 2)
	case 'c':
		if c = t.peek(0); c != -1 {
			t.pos++
			return unicode.ToUpper(c) ^ 0x40
		}
	}
	return c
}

func (t *translator) octal() rune { return t.digits(8, 3) }

// digits reads up to most digits of a base.
func (t *translator) digits(base rune, most int) rune {
	n := rune(0)
	for ; most > 0; most-- {
		d := rune(strings.IndexRune("0123456789abcdef", unicode.ToLower(t.peek(0))))
		if d < 0 || d >= base {
			break
		}
		n = n*base + d
		t.pos++
	}
	return n
}
