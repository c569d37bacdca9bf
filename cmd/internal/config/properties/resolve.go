package properties

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Environment stands for a file name where the environment set a key.
const Environment = "environment"

// maxExpanded bounds, in bytes, what placeholders may make of one value.
const maxExpanded = 1 << 20

// ErrCycle says that a placeholder leads back to itself.
var ErrCycle = errors.New("the placeholders lead back to themselves")

// Setting is the value of a key and where it was set.
type Setting struct {
	Value string // trimmed
	Where string // "file:line", Environment, or "" where no one set it
	Set   bool   // a file or the environment has the key, even if blank
}

// File is a properties file with its keys at hand.
type File struct {
	Name  string // as printed in messages
	Props []Property
	last  map[string]int    // key → index in Props of the one that counts
	from  map[string]string // key → name of the file that has it, where several were joined
}

// NewFile parses text. The error is a *SyntaxError.
func NewFile(name string, text []byte) (*File, error) {
	props, err := Parse(text)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Props: props, last: make(map[string]int, len(props))}
	for i, p := range props {
		f.last[p.Key] = i
	}
	return f, nil
}

// Get finds the property that counts for a key.
func (f *File) Get(key string) (Property, bool) {
	i, ok := f.last[key]
	if !ok {
		return Property{}, false
	}
	return f.Props[i], true
}

// At names the place of a property.
func (f *File) At(p Property) string {
	if from := f.from[p.Key]; from != "" {
		return fmt.Sprintf("%s:%d", from, p.Line)
	}
	return fmt.Sprintf("%s:%d", f.Name, p.Line)
}

// Join puts top on f: its keys outdo those of f, which are left out then. What is
// joined bears the name of top.
func Join(f, top *File) *File {
	joined := &File{Name: top.Name, last: map[string]int{}, from: map[string]string{}}
	for _, from := range []*File{f, top} {
		for _, p := range from.Props {
			if _, outdone := top.last[p.Key]; outdone && from == f {
				continue
			}
			joined.from[p.Key] = from.Name
			joined.last[p.Key] = len(joined.Props)
			joined.Props = append(joined.Props, p)
		}
	}
	return joined
}

// Source finds values by Canal's rules. There are two readers with different
// ones, Direct and Placeholder.
type Source struct {
	Env   func(string) (string, bool)
	Files []*File           // canal.properties, then instance.properties: the later replaces
	Fixed map[string]string // names that outdo everything, as Canal sets them itself
	Used  map[string]bool   // takes the names that placeholders asked for; may be nil
}

// Direct is the reader of server settings: the environment under exactly the
// key's name, even if empty, then the first file. There are no placeholders.
func (s *Source) Direct(key string) Setting {
	if v, ok := s.Env(key); ok {
		return Setting{Trim(v), Environment, true}
	}
	return s.First(key)
}

// First reads the first file alone.
func (s *Source) First(key string) Setting {
	if p, ok := s.Files[0].Get(key); ok {
		return Setting{Trim(p.Value), s.Files[0].At(p), true}
	}
	return Setting{}
}

// Placeholder is the reader of instance settings, what Canal makes of
// ${key:def}: the environment unless blank, then the last file that has the key,
// even if blank there, then def; and ${…} inside is expanded. The error is about
// placeholders and shows no value.
func (s *Source) Placeholder(key, def string) (Setting, error) {
	out := s.Raw(key)
	v := out.Value
	if v == "" {
		v = def
	}
	v, err := s.expand(v, []string{key})
	if err != nil {
		return out, err
	}
	out.Value = Trim(v)
	return out, nil
}

// Raw is the value that Placeholder expands, without a default.
func (s *Source) Raw(key string) Setting {
	if v, ok := s.Fixed[key]; ok && Trim(v) != "" {
		return Setting{Trim(v), "", true}
	}
	if v, ok := s.Env(key); ok && Trim(v) != "" {
		return Setting{Trim(v), Environment, true}
	}
	for i := len(s.Files) - 1; i >= 0; i-- {
		if p, ok := s.Files[i].Get(key); ok {
			return Setting{Trim(p.Value), s.Files[i].At(p), true}
		}
	}
	return Setting{}
}

// expand replaces every ${key:default} in v. trail holds the keys under
// expansion.
func (s *Source) expand(v string, trail []string) (string, error) {
	var out strings.Builder
	for {
		i := strings.Index(v, "${")
		if i < 0 {
			break
		}
		end := closing(v[i+2:])
		if end < 0 {
			break
		}
		inner, err := s.expand(v[i+2:i+2+end], trail)
		if err != nil {
			return "", err
		}
		value, err := s.lookup(inner, trail)
		if err != nil {
			return "", err
		}
		out.WriteString(v[:i])
		out.WriteString(value)
		if out.Len() > maxExpanded {
			return "", fmt.Errorf("the placeholders expand to more than %d bytes", maxExpanded)
		}
		v = v[i+2+end+1:]
	}
	out.WriteString(v)
	return out.String(), nil
}

// lookup is the value of what stands between ${ and }.
func (s *Source) lookup(inner string, trail []string) (string, error) {
	key, def, _ := strings.Cut(inner, ":")
	key = Trim(key)
	for _, k := range trail {
		if k == key {
			return "", fmt.Errorf("%w: %s → %s", ErrCycle, strings.Join(trail, " → "), key)
		}
	}
	if s.Used != nil {
		s.Used[key] = true
	}
	v := s.Raw(key).Value
	if v == "" {
		v = Trim(def)
	}
	return s.expand(v, append(trail[:len(trail):len(trail)], key))
}

// closing is the index of the brace that ends a placeholder, -1 for none.
// Braces inside it pair up.
func closing(v string) int {
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// Trim is Java's String.trim: everything up to U+0020 goes.
func Trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}

// Escape writes text, which is UTF-8, in the form of a properties file, which has
// no characters beyond Latin-1's first half but as \uXXXX.
func Escape(text string) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if c < utf8.RuneSelf {
			out = append(out, byte(c))
			continue
		}
		if n := len(out); n > 0 && endsInEscape(out) {
			out = out[:n-1] // a backslash before a character that needs none is dropped
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
