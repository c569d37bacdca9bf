package lex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cut writes the tokens of a text, a bar between them.
func cut(text string, o Options) string {
	l := New(text, o)
	var all []string
	for t := l.Next(); t.Kind != End; t = l.Next() {
		all = append(all, t.Text)
	}
	if l.Err() != "" {
		all = append(all, "! "+l.Err())
	}
	return strings.Join(all, "|")
}

func TestTokens(t *testing.T) {
	ansi, plain := Options{SQLMode: ANSIQuotes}, Options{SQLMode: NoBackslashEscapes}
	for _, c := range []struct {
		text, want string
		o          Options
	}{
		{text: "a.`b``c`,d", want: "a|.|`b``c`|,|d"},
		{text: "1 1.5 1e-3 1.e 1st 0x1F t.1e5", want: "1|1.5|1e-3|1|.|e|1st|0x1F|t|.|1e5"},
		{text: `'it''s' "x""y" 'a\'b'`, want: `'it''s'|"x""y"|'a\'b'`},
		{text: `'a\' b`, want: `'a\'|b`, o: plain},
		{text: `"a\" b`, want: `"a\"|b`, o: ansi},
		{text: "a-- b\nc --d\n#e\nf", want: "a|c|-|-|d|f"},
		{text: "a--", want: "a"},
		{text: "/* x ' */a/*!*/b/*+ hint */c", want: "a|b|c"},
		{text: "/*!99999 a /* b */ c */ d", want: "d"},
		{text: "/*!50000 a */ b */", want: "a|b|*|/"},
		{text: "表名 $x _y", want: "表名|$x|_y"},
		{text: "'open", want: "! a quote is not closed"},
		{text: "a /* open", want: "a|! a comment is not closed"},
	} {
		if got := cut(c.text, c.o); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestUnescape(t *testing.T) {
	for lit, want := range map[string]string{
		`'a''b'`: "a'b", `"a""b"`: `a"b`, `'a\'b'`: "a'b", `'\\'`: `\`, `'\n\t\r\b\0\Z'`: "\n\t\r\b\x00\x1a", `'\%\_\x'`: `\%\_x`, `'\'''`: "''",
	} {
		if got := (Options{}).Unescape(lit); got != want {
			t.Errorf("%s: %q, want %q", lit, got, want)
		}
	}
	if got := (Options{SQLMode: NoBackslashEscapes}).Unescape(`'a\n'`); got != `a\n` {
		t.Errorf("without escapes: %q", got)
	}
}

func TestSplitStatements(t *testing.T) {
	got := SplitStatements("-- dump; of\nCREATE TABLE `a;b` (i INT DEFAULT ';'); # x;y\nUSE d;;\nDELIMITER $$\nCREATE TRIGGER x BEGIN a; b; END$$\n" +
		"delimiter ;\n/*!40101 SET x=1; */;\nDROP TABLE `a`\n")
	want := []string{
		"-- dump; of\nCREATE TABLE `a;b` (i INT DEFAULT ';')", "# x;y\nUSE d", "CREATE TRIGGER x BEGIN a; b; END",
		"/*!40101 SET x=1; */", "DROP TABLE `a`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
