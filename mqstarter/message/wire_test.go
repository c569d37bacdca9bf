package message

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"testing"
)

// field is one of a message: a number or bytes.
type field struct {
	number int
	varint uint64
	bytes  []byte // nil for a number
}

func (f field) text() string {
	if f.bytes != nil {
		return string(f.bytes)
	}
	return fmt.Sprint(f.varint)
}

// fieldsOf reads a message.
func fieldsOf(t testing.TB, message string) []field {
	t.Helper()
	b, err := hex.DecodeString(message)
	if err != nil {
		t.Fatal(err)
	}
	var fields []field
	for len(b) > 0 {
		f := field{number: int(b[0] >> 3)}
		wire := b[0] & 7
		v, n := binary.Uvarint(b[1:])
		if n <= 0 || wire != 0 && wire != 2 {
			t.Fatalf("malformed message %s", message)
		}
		b = b[1+n:]
		if f.varint = v; wire == 2 {
			if v > uint64(len(b)) {
				t.Fatalf("field %d of %d bytes in a message that has %d more", f.number, v, len(b))
			}
			f.bytes, b = b[:v:v], b[v:]
		}
		fields = append(fields, f)
	}
	return fields
}

func TestCloseLength(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1 << 21} {
		for width := 1; width <= 4; width++ {
			body := make([]byte, n)
			for i := range body {
				body[i] = byte(i * 7)
			}
			got := append([]byte{1, 2}, make([]byte, width)...)
			got = closeLength(append(got, body...), 2, width)
			want := append(binary.AppendUvarint([]byte{1, 2}, uint64(n)), body...)
			if string(got) != string(want) {
				t.Errorf("%d bytes, %d kept free: got %d bytes, want %d", n, width, len(got), len(want))
			}
		}
	}
}
