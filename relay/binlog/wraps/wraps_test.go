package wraps

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestStart: behind more than 2 GiB of a file that MariaDB leaves out, offsets are those of the file.
func TestStart(t *testing.T) {
	const gib, length = 1 << 30, 42
	for _, tt := range []struct {
		name       string
		size, want uint64 // of the file; where the first transaction begins in it
		asks       int
		dumb       bool // the source does not answer
		shown      uint64
	}{
		{"a small file", gib, gib - 1000, 0, false, gib - 1000},
		{"more than 2 GiB are left out", 7 * gib / 2, 3 * gib, 0, false, 3 * gib},
		{"more than 4 GiB, and one place", 9 * gib / 2, 4*gib - 20, 0, false, 4*gib - 20},
		{"more than 4 GiB, the second place", 9 * gib / 2, 17 * gib / 4, 2, false, 17 * gib / 4},
		{"more than 4 GiB, the first place", 9 * gib / 2, gib / 4, 1, false, gib / 4},
		{"written while it is read", 3 * gib, 3*gib + 5, 0, false, 3*gib + 5},
		{"nobody knows", 9 * gib / 2, 17 * gib / 4, 2, true, gib / 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at, err := track.New(position.Position{GTIDs: "0-1-5"}, false)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			var log bytes.Buffer
			s := &Start{Log: slog.New(slog.NewTextHandler(&log, nil)), Ask: func(query string) ([][]string, error) {
				asked++
				if tt.dumb || query != fmt.Sprintf("SHOW BINLOG EVENTS IN 'binlog.000003' FROM %d LIMIT 1", tt.want) {
					return nil, errors.New("wrong offset or I/O error")
				}
				return [][]string{{"binlog.000003", "", "Gtid", "1", "", "BEGIN GTID 0-1-6 cid=9"}}, nil
			}}
			s.Files([][]string{{"binlog.000002", "100"}, {"binlog.000003", fmt.Sprint(tt.size)}})
			for _, e := range []*replication.BinlogEvent{
				{Header: &replication.EventHeader{EventType: replication.ROTATE_EVENT}, Event: &replication.RotateEvent{NextLogName: []byte("binlog.000003"), Position: 4}},
				{Header: &replication.EventHeader{EventType: replication.MARIADB_GTID_EVENT, EventSize: length, LogPos: uint32(tt.want + length)},
					Event: &replication.MariadbGTIDEvent{GTID: mysql.MariadbGTID{ServerID: 1, SequenceNumber: 6}}},
			} {
				if beat := s.Before(e); beat != nil {
					at.Next(beat)
				}
				at.Next(e)
			}
			if at.Start != tt.shown || asked != tt.asks || (log.Len() > 0) != tt.dumb {
				t.Errorf("begins at %d, want %d; asked %d times, %s", at.Start, tt.shown, asked, &log)
			}
		})
	}
}
