package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// packets is an event as a server sends it: behind a zero byte, in packets of 2^24-1 bytes and a shorter one, which may be
// empty.
func packets(event []byte) []byte {
	var out []byte
	for body := append([]byte{0}, event...); ; {
		n := min(len(body), maxPayload)
		out = append(out, byte(n), byte(n>>8), byte(n>>16), 0)
		out = append(out, body[:n]...)
		body = body[n:]
		if n < maxPayload {
			return out
		}
	}
}

// TestPacketBoundary, case ML-03: events that fill their packets exactly, or by a byte more or less, and what follows them.
func TestPacketBoundary(t *testing.T) {
	event := func(size int) []byte {
		b := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		binary.LittleEndian.PutUint32(b[9:], uint32(size))
		return b
	}
	small := event(100)
	for _, size := range []int{maxPayload - 2, maxPayload - 1, maxPayload, 2*maxPayload - 1} {
		large := event(size)
		stream := append(packets(large), packets(small)...)
		p := NewPackets(bytes.NewReader(stream))
		for i, want := range [][]byte{large, small} {
			if got, err := p.Next(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("size %d, event %d: %d bytes, %v", size, i, len(got), err)
			}
		}
		if _, err := NewPackets(bytes.NewReader(stream[:len(stream)-len(small)-5-4])).Next(); size == maxPayload-1 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("size %d without what ends it: %v", size, err)
		}
		binary.LittleEndian.PutUint32(stream[4+1+9:], uint32(size+1))
		if _, err := NewPackets(bytes.NewReader(stream)).Next(); size > maxPayload-2 && !errors.Is(err, ErrBroken) {
			t.Errorf("size %d, and a byte more in the header: %v", size, err)
		}
	}
}

func TestSourceErrorIsOneLine(t *testing.T) {
	e := SourceError{Code: 1236, Message: "the set is 'a:1-5,\nb:7'"}
	if got, want := e.Error(), "source says 1236: the set is 'a:1-5, b:7'"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
