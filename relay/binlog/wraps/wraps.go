// Package wraps tells where in a large file a dump by GTIDs begins.
package wraps

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"
)

// wrap is where offsets in event headers begin anew.
const wrap = 1 << 32

// Start finds where the first transaction of a dump begins. MariaDB says it by a
// header alone, whose jump of more than wrap/2 cannot be told from none.
type Start struct {
	// Ask runs a query on the source, and Log is told where nothing is known.
	Ask func(query string) ([][]string, error)
	Log *slog.Logger

	sizes map[string]uint64 // of large files, in bytes; nil when nothing is to be found
	file  string
}

// Files takes the answer to SHOW BINARY LOGS.
func (s *Start) Files(rows [][]string) {
	for _, row := range rows {
		if size, _ := strconv.ParseUint(row[1], 10, 64); size > wrap/2 {
			if s.sizes == nil {
				s.sizes = make(map[string]uint64)
			}
			s.sizes[row[0]] = size
		}
	}
}

// Before returns what tells the place of an event before it, as MySQL does: a
// heartbeat. It is nil for all but the first transaction of a large file.
func (s *Start) Before(e *replication.BinlogEvent) *replication.BinlogEvent {
	if s.sizes == nil {
		return nil
	}
	switch ev := e.Event.(type) {
	case *replication.RotateEvent:
		s.file = string(ev.NextLogName)
	case *replication.MariadbGTIDEvent:
		size := s.sizes[s.file]
		s.sizes = nil
		if size > 0 && e.Header.LogPos > 0 {
			return &replication.BinlogEvent{Header: &replication.EventHeader{EventType: replication.HEARTBEAT_LOG_EVENT_V2},
				Event: &replication.HeartbeatEvent{Version: 2, Filename: s.file, Offset: s.find(e.Header, size, ev.GTID.String())}}
		}
	}
	return nil
}

// find is the offset of a transaction in a file of a size. Where several places
// have such a header, the source is asked what stands there.
func (s *Start) find(h *replication.EventHeader, size uint64, gtid string) uint64 {
	var places []uint64
	for end := uint64(h.LogPos); end <= size || len(places) == 0; end += wrap {
		if end >= uint64(h.EventSize)+4 {
			places = append(places, end-uint64(h.EventSize))
		}
	}
	if len(places) == 1 {
		return places[0]
	}
	for _, at := range places {
		rows, err := s.Ask(fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d LIMIT 1", s.file, at))
		if err == nil && len(rows) == 1 && len(rows[0]) > 5 && slices.Contains(strings.Fields(rows[0][5]), gtid) {
			return at
		}
	}
	s.Log.Warn("where in its file the stream begins cannot be told: offsets may be shown too low by a multiple of 4 GiB", "file", s.file, "offset", places[0], "transaction", gtid)
	return places[0]
}
