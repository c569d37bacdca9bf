package properties

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []Property
	}{
		{"separators", "a=1\nb:2\nc 3\nd\t=\t4\ne : 5\nf", []Property{
			{"a", "1", 1, false}, {"b", "2", 2, false}, {"c", "3", 3, false}, {"d", "4", 4, false}, {"e", "5", 5, false}, {"f", "", 6, false}}},
		{"only the first separator counts", "a = = b\nc==d\ne : = f", []Property{
			{"a", "= b", 1, false}, {"c", "=d", 2, false}, {"e", "= f", 3, false}}},
		{"a regular expression needs two backslashes", `r = .*\\..*` + "\n" + `s = .*\..*`, []Property{
			{"r", `.*\..*`, 1, false}, {"s", `.*..*`, 2, false}}},
		{"escapes", `k\ e\=y\:\# = \t\n\r\f\z\"` + "\n" + `u=\u4e2D\u00e9\ud83d\ude00`, []Property{
			{"k e=y:#", "\t\n\r\fz\"", 1, false}, {"u", "中é😀", 2, false}}},
		{"comments", "# a=1\n  ! b=2\nc=3 # not a comment\n", []Property{{"c", "3 # not a comment", 3, false}}},
		{"continuation", "a = 1,\\\n   2,\\\r\n\t3\nb=4", []Property{{"a", "1,2,3", 1, false}, {"b", "4", 4, false}}},
		{"an even number of backslashes does not continue", "a=1\\\\\nb=2", []Property{{"a", "1\\", 1, false}, {"b", "2", 2, false}}},
		{"a blank line ends a continuation", "a=1\\\n\nb=2", []Property{{"a", "1", 1, false}, {"b", "2", 3, false}}},
		{"a joined line is not a comment", "a=1\\\n#2\n", []Property{{"a", "1#2", 1, false}}},
		{"unless nothing stands before it", "\\\n# c\nb=2", []Property{{"b", "2", 3, false}}},
		{"backslash at the end of the text", "a=1\\", []Property{{"a", "1", 1, false}}},
		{"line ends", "a=1\rb=2\r\n\r\n\nc=3\n", []Property{{"a", "1", 1, false}, {"b", "2", 2, false}, {"c", "3", 5, false}}},
		{"trailing blanks stay", "a = b \t\n", []Property{{"a", "b \t", 1, false}}},
		{"no key", "= v\n", []Property{{"", "v", 1, false}}},
		{"repeated", "a=1\na=2\n", []Property{{"a", "1", 1, false}, {"a", "2", 2, false}}},
		{"bytes are ISO-8859-1", "a=\xe9", []Property{{"a", "é", 1, false}}},
		{"UTF-8 is noticed", "a=é", []Property{{"a", "Ã©", 1, true}}},
		{"empty", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseBadEscape(t *testing.T) {
	for _, text := range []string{"a=1\nb=\\\n\\u12", "a=1\nb=\\u12G4", "a=1\n\\uz=1"} {
		_, err := Parse([]byte(text))
		var se *SyntaxError
		if !errors.As(err, &se) || se.Line != 2 {
			t.Errorf("%q: %v, want a syntax error in line 2", text, err)
		}
	}
}

// FuzzParse checks that any text is read or refused, and that what
// was read, written with every character escaped, reads the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=1", "a = \\\n b", "\\u00e9:x", "#c\r\nk v", "a\\=b=c\\", "\\\\\\\n="} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Parse(text)
		if err != nil {
			return
		}
		var b strings.Builder
		line := 0
		for _, p := range got {
			if p.Line < line {
				t.Fatalf("line %d after line %d", p.Line, line)
			}
			line = p.Line
			b.WriteString(escapeAll(p.Key) + "=" + escapeAll(p.Value) + "\n")
		}
		again, err := Parse([]byte(b.String()))
		if err != nil || len(again) != len(got) {
			t.Fatalf("%d properties, then %d (%v)", len(got), len(again), err)
		}
		for i := range got {
			if got[i].Key != again[i].Key || got[i].Value != again[i].Value {
				t.Fatalf("%q=%q became %q=%q", got[i].Key, got[i].Value, again[i].Key, again[i].Value)
			}
		}
	})
}

// escapeAll writes s with every character as a \uXXXX escape.
func escapeAll(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, "\\u%04x", u)
	}
	return b.String()
}

// What editors of other systems put in front is not taken for a part of the first key.
func TestByteOrderMarks(t *testing.T) {
	got, err := Parse([]byte("\xef\xbb\xbfcanal.port = 1\r\ncanal.ip = x\r\n"))
	if err != nil || len(got) != 2 || got[0].Key != "canal.port" || got[0].Value != "1" || got[1].Value != "x" {
		t.Errorf("UTF-8: %+v, %v", got, err)
	}
	for _, text := range []string{"\xff\xfea\x00=\x00b\x00", "\xfe\xff\x00a\x00=\x00b"} {
		if got, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 1: the file is in UTF-16") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
