package binlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

const dummyTable = 0xFFFFFF // table id of a rows event without rows

// parser turns event bytes into events; of row events only the header.
type parser struct {
	p         *replication.BinlogParser
	formatted bool // the format event was read, so that p knows of checksums
}

func newParser(flavor string) *parser {
	p := replication.NewBinlogParser()
	p.SetFlavor(flavor)
	p.SetVerifyChecksum(true)
	p.SetPayloadDecoderConcurrency(1)
	p.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, data []byte) error {
		_, err := e.DecodeHeader(data)
		if err != nil && e.TableID == dummyTable {
			return nil
		}
		return err
	})
	return &parser{p: p}
}

// parse reads one event. An event that cannot be read, or whose type is unknown
// and not marked ignorable, is ErrFormat.
func (p *parser) parse(raw []byte) (e *replication.BinlogEvent, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("%w: malformed event: %v", ErrFormat, r)
		}
	}()
	e, err = p.p.Parse(raw)
	if err != nil {
		var ee *replication.EventError
		if errors.As(err, &ee) { // its text holds the whole event: row values
			return nil, fmt.Errorf("%w: %s of %d bytes that ends at %d: %s", ErrFormat, ee.Header.EventType, ee.Header.EventSize, ee.Header.LogPos, ee.Err)
		}
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	switch ev := e.Event.(type) {
	case *replication.FormatDescriptionEvent:
		p.formatted = true
	case *replication.RotateEvent:
		if n := len(raw) - replication.BinlogChecksumLength; !p.formatted && len(ev.NextLogName) > replication.BinlogChecksumLength &&
			crc32.ChecksumIEEE(raw[:n]) == binary.LittleEndian.Uint32(raw[n:]) {
			// The first event of a dump, made up by the source, has a checksum
			// before anything said so.
			ev.NextLogName = ev.NextLogName[:len(ev.NextLogName)-replication.BinlogChecksumLength]
		}
	}
	return e, known(e.Header)
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

// flavorOf tells the two servers apart by their version text.
func flavorOf(version string) string {
	if containsFold(version, "mariadb") {
		return mysql.MariaDBFlavor
	}
	return mysql.MySQLFlavor
}
