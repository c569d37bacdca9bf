package pattern

import (
	"errors"
	"strings"
	"unicode"
)

// classItems collects the members of a bracket class.
type classItems struct {
	in  strings.Builder // members
	not []string        // complements of sets, which a class cannot hold beside members
}

// class reads a bracket class whose opening bracket has been read.
func (t *translator) class() error {
	negated := t.peek(0) == '^'
	if negated {
		t.pos++
	}
	var items classItems
	for first := true; t.peek(0) != ']' || first; first = false {
		if t.peek(0) == -1 {
			return errors.New("unmatched bracket")
		}
		if err := t.member(&items); err != nil {
			return err
		}
	}
	t.pos++
	t.writeClass(&items, negated)
	return nil
}

// member reads a set, a character or a range.
func (t *translator) member(items *classItems) error {
	if t.set(items) {
		return nil
	}
	low, err := t.classRune()
	if err != nil {
		return err
	}
	if t.peek(0) != '-' || t.peek(1) == ']' || t.peek(1) == -1 {
		writeRune(&items.in, t.folded(low))
		return nil
	}
	t.pos++
	if t.set(&classItems{}) {
		return errors.New("invalid range in brackets")
	}
	high, err := t.classRune()
	if err != nil {
		return err
	}
	if low > high {
		return errors.New("invalid range in brackets")
	}
	if unicode.IsUpper(low) && unicode.IsUpper(high) {
		low, high = t.folded(low), t.folded(high)
	}
	writeRune(&items.in, low)
	items.in.WriteByte('-')
	writeRune(&items.in, high)
	return nil
}

// set reads a class escape or a POSIX class, if one stands next.
func (t *translator) set(items *classItems) bool {
	var text string
	var complement, ok bool
	switch t.peek(0) {
	case '\\':
		if text, complement, ok = set(t.peek(1)); ok {
			t.pos += 2
		}
	case '[':
		text, complement, ok = t.posix()
	}
	switch {
	case !ok:
		return false
	case complement:
		items.not = append(items.not, "[^"+text+"]")
	default:
		items.in.WriteString(text)
	}
	return true
}

// posix reads [:name:] or [:^name:]; with another name it is no class.
func (t *translator) posix() (items string, complement, ok bool) {
	if t.peek(1) != ':' {
		return "", false, false
	}
	n := 2
	if complement = t.peek(n) == '^'; complement {
		n++
	}
	start := t.pos + n
	for t.peek(n) != ':' {
		if t.peek(n) == -1 {
			return "", false, false
		}
		n++
	}
	if t.peek(n+1) != ']' {
		return "", false, false
	}
	items, ok = posixSets[string(t.src[start:t.pos+n])]
	if ok {
		t.pos += n + 2
	}
	return items, complement, ok
}

func (t *translator) classRune() (rune, error) {
	c := t.peek(0)
	t.pos++
	if c != '\\' {
		return c, nil
	}
	if t.peek(0) == -1 {
		return 0, errors.New("unmatched bracket")
	}
	return t.escaped(true), nil
}

// writeClass writes the class. Where it holds complements it becomes a choice
// of classes; where it is negated too, only a look-ahead can say it.
func (t *translator) writeClass(items *classItems, negated bool) {
	choices := items.not
	if items.in.Len() > 0 {
		choices = append([]string{"[" + items.in.String() + "]"}, choices...)
	}
	switch {
	case len(items.not) == 0:
		t.out.WriteString(choose(negated, "[^", "[") + items.in.String() + "]")
	case !negated:
		t.out.WriteString("(?:" + strings.Join(choices, "|") + ")")
	default:
		t.backtrack = true
		t.out.WriteString("(?:(?!" + strings.Join(choices, "|") + ")(?s:.))")
	}
}

// writeRune writes a member so that both engines take it for itself.
func writeRune(b *strings.Builder, c rune) {
	if c < unicode.MaxASCII && (unicode.IsPunct(c) || unicode.IsSymbol(c)) {
		b.WriteByte('\\')
	}
	b.WriteRune(c)
}
