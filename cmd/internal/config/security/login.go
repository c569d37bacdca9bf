package security

import (
	"errors"
	"fmt"
	"strings"
)

// Login is one login module of JAAS with its options. It may hold secrets.
type Login struct {
	Module  string // the class
	Options map[string]string
}

// Is reports whether the module is the class of that name, whatever its package.
func (l Login) Is(class string) bool {
	return l.Module == class || strings.HasSuffix(l.Module, "."+class)
}

// On reports whether an option is true.
func (l Login) On(option string) bool { return strings.EqualFold(l.Options[option], "true") }

// ParseLogin reads a login module as it stands in sasl.jaas.config:
//
//	class flag name="value" …;
//
// The errors do not show the text.
func ParseLogin(text string) (Login, error) {
	s := scanner{rest: text}
	s.next()
	l, err := s.login()
	if err == nil && s.token != "" {
		err = errors.New("it must be one login module, with a semicolon at its end")
	}
	return l, err
}

// ParseLoginFile reads the first login module of a section of a JAAS file:
//
//	section { class flag name="value" …; };
//
// The errors do not show the text.
// Grammar: https://docs.oracle.com/en/java/javase/17/docs/api/java.base/javax/security/auth/login/Configuration.html
func ParseLoginFile(text, section string) (Login, error) {
	s := scanner{rest: text}
	s.next()
	for s.token != "" {
		name := s.token
		if s.next(); s.token != "{" || s.quoted {
			return Login{}, errors.New("a section of the file does not begin with a name and {")
		}
		s.next()
		var first *Login
		for s.token != "}" {
			l, err := s.login()
			if err != nil {
				return l, fmt.Errorf("section %s: %w", name, err)
			}
			if first == nil {
				first = &l
			}
		}
		if s.next(); s.token != ";" {
			return Login{}, fmt.Errorf("section %s does not end with };", name)
		}
		s.next()
		if name == section && first != nil {
			return *first, nil
		}
	}
	return Login{}, fmt.Errorf("there is no section %s", section)
}

// scanner cuts a JAAS text into words, quoted texts and the signs { } ; =.
type scanner struct {
	rest   string
	token  string // empty at the end
	quoted bool
	failed bool // a quotation mark is missing
}

const signs = "{};="

func (s *scanner) next() {
	s.skip()
	s.token, s.quoted = "", false
	switch {
	case s.rest == "":
	case s.rest[0] == '"' || s.rest[0] == '\'':
		s.quote(s.rest[0])
	case strings.ContainsRune(signs, rune(s.rest[0])):
		s.token, s.rest = s.rest[:1], s.rest[1:]
	default:
		n := strings.IndexFunc(s.rest, func(c rune) bool { return c <= ' ' || strings.ContainsRune(signs+`"'`, c) })
		if n < 0 {
			n = len(s.rest)
		}
		s.token, s.rest = s.rest[:n], s.rest[n:]
	}
}

// skip skips blanks and comments.
func (s *scanner) skip() {
	for {
		s.rest = strings.TrimLeftFunc(s.rest, func(c rune) bool { return c <= ' ' })
		end := ""
		switch {
		case strings.HasPrefix(s.rest, "//") || strings.HasPrefix(s.rest, "#"):
			end = "\n"
		case strings.HasPrefix(s.rest, "/*"):
			end = "*/"
		default:
			return
		}
		_, s.rest, _ = strings.Cut(s.rest, end)
	}
}

func (s *scanner) quote(mark byte) {
	s.quoted = true
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == mark:
			s.token, s.rest = b.String(), s.rest[i+1:]
			return
		case c == '\\' && i+1 < len(s.rest):
			i++
			b.WriteByte(s.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	s.rest, s.failed = "", true
}

// login reads one module from its class to its semicolon.
func (s *scanner) login() (Login, error) {
	l := Login{Module: s.token, Options: map[string]string{}}
	if l.Module == "" || strings.Contains(signs, l.Module) {
		return l, errors.New("the class of a login module is missing")
	}
	s.next()
	switch strings.ToLower(s.token) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return l, errors.New("behind the class of a login module required is missing")
	}
	for s.next(); s.token != ";" || s.quoted; s.next() {
		name := s.token
		s.next()
		if s.token != "=" || s.quoted || name == "" {
			return l, errors.New(`the options of a login module must be name="value" with a semicolon at their end`)
		}
		s.next()
		if s.failed || !s.quoted && (s.token == "" || strings.Contains(signs, s.token)) {
			return l, fmt.Errorf("option %s has no value, or its quotation mark is not closed", name)
		}
		l.Options[name] = s.token
	}
	s.next()
	return l, nil
}
