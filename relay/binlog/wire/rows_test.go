package wire

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"
)

// What a compressed event says of its size is not believed beyond what its bytes can hold; one without data is an error.
func TestCompressedSize(t *testing.T) {
	for name, data := range map[string][]byte{
		"none": {}, "cut short": {0x84, 1}, "2 GiB": {0x84, 0x7f, 0xff, 0xff, 0xff, 0x78, 0x9c}, "no size": {0x80}, "too large to be": {0x87, 1, 2, 3, 4, 5, 6, 7},
	} {
		ev := &replication.RowsEvent{Version: 1, ColumnCount: 1, ColumnBitmap1: []byte{1}}
		raw := append(make([]byte, replication.EventHeaderSize+8), 1, 1)
		raw = append(raw, data...)
		binary.LittleEndian.PutUint32(raw[9:], uint32(len(raw)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := RowImages(&replication.BinlogEvent{
			RawData: raw, Header: &replication.EventHeader{EventType: replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1}}, ev, 0)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: %d bytes were taken", name, after.TotalAlloc-before.TotalAlloc)
		}
		if CheckCompressed(data) == nil {
			t.Errorf("%s: nothing wrong", name)
		}
	}
	if err := CheckCompressed([]byte{0x81, 200, 0x78}); err != nil {
		t.Error(err)
	}
}
