package column

import (
	"bytes"
	"compress/flate"
	"encoding/hex"
	"errors"
	"testing"
)

// Values as a MariaDB with mysql56_temporal_format=OFF logs them.
func TestHires(t *testing.T) {
	for _, c := range []struct {
		raw  string
		f    int
		text func(dst, raw []byte, f int) ([]byte, error)
		want string
	}{
		{"00000001", 1, AppendHiresTime, "-838:59:59.9"},
		{"1200c3b4", 2, AppendHiresTime, "-00:00:00.12"},
		{"00b6bad215", 3, AppendHiresTime, "12:34:56.789"},
		{"02be5ff6033c", 6, AppendHiresTime, "-01:02:03.000004"},
		{"00a96298ed78", 1, AppendHiresDatetime, "2024-01-02 03:04:05.6"},
		{"0146eb8f4a9801", 4, AppendHiresDatetime, "1000-01-01 00:00:00.0001"},
		{"0102761299501346", 6, AppendHiresDatetime, "2024-01-02 03:04:05.000006"},
		{"000000000000", 2, AppendHiresDatetime, "0000-00-00 00:00:00.00"},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.text(nil, raw, c.f); err != nil || string(got) != c.want {
			t.Errorf("%s(%d) is %s, %v, want %s", c.raw, c.f, got, err, c.want)
		}
		if got, err := c.text(nil, raw[1:], c.f); !errors.Is(err, ErrValue) {
			t.Errorf("%s cut is %s, %v", c.raw, got, err)
		}
	}
	raw, _ := hex.DecodeString("65937d2543")
	if got, err := AppendHiresTimestamp(nil, raw, 2, nil); err != nil || string(got) != "2024-01-02 03:04:05.67" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := AppendHiresTimestamp(nil, raw, 3, nil); !errors.Is(err, ErrValue) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestInflated(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "00": "", "007374": "st", "89644b4c4aa4390400": string(bytes.Repeat([]byte("ab"), 50)),
	} {
		b, _ := hex.DecodeString(raw)
		if got, err := AppendInflated([]byte("x"), b); err != nil || string(got) != "x"+want {
			t.Errorf("%s is %q, %v", raw, got, err)
		}
	}
	for name, raw := range map[string]string{
		"method": "19644b4c4aa4390400", "no length": "89", "short": "89654b4c4aa4390400", "long": "89634b4c4aa4390400",
		"cut": "89644b4c4a", "no stream": "8964ffff", "no zlib head": "81644b4c4aa4390400", "wide length": "8f00000000000000644b",
	} {
		b, _ := hex.DecodeString(raw)
		if got, err := AppendInflated(nil, b); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Whatever the bytes: no panic, and a value bounded by the length it begins with.
func FuzzInflated(f *testing.F) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, 9)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("a"), 200)); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte{0x89, 200}, packed.Bytes()...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := AppendInflated(nil, raw)
		if err == nil && len(got) > 1100*len(raw)+16 {
			t.Errorf("%d bytes from %d", len(got), len(raw))
		}
	})
}
