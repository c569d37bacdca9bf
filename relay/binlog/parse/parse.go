package parse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
)

// ErrFormat says that the source's settings or its bytes cannot be relayed.
var ErrFormat = errors.New("the binlog cannot be relayed")

// Parser turns event bytes into events. It belongs to one goroutine.
type Parser struct {
	d        *decoder
	flavor   string
	format   []byte // the last format event, nil until it was read
	checksum bool   // events end in a CRC-32
	payload  inflater
}

// New returns a parser of a server's events: MySQL's or MariaDB's, in
// go-mysql's names.
func New(flavor string) *Parser { return &Parser{d: newDecoder(flavor, true), flavor: flavor} }

// SetFlavor says whose events follow.
func (p *Parser) SetFlavor(flavor string) {
	p.flavor, p.d.flavor = flavor, flavor
	p.d.forget()
}

// Parse reads one event; that of a compressed transaction holds a *Payload. The
// event is valid until the next one is read, see Keep; what points into its raw
// bytes stays so. An event that cannot be read, or whose type is unknown and not
// marked ignorable, is ErrFormat.
func (p *Parser) Parse(raw []byte) (*replication.BinlogEvent, error) {
	if len(raw) > replication.EventHeaderSize && replication.EventType(raw[4]) == replication.TRANSACTION_PAYLOAD_EVENT {
		return p.open(raw)
	}
	e, err := p.d.parse(raw)
	if err != nil {
		return nil, err
	}
	switch ev := e.Event.(type) {
	case *replication.FormatDescriptionEvent:
		p.format = raw
		p.checksum = ev.ChecksumAlgorithm == replication.BINLOG_CHECKSUM_ALG_CRC32
		p.payload.d = nil
	case *replication.RotateEvent:
		if n := len(raw) - replication.BinlogChecksumLength; p.format == nil && len(ev.NextLogName) > replication.BinlogChecksumLength &&
			crc32.ChecksumIEEE(raw[:n]) == binary.LittleEndian.Uint32(raw[n:]) {
			// The first event of a dump, made up by the source, has a checksum
			// before anything said so.
			ev.NextLogName = ev.NextLogName[:len(ev.NextLogName)-replication.BinlogChecksumLength]
		}
	}
	return e, nil
}

// believable looks at the sizes in an event for which go-mysql takes memory
// whatever they say. What is too short panics, as in go-mysql.
func believable(raw []byte) error {
	if len(raw) < replication.EventHeaderSize {
		return nil // go-mysql says so
	}
	body := raw[replication.EventHeaderSize:]
	switch replication.EventType(raw[4]) {
	case replication.MARIADB_QUERY_COMPRESSED_EVENT: // behind its status variables and its database
		return wire.CheckCompressed(body[13+int(binary.LittleEndian.Uint16(body[11:]))+int(body[8])+1:]) //nolint:wrapcheck // it says what
	case replication.MARIADB_GTID_LIST_EVENT:
		const flags, entry = 4, 16
		if n := int(binary.LittleEndian.Uint32(body) & (1<<28 - 1)); n > (len(body)-flags)/entry {
			return fmt.Errorf("a list of %d GTIDs in %d bytes", n, len(body))
		}
	}
	return nil
}

// known refuses events that might change rows in a way unknown to this reader.
// Sources: Log_event_type of both servers.
func known(h *replication.EventHeader) error {
	t := h.EventType
	switch {
	case t <= replication.GTID_TAGGED_LOG_EVENT && t != replication.UNKNOWN_EVENT,
		t >= replication.MARIADB_ANNOTATE_ROWS_EVENT && t <= replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1,
		h.Flags&replication.LOG_EVENT_IGNORABLE_F != 0:
		return nil
	}
	return fmt.Errorf("%w: event type %d that ends at %d is not known to this version; upgrade canal-relay, or start behind it", ErrFormat, t, h.LogPos)
}
