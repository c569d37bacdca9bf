package binlog_test

import (
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestMovedAddress: a cursor of Canal names an address and the server whose event it stands at. Where another server has taken
// the address over, the file position is not used, but its time; where the source only passes on what another server wrote,
// or nothing was written since, it is.
func TestMovedAddress(t *testing.T) {
	const second = 1700000000 + 3660 // the fourth transaction
	for _, tt := range []struct {
		name   string
		server string // the source's id
		file   string
		offset func(xids []uint64) uint64
		time   int64
		asIs   bool
	}{
		{"same server", "11", "log.000002", func(x []uint64) uint64 { return x[3] }, second, true},
		{"same server, a time that an operator left", "11", "log.000002", func(x []uint64) uint64 { return x[3] }, second + 7, true},
		{"passed on", "12", "log.000002", func(x []uint64) uint64 { return x[3] }, second, true},
		{"at the end", "12", "log.000002", func(x []uint64) uint64 { return x[5] + 31 }, second + 120, true},
		{"another event there", "12", "log.000001", func(x []uint64) uint64 { return x[1] }, second, false},
		{"no such file", "12", "log.000077", func([]uint64) uint64 { return 4 }, second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one, two := logs()
			s := binlogtest.Start(t, "9.7.4", one, two)
			s.Set("gtid_mode", "OFF")
			s.Set("server_id", tt.server)
			c := config(s)
			c.Fallback = time.Minute
			var starts []uint64
			all := &recorder{stop: xids(6)}
			if err := open(t, c).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, all); !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			for _, e := range all.events {
				if e.Header.EventType == replication.XID_EVENT {
					starts = append(starts, uint64(e.Header.LogPos-31))
				}
			}
			host, port, _ := net.SplitHostPort(s.Addr())
			number, _ := strconv.ParseUint(port, 10, 16)
			from := position.Position{File: tt.file, Offset: tt.offset(starts), ServerID: 11, Time: time.Unix(tt.time, 0), Host: host, Port: uint16(number)}
			want := position.Position{File: from.File, Offset: from.Offset}
			if !tt.asIs {
				want.File, want.Offset = one.Name, starts[2] // the last end a minute before
			}
			h := &recorder{stop: func(h *recorder) bool { return h.idle > 0 && !h.began.IsZero() }}
			if err := open(t, c).Run(t.Context(), from, h); !errors.Is(err, errStop) || h.began.File != want.File || h.began.Offset != want.Offset {
				t.Errorf("%v; began at %s:%d, want %s:%d", err, h.began.File, h.began.Offset, want.File, want.Offset)
			}
		})
	}
}
