package jsonb

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// difference writes one as the server does.
func difference(op byte, path, value string) string {
	d := []byte{op, byte(len(path))}
	d = append(d, path...)
	if op != removeOp {
		raw, _ := hex.DecodeString(value)
		d = append(append(d, byte(len(raw))), raw...)
	}
	return string(d)
}

func TestEdit(t *testing.T) {
	const one, text, object = "050100", "0c0178", "0001000c000b0001000501006b"
	// {"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5}}
	for _, test := range []struct{ diffs, want string }{
		{"", `{"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5}}`},
		{difference(0, "$.a", text), `{"a": "x", "b": [1, null, true, "x"], "aa": {"z": 1.5}}`},
		{difference(2, "$.b", ""), `{"a": 1, "aa": {"z": 1.5}}`},
		{difference(2, "$.b[0]", "") + difference(2, "$.b[2]", ""), `{"a": 1, "b": [null, true], "aa": {"z": 1.5}}`},
		{difference(1, "$.b[1]", text), `{"a": 1, "b": [1, "x", null, true, "x"], "aa": {"z": 1.5}}`},
		{difference(1, "$.b[9]", object), `{"a": 1, "b": [1, null, true, "x", {"k": 1}], "aa": {"z": 1.5}}`},
		{difference(0, "$.b[last]", text) + difference(2, "$.b[last-3]", "") + difference(1, "$.b[last]", one), `{"a": 1, "b": [null, true, 1, "x"], "aa": {"z": 1.5}}`},
		{difference(0, "$.a[0]", text) + difference(0, "$.aa[last].z", one), `{"a": "x", "b": [1, null, true, "x"], "aa": {"z": 1}}`},
		{difference(1, "$.ab", one), `{"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5}, "ab": 1}`},
		{difference(1, "$.Z", one), `{"Z": 1, "a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5}}`},
		{difference(1, `$.aa."a \"q\" é"`, one), `{"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5, "a \"q\" é": 1}}`},
		{difference(1, `$.aa.n`, object) + difference(0, "$.aa.n.k", text), `{"a": 1, "b": [1, null, true, "x"], "aa": {"n": {"k": "x"}, "z": 1.5}}`},
		{difference(0, "$", one), "1"},
	} {
		got, err := Edit(nil, unhex(t, nested), []byte(test.diffs))
		if err != nil {
			t.Errorf("%q: %v", test.diffs, err)
			continue
		}
		printed, err := Append(nil, got, Style{})
		if err != nil || string(printed) != test.want {
			t.Errorf("%q: %s, %v, want %s", test.diffs, printed, err, test.want)
		}
	}
}

func TestEditBroken(t *testing.T) {
	for name, diffs := range map[string]string{
		"operation":       difference(3, "$.a", "050100"),
		"no member":       difference(0, "$.none", "050100"),
		"member there":    difference(1, "$.a", "050100"),
		"no cell":         difference(2, "$.b[4]", ""),
		"no last cell":    difference(2, "$.b[last-4]", ""),
		"bad last cell":   difference(2, "$.b[last+1]", ""),
		"open cell":       difference(2, "$.b[last", ""),
		"cell of object":  difference(0, "$[1]", "050100"),
		"member of array": difference(0, "$.b.x", "050100"),
		"into a number":   difference(0, "$.a.x", "050100"),
		"no path":         difference(0, "a", "050100"),
		"root removed":    difference(2, "$", ""),
		"open quote":      difference(0, `$."a`, "050100"),
		"empty value":     difference(0, "$.a", ""),
		"value cut":       difference(0, "$.a", "0c0578"),
		"cut":             "\x00\x05$.a",
		"no length":       "\x00",
		"huge length":     "\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got, err := Edit(nil, unhex(t, nested), []byte(diffs)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	if _, err := Edit(nil, nil, []byte(difference(0, "$.a", "050100"))); !errors.Is(err, ErrFormat) {
		t.Errorf("no document: %v", err)
	}
}

// A document that grows beyond 64 KiB, at every level.
func TestEditLarge(t *testing.T) {
	doc := unhex(t, nested)
	big := strings.Repeat("y", 200)
	for i := range 1000 {
		key := string(rune('a'+i/100)) + string(rune('a'+i/10%10)) + string(rune('a'+i%10))
		value := append([]byte{stringValue, 0xc8, 0x01}, big...)
		diff := append([]byte{insertOp, byte(len("$.aa." + key))}, "$.aa."+key...)
		diff = append(append(diff, byte(len(value))), value...)
		var err error
		if doc, err = Edit(nil, doc, diff); err != nil {
			t.Fatal(err)
		}
	}
	text, err := Append(nil, doc, Style{})
	if err != nil || bytes.Count(text, []byte(big)) != 1000 || !bytes.HasPrefix(text, []byte(`{"a": 1, "b": [1, null, true, "x"], "aa": {"z": 1.5, "aaa": "yyy`)) {
		t.Errorf("%d bytes, %v: %.100s", len(text), err, text)
	}
}

// Whatever the bytes: no panic, no reading outside; what comes out is a document.
func FuzzEdit(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.doc), []byte(difference(0, "$.a", "0c0178")+difference(2, "$.b[0]", "")))
	}
	f.Fuzz(func(t *testing.T, doc, diffs []byte) {
		if _, err := Append(nil, doc, Style{}); err != nil || len(doc) == 0 {
			return
		}
		got, err := Edit(nil, doc[:len(doc):len(doc)], diffs[:len(diffs):len(diffs)])
		if err != nil || len(diffs) == 0 {
			return
		}
		if len(got) > 64*(len(doc)+len(diffs))+512 {
			t.Errorf("%d bytes from %d and %d", len(got), len(doc), len(diffs))
		}
	})
}

// The server's own text: what SELECT shows for these.
func TestServerText(t *testing.T) {
	for doc, want := range map[string]string{
		"0b000000000000f03f": "1.0", "0b408cb5781daf1544": "1e20", "0bf168e388b5f8e43e": "0.00001", "0b0000000000000080": "-0.0",
		"0b0000000000004043": "9.007199254740992e15", "0b000000d0298c6741": "12345678.5", "0b9a9999999999b93f": "0.1",
		"0f0a0800000000001e9519": `"2015-01-15"`, "0f0a080000000000000000": `"0000-00-00"`,
		"0f0c08e02e0019761f9519": `"2015-01-15 23:24:25.012000"`, "0f0c080000000000000000": `"0000-00-00 00:00:00.000000"`,
		"0f0b080000001976010000": `"23:24:25.000000"`, "0f0b08e05ef87cefffffff": `"-01:02:03.500000"`, "0f0b080000000000000000": `"00:00:00.000000"`,
		"0f0f0300ff41": `"base64:type15:AP9B"`, "0f100105": `"base64:type16:BQ=="`, "0ff60403028100": "1.00",
		"0c08080c01097fc2a022": `"\b\f\u0001\t` + "\x7f\u00a0" + `\""`,
	} {
		got, err := Append(nil, unhex(t, doc), Style{MySQL: true, CutTail: true})
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", doc, got, err, want)
		}
	}
}
