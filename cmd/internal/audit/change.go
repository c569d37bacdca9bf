package audit

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/packet"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// Change is what one record of a topic holds: the rows of one event of a
// transaction, or a statement.
type Change struct {
	Topic     string
	Partition int32
	Tx        string // the transaction, as in header r-pos; empty when unknown
	Row       uint64 // index in the transaction of the last row, as in header r-row
	Rows      int    // how many rows; 0 when unknown
	Sum       uint64 // hash of the content
}

// seed is of all hashes of a process.
var seed = maphash.MakeSeed()

// Flat counts the rows of a flat message and hashes what it says of them.
// Members id and ts are left out, which differ each time a change is sent, and
// so are gtid and those that tell of types: what is known of them depends on
// where in the binlog one began to read.
func Flat(value []byte) (rows int, sum uint64, err error) {
	var h maphash.Hash
	h.SetSeed(seed)
	rows = 1 // a statement
	err = members(value, func(name, raw []byte) error {
		switch string(name) {
		case "id", "ts", "gtid", "mysqlType", "sqlType":
			return nil
		case "data":
			if raw[0] == '[' {
				rows = 0
				if err := elements(raw, func([]byte) error { rows++; return nil }); err != nil {
					return err
				}
			}
		}
		_, _ = h.Write(name)
		_ = h.WriteByte(0)
		_, _ = h.Write(raw)
		return nil
	})
	return rows, h.Sum64(), err
}

// Sum hashes texts, for a Read of Options and a Source that say the content in
// other words than Flat.
func Sum(texts []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, text := range texts {
		_, _ = h.WriteString(text)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// Packet hashes a record that is no flat message: a protobuf one, whose cut
// into records differs each time. Nothing is known of its rows.
func Packet([]byte) (rows int, sum uint64, err error) { return 0, 0, nil }

// Entries is Options.Entries for Canal's protobuf packets.
func Entries(value []byte) ([]Change, error) {
	found, err := packet.Entries(value, seed)
	all := make([]Change, len(found))
	for i, e := range found {
		all[i] = Change{Tx: e.File + ":" + strconv.FormatUint(e.Offset, 10) + "@", Sum: e.Sum}
	}
	return all, err
}

// headers are what a record says of itself.
type headers struct {
	destination string
	tx          string
	row         uint64
	epoch       int64 // -1 for none
}

// read takes the headers of a record; ok is false when it has none.
func (h *headers) read(r *topicreader.Record) (ok bool, err error) {
	pos := r.Header(message.HeaderPosition)
	if pos == nil {
		return false, nil
	}
	h.epoch = -1
	if string(pos) != h.tx { // mostly the one before
		h.tx = string(pos)
	}
	if d := r.Header(message.HeaderDestination); string(d) != h.destination {
		h.destination = string(d)
	}
	if h.row, err = strconv.ParseUint(string(r.Header(message.HeaderRow)), 10, 64); err != nil {
		return true, fmt.Errorf("topic %s, partition %d, offset %d: header %s: %w", r.Topic, r.Partition, r.Offset, message.HeaderRow, err)
	}
	if e := r.Header(message.HeaderEpoch); e != nil {
		if h.epoch, err = strconv.ParseInt(string(e), 10, 64); err != nil {
			return true, fmt.Errorf("topic %s, partition %d, offset %d: header %s: %w", r.Topic, r.Partition, r.Offset, message.HeaderEpoch, err)
		}
	}
	return true, nil
}

// order is where a transaction stands among those of one source: its number,
// and whose numbers these are.
type order struct {
	source string // UUID with tag, domain, or @UUID of the server whose files are meant
	number uint64
	file   bool // numbers are places in files, so that there are holes between them
}

// orderOf reads the text of header r-pos: a GTID of either server, or
// file:offset@server-uuid.
func orderOf(tx string) order {
	if place, server, ok := strings.Cut(tx, "@"); ok {
		file, offset, _ := strings.Cut(place, ":")
		sequence, err := strconv.ParseUint(file[strings.LastIndexByte(file, '.')+1:], 10, 20)
		at, err2 := strconv.ParseUint(offset, 10, 44)
		if err != nil || err2 != nil {
			return order{}
		}
		return order{"@" + server, sequence<<44 | at, true}
	}
	cut := strings.LastIndexByte(tx, ':')
	if cut < 0 {
		if cut = strings.LastIndexByte(tx, '-'); cut < 0 {
			return order{}
		}
	}
	n, err := strconv.ParseUint(tx[cut+1:], 10, 64)
	if err != nil {
		return order{}
	}
	source := tx[:cut]
	if domain, _, ok := strings.Cut(source, "-"); ok && tx[cut] == '-' {
		source = domain // the server may change
	}
	return order{source, n, false}
}

var errJSON = errors.New("the value is not a JSON object: a protobuf message, or not one of Canal's")

// members calls f for each member of a JSON object, with its name and value as
// they stand there. It trusts that the text is JSON.
func members(text []byte, f func(name, raw []byte) error) error {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' {
		return errJSON
	}
	for i := 1; ; {
		i = blanks(text, i)
		if i < len(text) && text[i] == '}' {
			return nil
		}
		end, err := skip(text, i)
		if err != nil || end-i < 2 || text[i] != '"' {
			return errJSON
		}
		name := text[i+1 : end-1]
		i = blanks(text, end)
		if i >= len(text) || text[i] != ':' {
			return errJSON
		}
		i = blanks(text, i+1)
		if end, err = skip(text, i); err != nil {
			return err
		}
		if err := f(name, text[i:end]); err != nil {
			return err
		}
		if i = blanks(text, end); i < len(text) && text[i] == ',' {
			i++
		}
	}
}

// elements calls f for each element of a JSON array.
func elements(text []byte, f func(raw []byte) error) error {
	for i := 1; ; {
		i = blanks(text, i)
		if i < len(text) && text[i] == ']' {
			return nil
		}
		end, err := skip(text, i)
		if err != nil {
			return err
		}
		if err := f(text[i:end]); err != nil {
			return err
		}
		if i = blanks(text, end); i < len(text) && text[i] == ',' {
			i++
		}
	}
}

func blanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that begins at i.
func skip(text []byte, i int) (int, error) {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return 0, errJSON
			}
			if depth == 0 {
				return i + 1, nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i, nil
			}
			if depth == 0 {
				return i + 1, nil
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i, nil
			}
		}
	}
	return 0, errJSON
}
