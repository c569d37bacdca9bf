// Package packet takes protobuf records apart for an audit.
package packet

import (
	"errors"
	"fmt"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"
)

// Entry is what a record says of an event, or of some of its rows.
type Entry struct {
	File   string // binlog file of the event
	Offset uint64 // of its first byte
	Sum    uint64 // hash of the content
}

var errWire = errors.New("the value is not one of Canal's protobuf packets")

// Fields of Canal's messages, CanalPacket.proto and EntryProtocol.proto.
const (
	packetBody                              = 5
	messagesEntry                           = 2
	entryHeader, entryType, entryStore      = 1, 2, 3
	headerFile, headerOffset                = 2, 3
	headerSchema, headerTable, headerChange = 8, 9, 11
	changeTable, changeRow                  = 1, 12
	columnSQLType, columnMySQLType          = 2, 10

	rowData = 2 // an entry's type: rows, or a statement
)

// Entries returns the entries of a record that hold rows or a statement. Which
// of those that stand around transactions are there depends on how the stream
// was cut. Of the content the types of columns are left out, since what is known
// of them depends on where in the binlog one began to read.
func Entries(value []byte, seed maphash.Seed) (all []Entry, err error) {
	err = fields(value, func(n protowire.Number, _ uint64, body []byte) error {
		if n != packetBody {
			return nil
		}
		return fields(body, func(n protowire.Number, _ uint64, raw []byte) error {
			if n != messagesEntry {
				return nil
			}
			e, kind, err := read(raw, seed)
			if kind == rowData {
				all = append(all, e)
			}
			return err
		})
	})
	return all, err
}

func read(raw []byte, seed maphash.Seed) (e Entry, kind uint64, err error) {
	var h maphash.Hash
	h.SetSeed(seed)
	err = fields(raw, func(n protowire.Number, v uint64, text []byte) error {
		switch n {
		case entryType:
			kind = v
		case entryHeader:
			return fields(text, func(n protowire.Number, v uint64, text []byte) error {
				switch n {
				case headerFile:
					e.File = string(text)
				case headerOffset:
					e.Offset = v
				case headerSchema, headerTable, headerChange:
					write(&h, n, v, text)
				}
				return nil
			})
		case entryStore:
			return change(&h, text)
		}
		return nil
	})
	e.Sum = h.Sum64()
	return e, kind, err
}

// change hashes a RowChange.
func change(h *maphash.Hash, raw []byte) error {
	return fields(raw, func(n protowire.Number, v uint64, text []byte) error {
		switch n {
		case changeTable:
			return nil // a number of the server's
		case changeRow:
			return fields(text, func(image protowire.Number, _ uint64, column []byte) error {
				write(h, image, 0, nil)
				return fields(column, func(n protowire.Number, v uint64, text []byte) error {
					if n != columnSQLType && n != columnMySQLType {
						write(h, n, v, text)
					}
					return nil
				})
			})
		}
		write(h, n, v, text)
		return nil
	})
}

func write(h *maphash.Hash, n protowire.Number, v uint64, text []byte) {
	var head [24]byte
	b := protowire.AppendVarint(protowire.AppendVarint(head[:0], uint64(n)), v)
	_, _ = h.Write(protowire.AppendVarint(b, uint64(len(text))))
	_, _ = h.Write(text)
}

// fields calls f for each field: a number, or the bytes of a text or message.
func fields(b []byte, f func(n protowire.Number, v uint64, text []byte) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errWire
		}
		b = b[size:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("%w: field %d", errWire, n)
		}
		if size < 0 {
			return errWire
		}
		b = b[size:]
		if err := f(n, v, text); err != nil {
			return err
		}
	}
	return nil
}
