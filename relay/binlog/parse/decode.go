package parse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

const (
	dummyTable = 0xFFFFFF // table id of a rows event without rows
	maxMaps    = 1024     // table maps remembered from one statement to the next
	longIDs    = 8        // bytes of a table map's header with table ids of 6 bytes; before MySQL 5.1.4 they had 4
)

// decoder makes events of bytes. Those that stand in every transaction it reads
// itself, into memory that the next event takes again, and a table map that it
// has seen not at all; the rest is go-mysql's to read, with the same outcome.
type decoder struct {
	p       *replication.BinlogParser
	flavor  string
	verify  bool   // checksums
	format  []byte // the last format event; nil until one was read
	usual   bool   // its events are as since MySQL 5.1.4
	trailer int    // bytes of an event's checksum

	maps      map[uint64]*tableMap
	statement uint64 // counts them

	event   replication.BinlogEvent
	header  replication.EventHeader
	query   replication.QueryEvent
	gtid    replication.GTIDEvent
	mariadb replication.MariadbGTIDEvent
	xid     replication.XIDEvent
	rows    replication.RowsEvent
}

// tableMap is a table-map event and the last statement that it stood in.
type tableMap struct {
	event     *replication.TableMapEvent
	body      []byte
	statement uint64
}

func newDecoder(flavor string, verify bool) *decoder {
	d := &decoder{flavor: flavor, verify: verify}
	d.forget()
	return d
}

// forget lets go of all table maps, those that go-mysql's parser keeps among them.
func (d *decoder) forget() {
	d.maps = make(map[uint64]*tableMap)
	d.p = replication.NewBinlogParser()
	d.p.SetFlavor(d.flavor)
	d.p.SetVerifyChecksum(d.verify)
	d.p.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, data []byte) error {
		_, err := e.DecodeHeader(data)
		if err != nil && e.TableID == dummyTable {
			return nil
		}
		return err
	})
	if d.format != nil {
		_, _ = d.p.Parse(d.format) // was read before
	}
}

// parse reads one event, which is valid until the next call.
func (d *decoder) parse(raw []byte) (e *replication.BinlogEvent, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("%w: malformed event: %v", ErrFormat, r)
		}
	}()
	if err := believable(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if e, err = d.decode(raw); err != nil {
		var ee *replication.EventError
		if errors.As(err, &ee) { // its text holds the whole event: row values
			return nil, fmt.Errorf("%w: %s of %d bytes that ends at %d: %s", ErrFormat, ee.Header.EventType, ee.Header.EventSize, ee.Header.LogPos, ee.Err)
		}
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return e, known(e.Header)
}

func (d *decoder) decode(raw []byte) (*replication.BinlogEvent, error) {
	if !d.usual || len(raw) < replication.EventHeaderSize || !frequent(replication.EventType(raw[4])) {
		return d.other(raw)
	}
	body, err := d.open(raw)
	if err != nil {
		return nil, err
	}
	d.event = replication.BinlogEvent{RawData: raw, Header: &d.header}
	switch d.header.EventType {
	case replication.QUERY_EVENT:
		d.query = replication.QueryEvent{}
		d.event.Event, err = &d.query, d.query.Decode(body)
	case replication.GTID_EVENT, replication.ANONYMOUS_GTID_EVENT:
		d.gtid = replication.GTIDEvent{}
		d.event.Event, err = &d.gtid, d.gtid.Decode(body)
	case replication.MARIADB_GTID_EVENT:
		d.mariadb = replication.MariadbGTIDEvent{GTID: mysql.MariadbGTID{ServerID: d.header.ServerID}}
		d.event.Event, err = &d.mariadb, d.mariadb.Decode(body)
	case replication.XID_EVENT:
		d.event.Event, err = &d.xid, d.xid.Decode(body)
	case replication.TABLE_MAP_EVENT:
		d.event.Event, err = d.tableMap(raw, body)
	default:
		d.event.Event, err = &d.rows, d.rowsHeader(body)
	}
	if err != nil {
		return nil, &replication.EventError{Header: &d.header, Err: err.Error()}
	}
	return &d.event, nil
}

// frequent says that events of a type are read here.
func frequent(t replication.EventType) bool {
	switch t {
	case replication.QUERY_EVENT, replication.GTID_EVENT, replication.ANONYMOUS_GTID_EVENT, replication.MARIADB_GTID_EVENT,
		replication.XID_EVENT, replication.TABLE_MAP_EVENT:
		return true
	}
	_, _, rows := rowsOf(t)
	return rows
}

// other has go-mysql read an event.
func (d *decoder) other(raw []byte) (*replication.BinlogEvent, error) {
	e, err := d.p.Parse(raw)
	if err != nil {
		return nil, err //nolint:wrapcheck // parse does
	}
	if f, ok := e.Event.(*replication.FormatDescriptionEvent); ok {
		d.format, d.trailer = bytes.Clone(raw), 0
		if f.ChecksumAlgorithm == replication.BINLOG_CHECKSUM_ALG_CRC32 {
			d.trailer = replication.BinlogChecksumLength
		}
		n := int(replication.TABLE_MAP_EVENT)
		d.usual = len(f.EventTypeHeaderLengths) >= n && f.EventTypeHeaderLengths[n-1] == longIDs
	}
	return e, nil
}

// open reads an event's header and verifies its checksum; what lies between is
// returned.
func (d *decoder) open(raw []byte) ([]byte, error) {
	if err := d.header.Decode(raw); err != nil {
		return nil, err //nolint:wrapcheck // parse does
	}
	if int64(d.header.EventSize) != int64(len(raw)) {
		return nil, fmt.Errorf("%s says that it has %d bytes, of which there are %d", d.header.EventType, d.header.EventSize, len(raw))
	}
	end := len(raw) - d.trailer
	if d.trailer > 0 && d.verify && crc32.ChecksumIEEE(raw[:end]) != binary.LittleEndian.Uint32(raw[end:]) {
		return nil, fmt.Errorf("failed checksum for %s that ends at %d: %w", d.header.EventType, d.header.LogPos, replication.ErrChecksumMismatch)
	}
	return raw[replication.EventHeaderSize:end], nil
}

// tableMap finds a table map among those that were read, or reads it: from bytes
// of its own, since it outlives those of its neighbours.
func (d *decoder) tableMap(raw, body []byte) (*replication.TableMapEvent, error) {
	id := mysql.FixedLengthInt(body[:6])
	if m := d.maps[id]; m != nil && bytes.Equal(m.body, body) {
		m.statement = d.statement
		return m.event, nil
	}
	raw = bytes.Clone(raw)
	e, err := d.p.Parse(raw)
	var ee *replication.EventError
	if errors.As(err, &ee) {
		err = errors.New(ee.Err)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // decode does
	}
	m := &tableMap{event: e.Event.(*replication.TableMapEvent), body: raw[replication.EventHeaderSize : len(raw)-d.trailer], statement: d.statement}
	d.maps[id] = m
	return m.event, nil
}

// rowsOf tells which version of a row event a type is, and whether it has two
// images of each row.
func rowsOf(t replication.EventType) (version int, update, ok bool) {
	switch t {
	case replication.WRITE_ROWS_EVENTv0, replication.UPDATE_ROWS_EVENTv0, replication.DELETE_ROWS_EVENTv0:
		return 0, false, true
	case replication.WRITE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv1,
		replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
		return 1, false, true
	case replication.UPDATE_ROWS_EVENTv1, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1:
		return 1, true, true
	case replication.WRITE_ROWS_EVENTv2, replication.DELETE_ROWS_EVENTv2:
		return 2, false, true
	case replication.UPDATE_ROWS_EVENTv2, replication.PARTIAL_UPDATE_ROWS_EVENT:
		return 2, true, true
	}
	return 0, false, false
}

// rowsHeader reads what stands before the images of a row event: table id (6
// bytes), flags (2), in version 2 extra data behind its length (2, itself
// included), number of columns, one or two column bitmaps. Its table map must
// stand in the same statement. Source: Rows_event of MySQL's libs/mysql/binlog.
func (d *decoder) rowsHeader(body []byte) error {
	version, update, _ := rowsOf(d.header.EventType)
	d.rows = replication.RowsEvent{Version: version, TableID: mysql.FixedLengthInt(body[:6]), Flags: binary.LittleEndian.Uint16(body[6:])}
	at := 8
	if version == 2 {
		n := int(binary.LittleEndian.Uint16(body[at:]))
		if n < 2 {
			return fmt.Errorf("extra data of %d bytes", n)
		}
		at += n
	}
	columns, _, n := mysql.LengthEncodedInt(body[at:])
	at += n
	if columns > uint64(len(body))*8 {
		return fmt.Errorf("%d columns in %d bytes", columns, len(body))
	}
	bitmap := (int(columns) + 7) / 8
	d.rows.ColumnCount, d.rows.ColumnBitmap1 = columns, body[at:at+bitmap]
	if at += bitmap; update {
		d.rows.ColumnBitmap2 = body[at : at+bitmap]
	}
	if m := d.maps[d.rows.TableID]; m != nil && m.statement == d.statement {
		d.rows.Table = m.event
	} else if d.rows.TableID != dummyTable {
		return fmt.Errorf("there is no table map for table id %d before it", d.rows.TableID)
	}
	if d.rows.Flags&replication.RowsEventStmtEndFlag != 0 {
		if d.statement++; len(d.maps) > maxMaps {
			d.forget()
		}
	}
	return nil
}

// Keep returns a copy of an event that stays valid when its parser reads on.
func Keep(e *replication.BinlogEvent) *replication.BinlogEvent {
	kept, header := *e, *e.Header
	kept.Header = &header
	switch ev := e.Event.(type) {
	case *replication.QueryEvent:
		kept.Event = clone(ev)
	case *replication.GTIDEvent:
		kept.Event = clone(ev)
	case *replication.MariadbGTIDEvent:
		kept.Event = clone(ev)
	case *replication.XIDEvent:
		kept.Event = clone(ev)
	case *replication.RowsEvent:
		kept.Event = clone(ev)
	}
	return &kept
}

func clone[T any](v *T) *T {
	c := *v
	return &c
}
