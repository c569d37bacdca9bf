package lex

import "strings"

// SplitStatements cuts a script, such as a dump, into its statements, without
// the delimiters between them. It knows the client's DELIMITER command.
func SplitStatements(text string) []string {
	s := splitter{Lexer: Lexer{s: text}, delimiter: ";"}
	for s.i < len(s.s) {
		if !s.command() {
			s.statement()
		}
	}
	return s.found
}

type splitter struct {
	Lexer
	delimiter string
	found     []string
}

// command takes a DELIMITER line.
func (s *splitter) command() bool {
	for s.i < len(s.s) && isSpace(s.s[s.i]) {
		s.i++
	}
	line, _, _ := strings.Cut(s.s[s.i:], "\n")
	words := strings.Fields(line)
	if len(words) < 2 || !strings.EqualFold(words[0], "DELIMITER") {
		return false
	}
	s.delimiter = words[1]
	s.i += len(line)
	return true
}

// statement takes the text up to the delimiter. Quoted pieces and comments hide
// it.
func (s *splitter) statement() {
	start := s.i
	for s.i < len(s.s) {
		if strings.HasPrefix(s.s[s.i:], s.delimiter) {
			s.add(s.s[start:s.i])
			s.i += len(s.delimiter)
			return
		}
		switch c := s.s[s.i]; {
		case c == '\'' || c == '"' || c == '`':
			s.quoted(c, c != '`')
		case c == '#' || c == '/' || c == '-':
			s.hidden()
		default:
			s.i++
		}
	}
	s.add(s.s[start:])
}

// hidden passes over a comment, executable ones included, or over one byte.
func (s *splitter) hidden() {
	if s.s[s.i] == '/' && s.at(1) == '*' {
		n := strings.Index(s.s[s.i+2:], "*/")
		if n < 0 {
			n = len(s.s) - s.i - 4
		}
		s.i += n + 4
		return
	}
	was := s.i
	if s.s[s.i] != '/' {
		s.blank()
	}
	if s.i == was {
		s.i++
	}
}

func (s *splitter) add(statement string) {
	if statement = strings.TrimSpace(statement); statement != "" {
		s.found = append(s.found, statement)
	}
}
