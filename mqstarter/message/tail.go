package message

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/canal-relay/canal-relay/relay/event"
)

// Place is a partition of a topic.
type Place struct {
	Topic     string
	Partition int32
}

// Tail is what the last record of a destination in a place says of itself.
type Tail struct {
	Found bool
	Empty bool  // not found, and the place holds no record at all
	Err   error // not found: why the place could not be read

	Tx    string // r-pos
	Row   uint64 // r-row
	Epoch int64  // r-epoch; -1 without one
	Time  time.Time
	Value []byte
}

// Entry is one entry in the value of a protobuf record: what it holds, and
// where it ends.
type Entry struct {
	End  int // in the value
	Tx   []byte
	Row  uint64     // as in r-row
	Kind event.Kind // Begin, End, or 0 for all others
}

// Without is the value of a record without its first n entries, which are some
// of all. id is the batch's number.
func (p Packet) Without(value []byte, entries []Entry, n int, id uint64) []byte {
	rest := value[entries[n-1].End:]
	return append(p.AppendPacket(make([]byte, 0, PacketOverhead+len(rest)), id, len(rest)), rest...)
}

var errPacket = errors.New("not a record of Canal's protobuf form")

// LastKind is the kind, as in Entry, of the last entry in a record's value.
func (Packet) LastKind(value []byte) (kind event.Kind, err error) {
	var body, frame, entry []byte
	var number uint64
	err = errors.Join(
		fields(value, func(tag byte, _ uint64, b []byte) { body = pickTag(tag, 0x2a, b, body) }),
		fields(body, func(tag byte, _ uint64, b []byte) { frame = pickTag(tag, 0x12, b, frame) }))
	if err != nil || frame == nil {
		return 0, errPacket
	}
	entry = frame
	err = fields(entry, func(tag byte, n uint64, _ []byte) {
		if tag == 0x10 {
			number = n
		}
	})
	switch number {
	case entryBegin:
		kind = event.Begin
	case entryEnd:
		kind = event.End
	}
	return kind, err
}

func pickTag(tag, wanted byte, b, before []byte) []byte {
	if tag == wanted {
		return b
	}
	return before
}

// fields calls each for the fields of a message whose tags take one byte:
// numbers, and bytes.
func fields(b []byte, each func(tag byte, number uint64, body []byte)) error {
	for len(b) > 1 {
		tag := b[0]
		v, n := binary.Uvarint(b[1:])
		if n <= 0 {
			return errPacket
		}
		b = b[1+n:]
		switch {
		case tag&7 == 0:
			each(tag, v, nil)
		case tag&7 == 2 && v <= uint64(len(b)):
			each(tag, 0, b[:v])
			b = b[v:]
		default:
			return errPacket
		}
	}
	return nil
}
