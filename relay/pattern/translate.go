package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// flags are the engine's modifiers. Canal compiles without regard to case and
// with a dot that matches line ends; (?…) changes them from there to the end of
// the whole expression, groups or not.
type flags struct {
	fold      bool // i: upper-case letters of the pattern stand for lower-case ones
	multiline bool // m: ^ and $ match at lines
	dotAll    bool // s: the dot matches a line feed
}

// translator rewrites an ORO expression for Go's engines. Three things differ:
// escapes and classes are Unicode's in ORO, unknown escapes are literals, and
// the subject is lower-cased, so that folding is done on the pattern alone.
type translator struct {
	src       []rune
	pos       int
	out       strings.Builder
	flags     flags
	groups    int  // capturing groups opened so far
	backtrack bool // uses what RE2 does not have
}

// translate returns the expression for RE2, or for regexp2 if backtrack.
func translate(source string) (text string, backtrack bool, err error) {
	start := flags{fold: true, dotAll: true}
	t := &translator{src: []rune(source), flags: start}
	if err := t.expression(false); err != nil {
		return "", false, err
	}
	if t.flags != start {
		// ORO compiles twice and does not reset its flags in between: those in
		// force at the end hold from the start.
		t = &translator{src: t.src, flags: t.flags}
		if err := t.expression(false); err != nil {
			return "", false, err
		}
	}
	return t.out.String(), t.backtrack, nil
}

// peek returns the rune n places on, or -1 past the end.
func (t *translator) peek(n int) rune {
	if t.pos+n < len(t.src) {
		return t.src[t.pos+n]
	}
	return -1
}

// expression reads alternatives up to the end, or up to the parenthesis that
// closes the group it is nested in.
func (t *translator) expression(nested bool) error {
	for t.pos < len(t.src) {
		switch t.peek(0) {
		case ')':
			if nested {
				return nil
			}
			return errors.New("unmatched parenthesis")
		case '|':
			t.out.WriteByte('|')
			t.pos++
		default:
			if err := t.branch(); err != nil {
				return err
			}
		}
	}
	if nested {
		return errors.New("unmatched parenthesis")
	}
	return nil
}

// branch reads an atom and its repetition.
func (t *translator) branch() error {
	atom, err := t.atom()
	if err != nil || !atom {
		return err
	}
	n := t.repetition()
	if n == 0 {
		return nil
	}
	if t.peek(n) == '?' {
		n++
	}
	t.out.WriteString(string(t.src[t.pos : t.pos+n]))
	t.pos += n
	if t.repetition() > 0 {
		return errors.New("nested repetition")
	}
	return nil
}

// repetition returns the length of the repetition that stands next, 0 if none
// does. A brace that begins none is a literal.
func (t *translator) repetition() int {
	switch t.peek(0) {
	case '*', '+', '?':
		return 1
	case '{':
	default:
		return 0
	}
	n := 1
	for isDigit(t.peek(n)) {
		n++
	}
	if n == 1 {
		return 0
	}
	if t.peek(n) == ',' {
		n++
	}
	for isDigit(t.peek(n)) {
		n++
	}
	if t.peek(n) != '}' {
		return 0
	}
	return n + 1
}

// atom reads one thing that can be repeated. It returns false for comments and
// flags, which are none.
func (t *translator) atom() (bool, error) {
	c := t.peek(0)
	t.pos++
	switch c {
	case '^':
		t.out.WriteString(choose(t.flags.multiline, `(?m:^)`, `\A`))
	case '$':
		// Perl's $ also matches before a last line feed; but then the match
		// does not end with the name, which is what counts in the end.
		t.out.WriteString(choose(t.flags.multiline, `(?m:$)`, `\z`))
	case '.':
		t.out.WriteString(choose(t.flags.dotAll, `(?s:.)`, `[^\n]`))
	case '[':
		return true, t.class()
	case '(':
		return t.group()
	case '*', '+', '?':
		return false, fmt.Errorf("%c follows nothing", c)
	case '\\':
		return true, t.escape()
	default:
		t.literal(c)
	}
	return true, nil
}

func (t *translator) literal(c rune) {
	t.out.WriteString(regexp.QuoteMeta(string(t.folded(c))))
}

func (t *translator) folded(c rune) rune {
	if t.flags.fold && unicode.IsUpper(c) {
		return unicode.ToLower(c)
	}
	return c
}

// group reads what follows an opening parenthesis.
func (t *translator) group() (bool, error) {
	open := "("
	if t.peek(0) != '?' {
		t.groups++
	} else {
		t.pos++
		switch t.peek(0) {
		case ':':
		case '=', '!':
			t.backtrack = true
		case '#':
			return false, t.comment()
		default:
			return false, t.modifiers()
		}
		open = "(?" + string(t.peek(0))
		t.pos++
	}
	t.out.WriteString(open)
	if err := t.expression(true); err != nil {
		return false, err
	}
	t.pos++
	t.out.WriteByte(')')
	return true, nil
}

func (t *translator) comment() error {
	for t.peek(0) != ')' {
		if t.pos++; t.pos >= len(t.src) {
			return errors.New("unmatched parenthesis")
		}
	}
	t.pos++
	return nil
}

// modifiers reads (?imsgo-imsgo). A group with modifiers, a named group and a
// look-behind are refused here, as by ORO; x is refused by us alone.
func (t *translator) modifiers() error {
	on := true
	for ; ; t.pos++ {
		switch c := t.peek(0); c {
		case 'i':
			t.flags.fold = on
		case 'm':
			t.flags.multiline = on
		case 's':
			t.flags.dotAll = on
		case 'g', 'o':
		case '-':
			on = false
		case ')':
			t.pos++
			return nil
		case -1:
			return errors.New("unmatched parenthesis")
		default:
			return fmt.Errorf("(?%c…) is not supported", c)
		}
	}
}

func choose(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }
