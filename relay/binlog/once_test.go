package binlog_test

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestOnceIsNotSearchedByTime: where readers are to get every change once, a position that was reached on another server is
// not searched by its time, which would send some changes again without a word. One of Canal is: what it sent is not known anyway.
func TestOnceIsNotSearchedByTime(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	s.Set("gtid_mode", "OFF")
	c := config(s)
	c.Fallback, c.Once = time.Minute, true
	from := position.Position{File: "log.000002", Offset: 4, ServerID: 11, ServerUUID: otherUUID, Host: "db", Port: 3306, Time: time.Unix(1700000000+3660, 0)}
	h := &recorder{stop: func(h *recorder) bool { return h.idle > 0 }}
	if err := open(t, c).Run(t.Context(), from, h); !errors.Is(err, binlog.ErrStart) || !strings.Contains(err.Error(), "--resend") || !h.began.IsZero() {
		t.Errorf("%v; began at %+v", err, h.began)
	}
	if err := open(t, c).Holds(t.Context(), from); !errors.Is(err, binlog.ErrStart) {
		t.Errorf("check: %v", err)
	}
	from.ServerUUID = ""
	host, port, _ := net.SplitHostPort(s.Addr())
	number, _ := strconv.ParseUint(port, 10, 16)
	from.Host, from.Port = host, uint16(number+1)
	if err := open(t, c).Run(t.Context(), from, h); !errors.Is(err, errStop) || h.began.File != one.Name {
		t.Errorf("of Canal: %v; began at %+v", err, h.began)
	}
}
