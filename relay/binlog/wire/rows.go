package wire

import (
	"encoding/binary"
	"errors"
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
		if err := CheckCompressed(body); err != nil {
			return nil, err
		}
		out, err := mysql.DecompressMariadbData(body)
		if err != nil {
			return nil, fmt.Errorf("inflate: %w", err)
		}
		return out, nil
	}
	return body, nil
}

// deflateRatio is more than deflate makes of a byte.
const deflateRatio = 1040

// CheckCompressed looks at the head of what MariaDB compressed: a byte with the
// number of bytes of the size, and the size, which go-mysql takes memory for
// whatever it says. Source: binlog_buf_compress in MariaDB's log_event.cc.
func CheckCompressed(b []byte) error {
	if len(b) == 0 {
		return errors.New("inflate: there is no data")
	}
	n := int(b[0] & 7)
	if n == 0 || len(b) <= n {
		return errors.New("inflate: the data end in their size")
	}
	size := uint64(0)
	for _, c := range b[1 : 1+n] {
		size = size<<8 | uint64(c)
	}
	if size > MaxEvent || size > uint64(len(b))*deflateRatio {
		return fmt.Errorf("inflate: %d bytes cannot hold %d", len(b), size)
	}
	return nil
}
