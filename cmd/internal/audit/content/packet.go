package content

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
	Rows   int    // 1 for a statement
	Sum    uint64 // of the rows
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
func Entries(value []byte) (all []Entry, err error) {
	err = fields(value, func(n protowire.Number, _ uint64, body []byte) error {
		if n != packetBody {
			return nil
		}
		return fields(body, func(n protowire.Number, _ uint64, raw []byte) error {
			if n != messagesEntry {
				return nil
			}
			e, kind, err := read(raw)
			if kind == rowData {
				all = append(all, e)
			}
			return err
		})
	})
	return all, err
}

func read(raw []byte) (e Entry, kind uint64, err error) {
	var h maphash.Hash
	h.SetSeed(Seed)
	var rows []uint64
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
			rows, err = change(&h, text)
			return err
		}
		return nil
	})
	e.Rows, e.Sum = 1, h.Sum64()
	if len(rows) > 0 {
		common := e.Sum
		e.Rows, e.Sum = len(rows), 0
		for _, row := range rows {
			e.Sum = Roll(e.Sum, common^row)
		}
	}
	return e, kind, err
}

// change hashes a RowChange: its rows, and to h what they have in common.
func change(h *maphash.Hash, raw []byte) (rows []uint64, err error) {
	err = fields(raw, func(n protowire.Number, v uint64, text []byte) error {
		switch n {
		case changeTable:
			return nil // a number of the server's
		case changeRow:
			var row maphash.Hash
			row.SetSeed(Seed)
			err := fields(text, func(image protowire.Number, _ uint64, column []byte) error {
				write(&row, image, 0, nil)
				return fields(column, func(n protowire.Number, v uint64, text []byte) error {
					if n != columnSQLType && n != columnMySQLType {
						write(&row, n, v, text)
					}
					return nil
				})
			})
			rows = append(rows, row.Sum64())
			return err
		}
		write(h, n, v, text)
		return nil
	})
	return rows, err
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
