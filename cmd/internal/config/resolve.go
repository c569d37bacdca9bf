package config

import (
	"errors"
	"fmt"
	"strings"
)

// maxExpanded bounds what placeholders may make of one value.
const maxExpanded = 1 << 20

// errCycle says that a placeholder leads back to itself.
var errCycle = errors.New("the placeholders lead back to themselves")

// setting is the value of a key and where it was set.
type setting struct {
	value  string // trimmed, placeholders expanded where the reader does
	where  string // "file:line", "environment", or "" for a default
	set    bool   // some file or the environment has the key, even if blank
	origin Property
}

// source finds values by Canal's rules. There are two readers with different
// ones; which of them reads a key stands in the table of Keys.
type source struct {
	env   func(string) (string, bool)
	files []*file           // canal.properties, then instance.properties: the later replaces
	fixed map[string]string // names set by the process while an instance is built
	used  map[string]bool   // names that a placeholder asked for
}

// file is a properties file with its keys at hand.
type file struct {
	name  string // as printed in messages
	props []Property
	last  map[string]int // key → index in props of the one that counts
}

func newFile(name string, text []byte) (*file, error) {
	props, err := ParseProperties(text)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, props: props, last: make(map[string]int, len(props))}
	for i, p := range props {
		f.last[p.Key] = i
	}
	return f, nil
}

func (f *file) get(key string) (Property, bool) {
	i, ok := f.last[key]
	if !ok {
		return Property{}, false
	}
	return f.props[i], true
}

func (f *file) at(p Property) string { return fmt.Sprintf("%s:%d", f.name, p.Line) }

// direct is the reader of server settings: the environment under exactly the
// key's name, even if empty, then canal.properties, no placeholders.
func (s *source) direct(key string) setting {
	if v, ok := s.env(key); ok {
		return setting{value: trim(v), where: "environment", set: true}
	}
	if p, ok := s.files[0].get(key); ok {
		return setting{value: trim(p.Value), where: s.files[0].at(p), set: true, origin: p}
	}
	return setting{}
}

// placeholder is the reader of instance settings, what Canal makes of
// ${key:def}: the environment unless blank, then the last file that has the key,
// even if blank there, then def; and ${…} inside is expanded.
func (s *source) placeholder(key, def string) (setting, error) {
	out := s.raw(key)
	v := out.value
	if v == "" {
		v = def
		if !out.set {
			out.where = ""
		}
	}
	v, err := s.expand(v, []string{key})
	if err != nil {
		return out, err
	}
	out.value = trim(v)
	return out, nil
}

// raw is the value of key before expansion.
func (s *source) raw(key string) setting {
	if v, ok := s.fixed[key]; ok && trim(v) != "" {
		return setting{value: trim(v), set: true}
	}
	if v, ok := s.env(key); ok && trim(v) != "" {
		return setting{value: trim(v), where: "environment", set: true}
	}
	for i := len(s.files) - 1; i >= 0; i-- {
		if p, ok := s.files[i].get(key); ok {
			return setting{value: trim(p.Value), where: s.files[i].at(p), set: true, origin: p}
		}
	}
	return setting{}
}

// expand replaces every ${key:default} in v. trail holds the keys under
// expansion.
func (s *source) expand(v string, trail []string) (string, error) {
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
func (s *source) lookup(inner string, trail []string) (string, error) {
	key, def, _ := strings.Cut(inner, ":")
	key = trim(key)
	for _, k := range trail {
		if k == key {
			return "", fmt.Errorf("%w: %s → %s", errCycle, strings.Join(trail, " → "), key)
		}
	}
	if s.used != nil {
		s.used[key] = true
	}
	v := s.raw(key).value
	if v == "" {
		v = trim(def)
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

// trim is Java's String.trim: everything up to U+0020 goes.
func trim(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
}
