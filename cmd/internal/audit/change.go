package audit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
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
	Sum       uint64 // of the content, as package content makes it; 0 when unknown

	// In and Last are what headers say of it, where Tx and Row number an entry of
	// a protobuf record by its event.
	In   string
	Last uint64
}

// Packet counts nothing in a record that is no flat message: a protobuf one, whose
// cut into records differs each time.
func Packet([]byte) (rows int, sum uint64, err error) { return 0, 0, nil }

// Entries is Options.Entries for Canal's protobuf packets.
func Entries(value []byte) ([]Change, error) {
	found, err := content.Entries(value)
	all := make([]Change, len(found))
	for i, e := range found {
		all[i] = Change{Tx: e.File + ":" + strconv.FormatUint(e.Offset, 10) + "@", Row: uint64(e.Rows) - 1, Rows: e.Rows, Sum: e.Sum}
	}
	return all, err
}

// Follow numbers a change that a record holds among several: from the rows on that
// the one before it in its partition has of the same event.
func (c *Change) Follow(before *Change) {
	if c.Tx == before.Tx {
		c.Row += before.Row + 1
	}
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
