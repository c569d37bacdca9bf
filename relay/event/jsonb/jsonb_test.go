package jsonb

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/event/charset"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	nested = "0003004300190001001a0001001b000200050100021d00002f0061626161040012000501000400000401000c10000178010014000b0001000b0c007a000000000000f83f"
	keys   = "00040027002000010021000100220002002400030005010005020005030005040062636161226b0a"
)

var vectors = []struct{ doc, text string }{
	{"", ""},
	{"040000", "null"}, {"040100", "true"}, {"040200", "false"},
	{"05ffff", "-1"}, {"06ffff", "65535"}, {"076079feff", "-100000"}, {"08ffffffff", "4294967295"},
	{"090000000000000080", "-9223372036854775808"}, {"0affffffffffffffff", "18446744073709551615"},
	{"0b000000000000f03f", "1.0"}, {"0b9a9999999999b93f", "0.1"}, {"0b408cb5781daf1544", "1.0E20"}, {"0bf168e388b5f8e43e", "1.0E-5"},
	{"0b0000000000000080", "-0.0"}, {"0b0000008087d63241", "1234567.5"}, {"0b000000d0298c6741", "1.23456785E7"}, {"0b0000000000004043", "9.007199254740992E15"},
	{"0c00", `""`}, {"0c1268c3a96c6c6f20e4b8ade6968720f09f9880", `"héllo 中文 😀"`},
	{"0c1e712220625c202f73200a0d09080c011f7fc280c2a0c2a1e280a8273c3e26", `"q\" b\\ /s \n\r\t\u0008\u000c\u0001\u001f\u007f\u0080\u00a0¡` + "\u2028" + `'<>&"`},
	{"0c03610062", `"a\u0000b"`}, {"0c02e978", "\"\uFFFDx\""},
	{"0000000400", "{}"}, {"0200000400", "[]"},
	{nested, `{"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5}}`},
	{keys, `{"b": 1, "c": 2, "aa": 3, "\"k\n": 4}`},
	{"0f0a0800000000001e9519", `"2015-01-15 00:00:00.000000"`}, {"0f0a080000000000000000", `"0000-00-00 00:00:00"`},
	{"0f0c08e02e0019761f9519", `"2015-01-15 23:24:25.012000"`}, {"0f0708c0d40119761f9519", `"2015-01-15 23:24:25.120000"`},
	{"0f0b080000001976010000", `"23:24:25.000000"`}, {"0f0b08e05ef87cefffffff", `"-01:02:03.500000"`},
	{"0f0b080000008340060000", `"100:02:03.000000"`}, {"0f0b080000000050060000", `"101:00:00.000000"`},
	{"0f0b08000000fb6e340000", `"838:59:59.000000"`}, {"0f0b080000000000000000", `"00:00:00"`},
	{"0ff60403028100", "1.00"}, {"0ff60403028132", "1.50"}, {"0ff60403027ecd", "-1.50"},
	{"0f0f046162c3a9", `"abé"`}, {"0ffc040001ff22", `"\u0000\u0001ÿ\""`}, {"0f100105", `"\u0005"`}, {"0ffe0178", `"x"`},
	{"00" + "01004a000b001400001f00" + hex.EncodeToString([]byte("internal_uri_rewrite")) + "01002b000b0017000c2200" +
		hex.EncodeToString([]byte(`(.*)(/[^/]+\.(mp|MP)4)$`)) + "08" + hex.EncodeToString([]byte("$1/mp4$2")),
		`{"internal_uri_rewrite": {"(.*)(/[^/]+\\.(mp|MP)4)$": "$1/mp4$2"}}`},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		text := strings.ReplaceAll(v.text, `"\"k`+"\n", `"\"k\n`)
		got, err := Append([]byte("x"), unhex(t, v.doc), Style{})
		if err != nil || string(got) != "x"+text {
			t.Errorf("%s is %s, %v, want %s", v.doc, got, err, text)
		}
	}
}

func TestStyle(t *testing.T) {
	if got, err := Append(nil, nil, Style{MySQL: true}); err != nil || string(got) != "null" {
		t.Errorf("no document: %q, %v", got, err)
	}
	if got, err := Append(nil, unhex(t, "0ff60403028100"), Style{CutTail: true}); err != nil || string(got) != "1.0" {
		t.Errorf("%s, %v, want 1.0", got, err)
	}
	// Opaque bytes are in connectionCharset, strings never.
	gbk := Style{Charset: charset.ByName("gbk")}
	if got, err := Append(nil, unhex(t, "0ffc04d6d0cec4"), gbk); err != nil || string(got) != `"中文"` {
		t.Errorf("%s, %v", got, err)
	}
	// Bytes that are no text in it keep their values.
	if got, err := Append(nil, unhex(t, "0ffc03d6ff41"), gbk); err != nil || string(got) != `"ÖÿA"` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := Append(nil, unhex(t, "0c03e4b8ad"), gbk); err != nil || string(got) != `"中"` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestBroken(t *testing.T) {
	deep := unhex(t, "040000")
	for range 101 { // an array of one array of …
		n := len(deep) - 1
		doc := []byte{3, 1, 0, 0, 0, byte(n + 13), byte((n + 13) >> 8), 0, 0, deep[0], 13, 0, 0, 0}
		deep = append(doc, deep[1:]...)
	}
	// Every element of every level points at the same array below.
	twice := unhex(t, "0200000400")
	for range 60 {
		n := len(twice) - 1
		doc := []byte{3, 2, 0, 0, 0, byte(n + 18), byte((n + 18) >> 8), 0, 0, twice[0], 18, 0, 0, 0, twice[0], 18, 0, 0, 0}
		twice = append(doc, twice[1:]...)
	}
	for name, doc := range map[string][]byte{
		"no bytes of an opaque value": unhex(t, "0ffc00"),
		"type":                        unhex(t, "0d00"),
		"literal":                     unhex(t, "040300"),
		"short number":                unhex(t, "0900"),
		"short text":                  unhex(t, "0c0561"),
		"endless length":              unhex(t, "0cffffffffffff"),
		"count":                       unhex(t, "02ffff0400"),
		"size":                        unhex(t, "020000ff00"),
		"key in the head":             unhex(t, "0001000c0000000100050100"),
		"element in the head":         unhex(t, "02010007000c0000"),
		"depth":                       deep,
		"overlap":                     twice,
		"date":                        unhex(t, "0f0a0100"),
	} {
		if got, err := Append(nil, doc, Style{}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %.60s, %v", name, got, err)
		}
	}
}

// Whatever the bytes: no panic, no reading outside, and a text bounded by them.
func FuzzAppend(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if text, err := Append(nil, doc[:len(doc):len(doc)], Style{MySQL: true}); err == nil && len(text) > 64*len(doc)+512 {
			t.Errorf("%d bytes of MySQL's text from %d", len(text), len(doc))
		}
		got, err := Append(nil, doc[:len(doc):len(doc)], Style{})
		if len(got) > 64*len(doc)+512 {
			t.Errorf("%d bytes from %d", len(got), len(doc))
		}
		// A server stores no infinite doubles and no numbers that are not.
		finite := !bytes.Contains(got, []byte("NaN")) && !bytes.Contains(got, []byte("Infinity"))
		if err == nil && len(doc) > 0 && finite && !json.Valid(got) {
			t.Errorf("%x is %s", doc, got)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	doc := unhex(t, nested)
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst, _ = Append(dst[:0], doc, Style{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	doc := unhex(b, nested)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = Append(dst[:0], doc, Style{})
	}
}
