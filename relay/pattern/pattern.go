package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dlclark/regexp2"
)

// matchLimit bounds one match of the backtracking engine. Names have at most a
// few hundred characters: what takes longer is a pattern that explodes.
const matchLimit = time.Second

// wildcards are the characters that make a text of topic and partition rules a
// pattern. The dot is not one of them.
const wildcards = `*?+|(){}[]\$^`

// IsPattern reports whether a text of a topic or partition rule is a pattern;
// if not, it is a name to be compared ignoring case.
func IsPattern(s string) bool { return strings.ContainsAny(s, wildcards) }

// Pattern is a compiled list of patterns. It is safe for concurrent use.
type Pattern struct {
	source string
	linear *regexp.Regexp  // nil when the pattern needs backtracking
	deep   *regexp2.Regexp // nil when linear does
}

// Compile joins patterns as Canal does: longest first, each between ^ and $, as
// the alternatives of one expression. Pieces that the engine refuses are an
// error that names the piece. There must be at least one.
func Compile(pieces ...string) (*Pattern, error) {
	if len(pieces) == 0 {
		return nil, errors.New("no pattern")
	}
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(javaLength(b), javaLength(a)) })
	p, err := compile("^" + strings.Join(sorted, "$|^") + "$")
	if err == nil {
		return p, nil
	}
	for _, piece := range pieces {
		if _, err := compile("^" + piece + "$"); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", piece, err)
		}
	}
	// Each is right alone: a back reference, an open bracket or a backslash at
	// the end of one reaches into the next.
	return nil, fmt.Errorf("patterns %q together: %w", strings.Join(pieces, ","), err)
}

func compile(source string) (*Pattern, error) {
	text, backtrack, err := translate(source)
	if err != nil {
		return nil, err
	}
	text = `\A(?:` + text + `)`
	p := &Pattern{source: source}
	if !backtrack {
		// RE2 refuses what needs too much of it, as {1,2000}.
		if p.linear, err = regexp.Compile(text); err == nil {
			return p, nil
		}
	}
	if p.deep, err = regexp2.Compile(text, regexp2.None); err != nil {
		return nil, err
	}
	p.deep.MatchTimeout = matchLimit
	return p, nil
}

// Match reports whether the lower-cased name matches: the first match that a
// backtracking engine finds at its start must be the whole name. So "a|ab" does
// not match "ab". An error says that the time limit was hit.
func (p *Pattern) Match(name string) (bool, error) {
	name = strings.ToLower(strings.ReplaceAll(name, "İ", "i\u0307")) // as Java: two characters
	if p.linear != nil {
		at := p.linear.FindStringIndex(name)
		return at != nil && at[1] == len(name), nil
	}
	m, err := p.deep.FindStringMatch(name)
	if err != nil {
		return false, fmt.Errorf("match %q: pattern %q takes longer than %v, simplify it", name, p.source, matchLimit)
	}
	return m != nil && len(m.String()) == len(name), nil
}

// javaLength is the length by which Canal sorts: in UTF-16 units.
func javaLength(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
