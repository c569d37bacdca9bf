package tablemap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event/charset"
)

// ErrFormat says that a table map is broken.
var ErrFormat = errors.New("the table map is broken")

// Types of MariaDB's COMPRESSED columns (its sql/field.h).
const (
	blobCompressed    = 140
	varcharCompressed = 141
)

// Inflated is the type that a COMPRESSED column has when it is not.
func Inflated(wire byte) (byte, bool) {
	switch wire {
	case blobCompressed:
		return mysql.MYSQL_TYPE_BLOB, true
	case varcharCompressed:
		return mysql.MYSQL_TYPE_VARCHAR, true
	}
	return wire, false
}

func hasCompressed(types []byte) bool {
	return bytes.IndexByte(types, blobCompressed) >= 0 || bytes.IndexByte(types, varcharCompressed) >= 0
}

// Collations gives the collations of columns, as far as the table map has them.
// It counts the columns as both servers do, and go-mysql does not: VECTOR and
// COMPRESSED ones are among those that have one. Source: is_character_type of
// both servers' log_event.h.
func Collations(m *replication.TableMapEvent) map[int]uint64 {
	list := m.ColumnCharset
	if len(m.DefaultCharset) == 0 && len(list) == 0 {
		return nil
	}
	all, others := map[int]uint64{}, map[uint64]uint64{}
	for i := 1; i+1 < len(m.DefaultCharset); i += 2 {
		others[m.DefaultCharset[i]] = m.DefaultCharset[i+1]
	}
	n := uint64(0) // of columns with a collation
	for i := range m.ColumnType {
		if t := m.ColumnType[i]; !m.IsCharacterColumn(i) && t != mysql.MYSQL_TYPE_VECTOR && t != blobCompressed && t != varcharCompressed {
			continue
		}
		if id, ok := others[n]; ok {
			all[i] = id
		} else if len(m.DefaultCharset) > 0 {
			all[i] = m.DefaultCharset[0]
		} else if n < uint64(len(list)) {
			all[i] = list[n]
		}
		n++
	}
	return all
}

// Fix reads the metadata of a table map with COMPRESSED columns again:
// go-mysql knows neither type, so that what it read of the columns behind them
// is shifted. body is the event without header and checksum. The error is ErrFormat.
func Fix(m *replication.TableMapEvent, body []byte) error {
	if !hasCompressed(m.ColumnType) {
		return nil
	}
	broken := fmt.Errorf("table map of %s.%s: metadata: %w", m.Schema, m.Table, ErrFormat)
	at := 8       // table id, flags
	for range 2 { // database and table, each after its length and before a NUL
		if at >= len(body) {
			return broken
		}
		at += int(body[at]) + 2
	}
	if at >= len(body) {
		return broken
	}
	_, _, n := mysql.LengthEncodedInt(body[at:])
	if at += n + len(m.ColumnType); at >= len(body) {
		return broken
	}
	size, _, n := mysql.LengthEncodedInt(body[at:])
	if at += n; at > len(body) || size > uint64(len(body)-at) {
		return broken
	}
	data := body[at : at+int(size)]
	for i, t := range m.ColumnType {
		n := metadataSize(t)
		if n > len(data) {
			return broken
		}
		meta := uint16(0)
		switch {
		case n == 1:
			meta = uint16(data[0])
		case n == 2 && (t == mysql.MYSQL_TYPE_STRING || t == mysql.MYSQL_TYPE_NEWDECIMAL):
			meta = binary.BigEndian.Uint16(data)
		case n == 2:
			meta = binary.LittleEndian.Uint16(data)
		}
		m.ColumnMeta[i] = meta
		data = data[n:]
	}
	return nil
}

// metadataSize is the number of bytes that a type's metadata takes.
func metadataSize(wire byte) int {
	switch wire {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_NEWDECIMAL, mysql.MYSQL_TYPE_VAR_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_BIT,
		varcharCompressed:
		return 2
	case mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_GEOMETRY, mysql.MYSQL_TYPE_VECTOR,
		mysql.MYSQL_TYPE_JSON, mysql.MYSQL_TYPE_TIME2, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2, blobCompressed:
		return 1
	}
	return 0
}

// Hash says whether a column may be the hash of a unique key: a BIGINT UNSIGNED
// with a name of its own.
func Hash(m *replication.TableMapEvent, names []string, i int) bool {
	unsigned, known := m.UnsignedMap()[i]
	return m.ColumnType[i] == mysql.MYSQL_TYPE_LONGLONG && (unsigned || !known) &&
		(len(names) <= i || strings.HasPrefix(names[i], "DB_ROW_HASH_"))
}

// Labels gives the labels of ENUM and SET columns as the table map has them;
// none unless binlog_row_metadata is FULL.
func Labels(m *replication.TableMapEvent) func(i int) []string {
	enums, sets, collations := m.EnumStrValueMap(), m.SetStrValueMap(), m.EnumSetCollationMap()
	return func(i int) []string {
		raw := enums[i]
		if raw == nil {
			raw = sets[i]
		}
		cs := charset.UTF8MB4
		if s := charset.ByCollation(collations[i]); s != nil {
			cs = s
		}
		labels := make([]string, len(raw))
		for n, l := range raw {
			labels[n] = string(cs.Append(nil, []byte(l)))
		}
		return labels
	}
}
