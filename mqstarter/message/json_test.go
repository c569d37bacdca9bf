package message

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	tests := map[string]string{
		"": `""`,
		"a\"b\\c/\n\t\r\b\f\x01\x1f\x7f<>&'\u2028é中😀": `"a\"b\\c/\n\t\r\b\f\u0001\u001f` + "\x7f<>&'\u2028é中😀\"",
		"\x00":               `"\u0000"`,
		"\u0080\u009f":       "\"\u0080\u009f\"",
		"bad\xffend":         "\"bad\ufffdend\"",
		"12345678\"":         `"12345678\""`,
		"1234567\"1234567\\": `"1234567\"1234567\\"`,
	}
	for s, want := range tests {
		if got := string(appendString(nil, s)); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

// Each byte at each place of a word, against the plain rule.
func TestClean(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			s := strings.Repeat("x", at) + string([]byte{byte(c)}) + strings.Repeat("\x7f", 20-at)
			want := len(s)
			if c < 0x20 || c == '"' || c == '\\' {
				want = at
			}
			if got := clean([]byte(s)); got != want {
				t.Fatalf("byte %#x at %d: got %d", c, at, got)
			}
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\x00\xff中")
	f.Fuzz(func(t *testing.T, s string) {
		got := appendString([]byte("x"), s)
		var back string
		if err := json.Unmarshal(got[1:], &back); err != nil || back != string([]rune(s)) || !utf8.Valid(got) {
			t.Errorf("%q gave %s: %v", s, got, err)
		}
	})
}

func BenchmarkAppendEscaped(b *testing.B) {
	s := []byte(strings.Repeat("a plain text of some length ", 4))
	b.SetBytes(int64(len(s)))
	var dst []byte
	for b.Loop() {
		dst = appendEscaped(dst[:0], s)
	}
}
