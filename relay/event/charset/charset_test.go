package charset

import (
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What Java makes of malformed UTF-8.
func TestMalformedUTF8(t *testing.T) {
	for raw, want := range map[string]string{
		"80": "?", "c3": "?", "c328": "?(", "e0a0": "?", "e080af": "???", "eda080": "?", "edbfbf": "?", "eda081edb080": "??",
		"f09f98": "?", "f08080af": "????", "f4908080": "????", "f8888080": "????", "fe": "?", "ff": "?", "c0af": "??", "c1bf": "??",
		"e4b8": "?", "e4b841": "?A", "f09f41": "?A", "f09f9841": "?A", "61e962": "a?b", "c4e3bac3": "???", "d6d0cec4": "????",
		"": "", "61": "a", "f09f9880": "😀", "eda041": "?A", "f5808080": "????",
	} {
		want = strings.ReplaceAll(want, "?", "\uFFFD")
		if got := string(UTF8MB4.Append(nil, unhex(t, raw))); got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}

// Codes that the servers wrote and read; the last ones are where their tables
// differ from the web's.
func TestSets(t *testing.T) {
	for _, c := range []struct{ set, raw, want string }{
		{"latin1", "68e96c6c6f80ff81", "héllo€ÿ\u0081"},
		{"gbk", "b8d6b1ca61", "钢笔a"},
		{"gb2312", "d6d0cec4", "中文"},
		{"gb18030", "d6d09439cc39", "中🐣"},
		{"big5", "bb4fc6577a", "臺灣z"},
		{"sjis", "834a835e834a8369b1", "カタカナｱ"},
		{"cp932", "8740fa40", "①ⅰ"},
		{"ujis", "c6fccbdc8eb1", "日本ｱ"},
		{"eucjpms", "ada1", "①"},
		{"euckr", "c7d1b1db", "한글"},
		{"utf16", "0068d83dde0000e9", "h😀é"},
		{"utf16", "d83d0041", "\uFFFDA"},
		{"utf16", "004100", "A\uFFFD"},
		{"utf16le", "68003dd800de", "h😀"},
		{"utf32", "0000006800 01f600", "h😀"},
		{"utf32", "0011000000000041", "\uFFFDA"},
		{"ucs2", "4e2d6587", "中文"},
		{"cp1251", "cff0e8e2e5f2", "Привет"},
		{"koi8r", "f0d2c9d7c5d4", "Привет"},
		{"koi8u", "a4a6", "єі"},
		{"latin2", "b1e6", "ąć"},
		{"greek", "e1e2", "αβ"},
		{"hebrew", "f9ec", "של"},
		{"tis620", "a1a2", "กข"},
		{"swe7", "5b5c5d", "ÄÖÅ"},
		{"dec8", "d7", "Œ"},
		{"binary", "00ff", "\u0000ÿ"},
		{"ascii", "61ff", "a\uFFFD"},
		{"big5", "a145", "•"},
		{"sjis", "815f8160", `\〜`},
		{"gb2312", "a1a4", "・"},
		{"gbk", "ff41", "\uFFFDA"},
		{"gbk", "61d6", "a\uFFFD"},
		{"sjis", "8120", "\uFFFD "},
	} {
		s := ByName(c.set)
		if s == nil {
			t.Errorf("no set %s", c.set)
			continue
		}
		if got := string(s.Append([]byte("x"), unhex(t, strings.ReplaceAll(c.raw, " ", "")))); got != "x"+c.want {
			t.Errorf("%s %s is %q, want %q", c.set, c.raw, got, c.want)
		}
		if s.Name() != c.set {
			t.Errorf("%s is called %s", c.set, s.Name())
		}
	}
}

// What servers show of codes that they take and that have no character, where
// the style `canal` has what Java makes of them.
func TestCodesWithoutCharacter(t *testing.T) {
	for _, c := range []struct{ set, raw, canal, shown string }{
		{"gbk", "d6d0a2a061", "中\uFFFDa", "中?a"},
		{"gbk", "fe58", "\uFFFDX", "?"},
		{"gbk", "d661", "謅", "謅"},
		{"big5", "c8fe7a", "\uFFFDz", "?z"},
		{"big5", "a15a", "\uFFFD", "\uFFFD"}, // the server's own choice
		{"sjis", "87407a", "\uFFFD@z", "?z"},
		{"cp932", "8540", "\uFFFD@", "?"},
		{"ujis", "a9a18fa2a1", "\uFFFD\uFFFD", "??"},
		{"euckr", "c9a1", "\uFFFD", "?"},
		{"gb2312", "aaa1a2a1", "\uFFFD\uFFFD", "??"},
		{"gb18030", "fe39fe3961", "\uFFFDa", "?a"},
		{"gb18030", "8431a4378135f437", "\uFFFD\ue7c7", "\uFFFD\ue7c7"},
		{"greek", "d2ff", "\uFFFD\uFFFD", "??"},
		{"hebrew", "a161", "\uFFFDa", "?a"},
		{"ascii", "61ff62", "a\uFFFDb", "a?b"},
		{"tis620", "ff", "\uFFFD", "\uFFFD"},
		{"latin1", "81", "\u0081", "\u0081"},
		{"ucs2", "d8000041", "\uFFFDA", "\uFFFDA"}, // shown as a lone surrogate, which is not UTF-8
		{"utf8mb4", "eda08041", "\uFFFDA", "\uFFFDA"},
	} {
		s, raw := ByName(c.set), unhex(t, c.raw)
		if got := string(s.Append(nil, raw)); got != c.canal {
			t.Errorf("%s %s is %q, want %q", c.set, c.raw, got, c.canal)
		}
		if got := string(s.AppendShown(nil, raw)); got != c.shown {
			t.Errorf("%s %s is shown as %q, want %q", c.set, c.raw, got, c.shown)
		}
	}
}

func TestByName(t *testing.T) {
	for name, want := range map[string]string{
		"UTF-8": "utf8mb4", "UTF8MB4": "utf8mb4", "utf8": "utf8mb4", "GBK": "gbk", "ISO-8859-1": "binary", "windows-1252": "latin1",
		"Shift_JIS": "sjis", "GB18030": "gb18030", "ISO-8859-2": "latin2", "US-ASCII": "ascii", "KOI8-R": "koi8r", "UTF8MB3": "utf8mb3",
	} {
		if s := ByName(name); s == nil || s.Name() != want {
			t.Errorf("%s: %v, want %s", name, s, want)
		}
	}
	if ByName("klingon") != nil || ByName("") != nil {
		t.Error("a set that does not exist was found")
	}
	for _, target := range aliases {
		if sets[target] == nil {
			t.Errorf("an alias of %s", target)
		}
	}
}

func TestByCollation(t *testing.T) {
	for id, want := range map[uint64]string{
		1: "big5", 8: "latin1", 28: "gbk", 33: "utf8mb3", 35: "ucs2", 45: "utf8mb4", 54: "utf16", 56: "utf16le", 60: "utf32", 63: "binary",
		83: "utf8mb3", 95: "cp932", 99: "cp1250", 101: "utf16", 151: "ucs2", 183: "utf32", 192: "utf8mb3", 224: "utf8mb4", 248: "gb18030",
		255: "utf8mb4", 323: "utf8mb4", 576: "utf8mb3", 608: "utf8mb4", 1032: "latin1", 1069: "utf8mb4", 1270: "utf8mb4",
		2048: "utf8mb3", 2304: "utf8mb4", 2503: "utf8mb4", 2560: "ucs2", 2816: "utf16", 3271: "utf32",
	} {
		if s := ByCollation(id); s == nil || s.Name() != want {
			t.Errorf("collation %d: %v, want %s", id, s, want)
		}
	}
	for _, id := range []uint64{0, 17, 100, 324, 500, 3328, 1 << 40} {
		if s := ByCollation(id); s != nil {
			t.Errorf("collation %d is %s", id, s.Name())
		}
	}
}

// Every set turns any bytes into well-formed UTF-8.
func FuzzAppend(f *testing.F) {
	f.Add([]byte("a\x8f\xa2\xb7\xed\xa0\x80\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, s := range sets {
			got := s.Append(nil, raw)
			if !utf8.Valid(got) || len(got) > 4*len(raw)+4 {
				t.Errorf("%s %x is %x", name, raw, got)
			}
			if shown := s.AppendShown(nil, raw); !utf8.Valid(shown) || len(shown) > 4*len(raw)+4 {
				t.Errorf("%s %x is shown as %x", name, raw, shown)
			}
			if s.UTF8() && utf8.Valid(raw) && string(got) != string(raw) {
				t.Errorf("%s %x is %x", name, raw, got)
			}
		}
	})
}

func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, 256)
	gbk, latin1 := ByName("gbk"), ByName("latin1")
	text := []byte("some text with \xd6\xd0\xce\xc4 in it")
	if n := testing.AllocsPerRun(100, func() {
		dst = UTF8MB4.Append(dst[:0], text)
		dst = latin1.Append(dst, text)
		dst = gbk.Append(dst, text)
		dst = gbk.AppendShown(dst, text)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
