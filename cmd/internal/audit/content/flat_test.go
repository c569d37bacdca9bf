package content

import (
	"encoding/json"
	"errors"
	"testing"
)

// TestFlatOfWhatIsNoJSON: whatever somebody else wrote to a topic is an error, and neither the end of an audit nor its standstill.
func TestFlatOfWhatIsNoJSON(t *testing.T) {
	for _, text := range []string{
		``, ` `, `{`, `[`, `{"data":}`, `{"data":[}`, `{"data":[,]}`, `{"data":[1,}`, `{"data":["a\`, `{"data":[{"a":]}`, `{data:1}`, `{"data"`, `{"data":`,
		`{"data":[1],"old":[}}`, `{"data":[1],"old":[`, "\x00\x01",
	} {
		if rows, _, err := Flat([]byte(text)); !errors.Is(err, errJSON) {
			t.Errorf("%q: %d rows, %v", text, rows, err)
		}
	}
}

// FuzzFlat: any bytes come to an end, and JSON's own are read.
func FuzzFlat(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"1"},{"id":"2"}],"old":[{"id":"0"},null],"table":"t","id":7}`))
	f.Add([]byte(`{"data":[}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, _, err := Flat(text); err != nil && len(text) > 0 && text[0] == '{' && json.Valid(text) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
