package binlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

const otherUUID = "22222222-2222-3333-4444-555555555555"

// pair are a source and its standby, with the same transactions in files that
// have other names and offsets.
func pair(t *testing.T) (master, standby *binlogtest.Server, c binlog.Config) {
	t.Helper()
	one, two := logs()
	master = binlogtest.Start(t, "9.7.4", one, two)
	all := binlogtest.NewLog("standby.000007", 0)
	for i := range 6 {
		all.Time += 60
		if i == 3 {
			all.Time += 3420
		}
		all.Query("other", "CREATE DATABASE unlike"+fmt.Sprint(i)) // makes offsets differ
		all.Transaction("d", "t", []byte("v"), int32(i%3))
	}
	standby = binlogtest.Start(t, "9.7.4", all)
	standby.Set("server_uuid", otherUUID)
	c = config(master)
	c.Standby.Addr = standby.Addr()
	c.Detect = binlog.Detect{SQL: "select 1", Every: 20 * time.Millisecond, Threshold: 2, Switch: true}
	c.Fallback = time.Minute
	return master, standby, c
}

// The source goes away: after more failures than the threshold the standby is
// read, from the GTID set where there is one, else from the position's time less
// the fallback.
func TestSwitch(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode string
		from position.Position
		gtid bool
		xids int
	}{
		{"by GTID", "ON", position.Position{File: "log.000002", Offset: 4, GTIDs: binlogtest.UUID + ":1-4", ServerUUID: binlogtest.UUID}, true, 2},
		// The fourth transaction's time less a minute: the stream begins at the end of the third.
		{"by time", "OFF", position.Position{File: "log.000002", Offset: 4, ServerUUID: binlogtest.UUID, Time: time.Unix(1700000000+3660, 0)}, false, 4},
		{"of Canal, by time", "OFF", position.Position{File: "log.000002", Offset: 4, Time: time.Unix(1700000000+3660, 0)}, false, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			master, standby, c := pair(t)
			master.Set("gtid_mode", tt.mode)
			standby.Set("gtid_mode", tt.mode)
			var said bytes.Buffer
			r, err := binlog.NewReader(c, slog.New(slog.NewTextHandler(&said, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if tt.from.ServerUUID == "" {
				host, port, _ := net.SplitHostPort(master.Addr())
				tt.from.Host = host
				_, _ = fmt.Sscan(port, &tt.from.Port)
			}
			first := &recorder{stop: func(h *recorder) bool { return h.idle > 0 && len(h.events) > 3 }}
			if err := r.Run(t.Context(), tt.from, first); !errors.Is(err, errStop) || first.began.ServerUUID != binlogtest.UUID {
				t.Fatalf("at first %v, began %+v", err, first.began)
			}
			master.Down()
			h := &recorder{stop: xids(tt.xids)}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if err := r.Run(ctx, tt.from, h); err == nil || !strings.Contains(err.Error(), "changing to the other server, "+standby.Addr()) || errors.Is(err, binlog.ErrAway) {
				t.Fatal(err)
			}
			if err := r.Run(ctx, tt.from, h); !errors.Is(err, errStop) {
				t.Fatalf("%v; %d transactions from %+v\n%s", err, h.count(replication.XID_EVENT), h.began, said.String())
			}
			if h.began.ServerUUID != otherUUID || standby.Dumps()[len(standby.Dumps())-1].GTID != tt.gtid {
				t.Errorf("began %+v, dumps %+v", h.began, standby.Dumps())
			}
			if n := strings.Count(said.String(), "going on at the other server"); n != 1 {
				t.Errorf("the change was told %d times:\n%s", n, said.String())
			}
			// A term that starts later begins where its position is from.
			again := &recorder{stop: xids(tt.xids)}
			if err := open(t, c).Run(ctx, h.began, again); !errors.Is(err, errStop) || again.began.ServerUUID != otherUUID {
				t.Errorf("a new term: %v, began %+v", err, again.began)
			}
		})
	}
}

// A connection that breaks while the source answers is no reason to change.
func TestBrokenDumpIsNoSwitch(t *testing.T) {
	master, standby, c := pair(t)
	master.Cut(5)
	r := open(t, c)
	from := position.Position{File: "log.000001", Offset: 4}
	if err := r.Run(t.Context(), from, &recorder{}); err == nil || errors.Is(err, binlog.ErrAway) {
		t.Fatal(err)
	}
	h := &recorder{stop: xids(6)}
	if err := r.Run(t.Context(), from, h); !errors.Is(err, errStop) || len(standby.Dumps()) != 0 {
		t.Errorf("%v, dumps of the standby %+v", err, standby.Dumps())
	}
}

// Without leave to change, and where nothing is asked, the source is missed.
func TestNoSwitch(t *testing.T) {
	for name, change := range map[string]func(*binlog.Config){
		"no leave":   func(c *binlog.Config) { c.Detect.Switch = false },
		"no standby": func(c *binlog.Config) { c.Standby = binlog.Standby{} },
		"not asked":  func(c *binlog.Config) { c.Detect.SQL = "" },
	} {
		t.Run(name, func(t *testing.T) {
			master, standby, c := pair(t)
			change(&c)
			master.Down()
			if err := open(t, c).Run(t.Context(), position.Position{File: "log.000001", Offset: 4}, &recorder{}); !errors.Is(err, binlog.ErrAway) || len(standby.Dumps()) != 0 {
				t.Errorf("%v, dumps of the standby %+v", err, standby.Dumps())
			}
		})
	}
}

// Both are gone: they are tried in turn, and each time it is told.
func TestBothAway(t *testing.T) {
	master, standby, c := pair(t)
	master.Down()
	standby.Down()
	r := open(t, c)
	for _, other := range []*binlogtest.Server{standby, master, standby} {
		err := r.Run(t.Context(), position.Position{File: "log.000001", Offset: 4}, &recorder{})
		if err == nil || !strings.Contains(err.Error(), "changing to the other server, "+other.Addr()) {
			t.Error(err)
		}
	}
}

// A stream that is under way when the source goes ends there: it must not begin
// again where it began, or, without a position, at the standby's end.
func TestSwitchEndsTheStream(t *testing.T) {
	master, standby, c := pair(t)
	c.Start = binlog.Start{Journal: "log.000001"}
	h := &recorder{stop: func(h *recorder) bool {
		if h.idle == 1 {
			master.Down()
		}
		return false
	}}
	err := open(t, c).Run(t.Context(), position.Position{}, h)
	if err == nil || !strings.Contains(err.Error(), "changing to the other server") || len(standby.Dumps()) != 0 {
		t.Errorf("%v, dumps of the standby %+v", err, standby.Dumps())
	}
}

// A search by time halves the list of files.
func TestTimeSearchHalves(t *testing.T) {
	var all []*binlogtest.Log
	for i := range 64 {
		l := binlogtest.NewLogAt(fmt.Sprintf("log.%06d", i+1), int64(i), 1700000000+uint32(i)*1000)
		l.Time += 500
		l.Transaction("d", "t", []byte("v"), int32(i))
		if i < 63 {
			l.Rotate(fmt.Sprintf("log.%06d", i+2))
		}
		all = append(all, l)
	}
	s := binlogtest.Start(t, "9.7.4", all...)
	for _, tt := range []struct {
		at   uint32
		file string
	}{
		{41*1000 + 700, "log.000042"},
		{41*1000 + 300, "log.000041"}, // its file has nothing before it yet
		{63*1000 + 900, "log.000064"},
		{700, "log.000001"},
	} {
		before := len(s.Dumps())
		p, err := open(t, config(s)).Locate(t.Context(), binlog.Start{Time: time.Unix(1700000000+int64(tt.at), 0)})
		if err != nil || p.File != tt.file || p.Offset <= 4 {
			t.Errorf("%d: %+v, %v", tt.at, p, err)
		}
		if n := len(s.Dumps()) - before; n > 6+2 {
			t.Errorf("%d: %d files were looked into", tt.at, n)
		}
	}
}

// What is left is named with the transactions that it lacks.
func TestPurgedNamesWhatIsLeft(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	s.Set("gtid_purged", binlogtest.UUID+":1-2")
	s.Refuse(1236, "Cannot replicate because the source purged required binary logs.")
	err := open(t, config(s)).Run(t.Context(), position.Position{GTIDs: binlogtest.UUID + ":1"}, &recorder{})
	if !errors.Is(err, binlog.ErrPurged) {
		t.Fatal(err)
	}
	for _, want := range []string{"log.000001 to log.000002", "lack the transactions " + binlogtest.UUID + ":1-2", "canal.auto.reset.latest.pos.mode=true", "canal-relay cursor set", "earliest, latest, a time"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}
