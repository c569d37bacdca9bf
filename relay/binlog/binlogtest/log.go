package binlogtest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
)

// Event types that Log writes.
const (
	queryEvent    = 2
	rotateEvent   = 4
	formatEvent   = 15
	xidEvent      = 16
	tableMapEvent = 19
	writeEvent    = 30
	gtidEvent     = 33
	xaPrepare     = 38
	previousGTIDs = 35
)

// UUID is the source UUID of every GTID that a Log writes.
const UUID = "11111111-2222-3333-4444-555555555555"

var uuidBytes = []byte{0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55}

// Log is a binlog file being made up: MySQL's events, with checksums. Its rows
// are those of a table with the columns id INT and v LONGBLOB.
type Log struct {
	Name  string
	Bytes []byte // the file, magic included
	Time  uint32 // time of the events that follow
	Maria bool   // its GTIDs are MariaDB's, of domain 0
	gno   int64
	gaps  []gap
}

// gap is a part of the file that is not in Bytes.
type gap struct {
	at   int // index in Bytes of what follows
	size uint64
}

// Skip leaves out n bytes of the file, so that it can be longer than memory.
// Readers are sent what follows as a server does that has left out what they have.
func (l *Log) Skip(n uint64) { l.gaps = append(l.gaps, gap{len(l.Bytes), n}) }

// offset is the place in the file of an index in Bytes.
func (l *Log) offset(i int) uint64 {
	at := uint64(i)
	for _, g := range l.gaps {
		if i >= g.at {
			at += g.size
		}
	}
	return at
}

// CreateTable is the definition of the tables that Log writes rows of.
const CreateTable = "CREATE TABLE `t` (\n  `id` int DEFAULT NULL,\n  `v` longblob\n)"

// NewLog begins a file of MySQL 9: format event, previous GTIDs up to gno.
func NewLog(name string, gno int64) *Log { return NewLogAt(name, gno, 1700000000) }

// NewLogAt begins it at a time, in seconds since 1970.
func NewLogAt(name string, gno int64, time uint32) *Log {
	l := &Log{Name: name, Bytes: []byte("\xfebin"), Time: time, gno: gno}
	body := binary.LittleEndian.AppendUint16(nil, 4)
	version := make([]byte, 50)
	copy(version, "9.7.4")
	body = append(body, version...)
	body = append(body, 0, 0, 0, 0, 19)
	lengths := make([]byte, 42)
	for i := range lengths {
		lengths[i] = 8
	}
	lengths[writeEvent-1], lengths[writeEvent], lengths[writeEvent+1] = 10, 10, 10
	l.event(formatEvent, append(append(body, lengths...), 1))
	sets := make([]byte, 8)
	if gno > 0 {
		sets[0] = 1
		sets = append(sets, uuidBytes...)
		sets = binary.LittleEndian.AppendUint64(sets, 1)
		sets = binary.LittleEndian.AppendUint64(sets, 1)
		sets = binary.LittleEndian.AppendUint64(sets, uint64(gno+1))
	}
	l.event(previousGTIDs, sets)
	return l
}

// Event builds one event that ends at an offset; its checksum is included.
func Event(kind byte, time, end uint32, flags uint16, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, time)
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, 11) // server id
	b = binary.LittleEndian.AppendUint32(b, uint32(19+len(body)+4))
	b = binary.LittleEndian.AppendUint32(b, end)
	b = binary.LittleEndian.AppendUint16(b, flags)
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (l *Log) event(kind byte, body []byte) {
	end := l.offset(len(l.Bytes)) + uint64(19+len(body)+4)
	l.Bytes = append(l.Bytes, Event(kind, l.Time, uint32(end), 0, body)...)
}

// What MariaDB says of a transaction in its GTID event.
const (
	mariaStandalone = 1
	mariaPrepared   = 64
)

// GTID opens the next transaction and returns its number.
func (l *Log) GTID() int64 { return l.begin(0) }

func (l *Log) begin(flags byte) int64 {
	l.gno++
	if l.Maria {
		body := binary.LittleEndian.AppendUint64(nil, uint64(l.gno))
		l.event(mariaGTIDEvent, append(body, 0, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0))
		return l.gno
	}
	body := append([]byte{0}, uuidBytes...)
	body = binary.LittleEndian.AppendUint64(body, uint64(l.gno))
	l.event(gtidEvent, append(body, make([]byte, 17)...))
	return l.gno
}

// Query writes a query event.
func (l *Log) Query(schema, sql string) {
	body := make([]byte, 8, 64+len(sql))
	body = append(body, byte(len(schema)), 0, 0, 0, 0)
	body = append(append(body, schema...), 0)
	l.event(queryEvent, append(body, sql...))
}

// Map writes the table map of schema.table under a table id.
func (l *Log) Map(id uint64, schema, table string) {
	body := append(binary.LittleEndian.AppendUint64(nil, id)[:6], 1, 0, byte(len(schema)))
	body = append(append(body, schema...), 0, byte(len(table)))
	body = append(append(body, table...), 0)
	l.event(tableMapEvent, append(body, 2, 3, 252, 1, 4, 3))
}

// Insert writes a row event with one row for each id, all with the value v.
func (l *Log) Insert(table uint64, last bool, v []byte, ids ...int32) {
	body := binary.LittleEndian.AppendUint64(nil, table)[:6]
	if last {
		body = append(body, 1, 0)
	} else {
		body = append(body, 0, 0)
	}
	body = append(body, 2, 0, 2, 3)
	for _, id := range ids {
		body = binary.LittleEndian.AppendUint32(append(body, 0), uint32(id))
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(v))), v...)
	}
	l.event(writeEvent, body)
}

// Commit writes the XID event that ends a transaction.
func (l *Log) Commit() { l.event(xidEvent, make([]byte, 8)) }

// Transaction writes a whole transaction of single-row events.
func (l *Log) Transaction(schema, table string, v []byte, ids ...int32) {
	l.GTID()
	l.Query(schema, "BEGIN")
	for _, id := range ids {
		l.Map(100, schema, table)
		l.Insert(100, true, v, id)
	}
	l.Commit()
}

// XID is the text of the XA transaction id with a first part.
func XID(gtrid string) string { return fmt.Sprintf("X'%x',X'',1", gtrid) }

// Prepare writes an XA transaction of single-row events that ends with its
// prepare, or with its commit in one phase.
func (l *Log) Prepare(gtrid string, onePhase bool, schema, table string, v []byte, ids ...int32) {
	l.begin(mariaPrepared)
	l.Query(schema, "XA START "+XID(gtrid))
	for _, id := range ids {
		l.Map(100, schema, table)
		l.Insert(100, true, v, id)
	}
	l.Query(schema, "XA END "+XID(gtrid))
	body := []byte{0, 1, 0, 0, 0}
	if onePhase {
		body[0] = 1
	}
	body = binary.LittleEndian.AppendUint32(body, uint32(len(gtrid)))
	l.event(xaPrepare, append(append(body, 0, 0, 0, 0), gtrid...))
}

// Decide writes XA COMMIT or XA ROLLBACK.
func (l *Log) Decide(verdict, gtrid string) {
	l.begin(mariaStandalone)
	l.Query("", "XA "+verdict+" "+XID(gtrid))
}

// Rotate ends the file: the next one has this name.
func (l *Log) Rotate(next string) {
	l.event(rotateEvent, append([]byte{4, 0, 0, 0, 0, 0, 0, 0}, next...))
}

// Write puts the file at path.
func (l *Log) Write(path string) error { return os.WriteFile(path, l.Bytes, 0o600) }
