package properties

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// Property is one key of a properties file.
type Property struct {
	Key   string
	Value string // escapes resolved, not trimmed
	Line  int    // where the key begins, from 1
	// Mangled says that the value holds UTF-8 bytes, which the format takes for
	// ISO-8859-1: text outside ASCII has to be written as \uXXXX.
	Mangled bool
}

// SyntaxError is text that is not in the properties format.
type SyntaxError struct {
	Line int // from 1
	What string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Parse reads text in the format of Java's Properties.load: bytes are
// ISO-8859-1, # and ! begin comments, a key ends at the first unescaped =, : or
// blank, a backslash joins lines, \t \n \r \f \uXXXX are escapes and any other
// backslash is dropped. Properties come in file order, repeated keys included;
// as in Java the last one counts. A lone backslash as the last line is nothing
// (Java: an empty key), and a byte order mark of UTF-8, which some editors put in
// front, is no part of the first key. The error is a *SyntaxError.
func Parse(text []byte) ([]Property, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, &SyntaxError{1, "the file is in UTF-16: save it as ASCII, with \\uXXXX for other characters"}
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var out []Property
	r := lineReader{text: text, line: 1}
	for r.next() {
		p, err := splitLine(r.logical, r.start)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// lineReader joins natural lines into logical ones.
type lineReader struct {
	text    []byte
	pos     int
	line    int    // number of the natural line at pos
	logical []byte // the current logical line, escapes kept
	start   int    // where it begins
}

// next moves to the next logical line that is neither blank nor a comment.
func (r *lineReader) next() bool {
	r.logical = r.logical[:0]
	for r.pos < len(r.text) {
		r.skipBlanks()
		if len(r.logical) == 0 {
			r.start = r.line
			// A line joined to nothing but a backslash is still a new one, so
			// that it may be a comment: Java does the same.
			if r.pos < len(r.text) && (r.text[r.pos] == '#' || r.text[r.pos] == '!') {
				r.natural()
				continue
			}
		}
		part := r.natural()
		joined := endsInEscape(part)
		if joined {
			part = part[:len(part)-1]
		}
		r.logical = append(r.logical, part...)
		if len(r.logical) > 0 && !joined {
			return true
		}
	}
	return len(r.logical) > 0
}

func (r *lineReader) skipBlanks() {
	for r.pos < len(r.text) && isBlank(r.text[r.pos]) {
		r.pos++
	}
}

// natural takes the rest of the line, without its end.
func (r *lineReader) natural() []byte {
	from := r.pos
	for r.pos < len(r.text) && r.text[r.pos] != '\n' && r.text[r.pos] != '\r' {
		r.pos++
	}
	part := r.text[from:r.pos]
	if r.pos < len(r.text) {
		if r.text[r.pos] == '\r' && r.pos+1 < len(r.text) && r.text[r.pos+1] == '\n' {
			r.pos++
		}
		r.pos++
		r.line++
	}
	return part
}

// endsInEscape reports whether b ends in a backslash that is not itself escaped.
func endsInEscape(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

func splitLine(b []byte, line int) (Property, error) {
	end := 0
	for end < len(b) && b[end] != '=' && b[end] != ':' && !isBlank(b[end]) {
		if b[end] == '\\' {
			end++ // whatever follows belongs to the key
		}
		end++
	}
	end = min(end, len(b))
	from := end
	for separator := false; from < len(b); from++ {
		c := b[from]
		if !separator && (c == '=' || c == ':') {
			separator = true
		} else if !isBlank(c) {
			break
		}
	}
	key, err := unescape(b[:end], line)
	if err != nil {
		return Property{}, err
	}
	value, err := unescape(b[from:], line)
	if err != nil {
		return Property{}, err
	}
	return Property{Key: key, Value: value, Line: line, Mangled: mangled(b[from:])}, nil
}

// mangled reports whether b is UTF-8 with characters outside ASCII.
func mangled(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return utf8.Valid(b)
		}
	}
	return false
}

// unescape resolves escapes. It works on UTF-16 units, as Java does, because a
// character beyond U+FFFF is written as two \u escapes.
func unescape(b []byte, line int) (string, error) {
	units := make([]uint16, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := uint16(b[i])
		if c != '\\' || i+1 == len(b) {
			units = append(units, c)
			continue
		}
		i++
		switch b[i] {
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 'f':
			c = '\f'
		case 'u':
			u, ok := hex4(b[i+1:])
			if !ok {
				return "", &SyntaxError{line, `\u is not followed by four hexadecimal digits: write \uXXXX, or \\u for the text itself`}
			}
			c, i = u, i+4
		default:
			c = uint16(b[i])
		}
		units = append(units, c)
	}
	return string(utf16.Decode(units)), nil
}

func hex4(b []byte) (uint16, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var v uint16
	for _, c := range b[:4] {
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			d = c - 'A' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint16(d)
	}
	return v, true
}
