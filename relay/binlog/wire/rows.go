package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// RowImages is the part of a row event behind its header, uncompressed. Layout of
// the header: table id (6 bytes), flags (2), in version 2 the extra data with
// its length (2, itself included), column count, one or two column bitmaps.
func RowImages(e *replication.BinlogEvent, ev *replication.RowsEvent, trailer int) ([]byte, error) {
	body := e.RawData[replication.EventHeaderSize : len(e.RawData)-trailer]
	at := 8
	if ev.Version == 2 {
		at += int(binary.LittleEndian.Uint16(body[at:]))
	}
	_, _, n := mysql.LengthEncodedInt(body[at:])
	at += n + len(ev.ColumnBitmap1) + len(ev.ColumnBitmap2)
	if at > len(body) {
		return nil, fmt.Errorf("event of %d bytes ends in its header", len(e.RawData))
	}
	body = body[at:len(body):len(body)]
	switch e.Header.EventType {
	case replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1,
		replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
		out, err := mysql.DecompressMariadbData(body)
		if err != nil {
			return nil, fmt.Errorf("inflate: %w", err)
		}
		return out, nil
	}
	return body, nil
}
