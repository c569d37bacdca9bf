package binlog_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a handler that keeps what it is told, and ends the stream when
// stop says so.
type recorder struct {
	began  position.Position
	events []*replication.BinlogEvent
	idle   int
	stop   func(*recorder) bool
}

var errStop = errors.New("enough")

func (h *recorder) check() error {
	if h.stop != nil && h.stop(h) {
		return errStop
	}
	return nil
}

func (h *recorder) Begin(p position.Position) error { h.began = p; return nil }

func (h *recorder) Idle() error { h.idle++; return h.check() }

func (h *recorder) HandleEvent(e *replication.BinlogEvent) error {
	h.events = append(h.events, parse.Keep(e))
	return h.check()
}

func (h *recorder) count(kind replication.EventType) (n int) {
	for _, e := range h.events {
		if e.Header.EventType == kind {
			n++
		}
	}
	return n
}

func config(s *binlogtest.Server) binlog.Config {
	return binlog.Config{Config: source.Config{Addr: s.Addr(), User: binlogtest.User, Password: binlogtest.Password, ServerID: 4711,
		ReplicaUUID: "99999999-0000-0000-0000-000000000001", Heartbeat: 15 * time.Second}}
}

func open(t *testing.T, c binlog.Config) *binlog.Reader {
	t.Helper()
	r, err := binlog.NewReader(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// logs are two files with the transactions 1 to 3 and 4 to 6; the times of the
// second are an hour later.
func logs() (*binlogtest.Log, *binlogtest.Log) {
	one, two := binlogtest.NewLog("log.000001", 0), binlogtest.NewLog("log.000002", 3)
	for i := range 3 {
		one.Time += 60
		one.Transaction("d", "t", []byte("v"), int32(i))
	}
	one.Rotate(two.Name)
	two.Time += 3600
	for i := range 3 {
		two.Time += 60
		two.Transaction("d", "t", []byte("v"), int32(i))
	}
	return one, two
}

func xids(n int) func(*recorder) bool {
	return func(h *recorder) bool { return h.count(replication.XID_EVENT) == n && h.idle > 0 }
}

func TestRun(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	h := &recorder{stop: xids(6)}
	if err := open(t, config(s)).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, h); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	if h.began.ServerUUID != binlogtest.UUID || h.began.Host != "127.0.0.1" || h.began.Port == 0 {
		t.Errorf("began at %+v", h.began)
	}
	if r := h.events[0].Event.(*replication.RotateEvent); string(r.NextLogName) != one.Name {
		t.Errorf("first event names %q: its checksum was not cut", r.NextLogName)
	}
	for _, e := range h.events {
		if rows, ok := e.Event.(*replication.RowsEvent); ok && (rows.Rows != nil || rows.Table == nil) {
			t.Error("rows were decoded")
		}
	}
	d := s.Dumps()[0]
	if d.ID != 4711 || d.UUID != "99999999-0000-0000-0000-000000000001" || d.File != one.Name || d.GTID {
		t.Errorf("dump %+v", d)
	}
	var sets string
	for _, q := range s.Queries() {
		sets += q + "\n"
	}
	for _, want := range []string{"@master_binlog_checksum=@@global.binlog_checksum", "@master_heartbeat_period=15000000000", "net_write_timeout=7200", "net_read_timeout=7200"} {
		if !strings.Contains(sets, want) {
			t.Errorf("no %s in\n%s", want, sets)
		}
	}
}

// TestDumpBy chooses between GTID set and file.
func TestDumpBy(t *testing.T) {
	set := binlogtest.UUID + ":1-4"
	tests := []struct {
		name, mode string
		from       position.Position
		gtid       bool
		err        error
		xids       int
	}{
		{"set", "ON", position.Position{File: "log.000001", Offset: 4, GTIDs: set}, true, nil, 2},
		{"set without file", "ON", position.Position{GTIDs: set}, true, nil, 2},
		{"set, source has none", "OFF", position.Position{File: "log.000001", Offset: 4, GTIDs: set}, false, nil, 6},
		{"set without file, source has none", "OFF", position.Position{GTIDs: set}, false, binlog.ErrStart, 0},
		{"no set", "ON", position.Position{File: "log.000002", Offset: 4}, false, nil, 3},
		{"beyond 4 GiB", "OFF", position.Position{File: "log.000002", Offset: 1 << 32}, false, binlog.ErrStart, 0},
		{"set, beyond 4 GiB", "ON", position.Position{File: "log.000002", Offset: 1 << 32, GTIDs: set}, true, nil, 2},
		{"another server's file", "OFF", position.Position{File: "log.000001", Offset: 4, ServerUUID: "x"}, false, binlog.ErrStart, 0},
		{"another server's set", "ON", position.Position{File: "log.000001", Offset: 4, ServerUUID: "x", GTIDs: set}, true, nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			one, two := logs()
			s := binlogtest.Start(t, "9.7.4", one, two)
			s.Set("gtid_mode", tt.mode)
			h := &recorder{stop: xids(tt.xids)}
			err := open(t, config(s)).Run(t.Context(), tt.from, h)
			if tt.err != nil {
				if !errors.Is(err, tt.err) {
					t.Errorf("%v", err)
				}
				return
			}
			if !errors.Is(err, errStop) || s.Dumps()[0].GTID != tt.gtid {
				t.Errorf("%v, dump %+v", err, s.Dumps())
			}
		})
	}
}

func TestMariaDB(t *testing.T) {
	b, err := os.ReadFile("testdata/mariadb.binlog")
	if err != nil {
		t.Fatal(err)
	}
	s := binlogtest.Start(t, "10.11.19-MariaDB-log", binlogtest.Load("maria.000001", b))
	s.Set("gtid_binlog_state", "0-2-755")
	h := &recorder{stop: xids(2)}
	if err := open(t, config(s)).Run(t.Context(), position.Position{GTIDs: "0-2-755"}, h); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	if d := s.Dumps()[0]; !d.GTID || d.GTIDs != "0-2-755" {
		t.Errorf("dump %+v", d)
	}
	first := ""
	for _, e := range h.events {
		if g, ok := e.Event.(*replication.MariadbGTIDEvent); ok && first == "" {
			first = g.GTID.String()
		}
	}
	if first != "0-2-756" || h.count(replication.MARIADB_ANNOTATE_ROWS_EVENT) == 0 {
		t.Errorf("first transaction %s, %d annotations", first, h.count(replication.MARIADB_ANNOTATE_ROWS_EVENT))
	}
	if !strings.Contains(strings.Join(s.Queries(), ";"), "@mariadb_slave_capability=4") {
		t.Error("no capability announced")
	}
}

// TestLocate finds starts by every means. The transaction ends are taken from
// the log itself.
func TestLocate(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	r := open(t, config(s))
	h := &recorder{stop: xids(6)}
	_ = r.Run(t.Context(), position.Position{File: one.Name, Offset: 4}, h)
	var ends []uint64
	for _, e := range h.events {
		if e.Header.EventType == replication.XID_EVENT {
			ends = append(ends, uint64(e.Header.LogPos))
		}
	}
	base := time.Unix(1700000000, 0)
	tests := []struct {
		name  string
		start binlog.Start
		file  string
		at    uint64
		gtids string
	}{
		{"end", binlog.Start{}, two.Name, ends[5], "1-6"},
		{"gtid", binlog.Start{GTIDs: binlogtest.UUID + ":1-2"}, "", 0, "1-2"},
		{"file", binlog.Start{Journal: two.Name}, two.Name, 4, ""},
		{"boundary", binlog.Start{Journal: one.Name, Offset: ends[1]}, one.Name, ends[1], "1-2"},
		{"start of the XID", binlog.Start{Journal: one.Name, Offset: ends[1] - 31}, one.Name, ends[1] - 31, "1-2"},
		{"within a transaction", binlog.Start{Journal: one.Name, Offset: ends[1] + 100}, one.Name, ends[1], "1-2"},
		{"before the first", binlog.Start{Journal: one.Name, Offset: ends[0] - 60}, one.Name, 4, ""},
		{"time", binlog.Start{Time: base.Add(121 * time.Second)}, one.Name, ends[1] - 31, "1-2"},
		{"time between files", binlog.Start{Time: base.Add(time.Hour)}, one.Name, ends[2] - 31, "1-3"},
		{"time in the second", binlog.Start{Time: base.Add(time.Hour + 61*time.Second)}, two.Name, ends[3] - 31, "1-4"},
		{"time in a named file", binlog.Start{Journal: two.Name, Time: base}, two.Name, 4, ""},
		{"time before all", binlog.Start{Time: base.Add(-time.Hour)}, one.Name, 4, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := r.Locate(t.Context(), tt.start)
			want := ""
			if tt.gtids != "" {
				want = binlogtest.UUID + ":" + tt.gtids
			}
			if err != nil || p.File != tt.file || p.Offset != tt.at || p.GTIDs != want {
				t.Errorf("%s:%d %s, %v; want %s:%d %s", p.File, p.Offset, p.GTIDs, err, tt.file, tt.at, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		code    uint16
		message string
		want    error
		says    string
	}{
		{1236, "Cannot replicate because the source purged required binary logs.", binlog.ErrPurged, "log.000001 to log.000002"},
		{1236, "Client requested source to start replication from position > file size", binlog.ErrPurged, "canal.auto.reset.latest.pos.mode"},
		{1236, "A replica with the same server_uuid/server_id as this replica has connected to the source", nil, "another reader with server id 4711"},
		{4052, "A slave with the same server_uuid/server_id as this slave has connected to the master", nil, "another reader with server id 4711"},
		{1236, "log event entry exceeded max_allowed_packet", binlog.ErrFormat, "max_allowed_packet"},
		{1227, "Access denied; you need (at least one of) the REPLICATION CLIENT privilege(s)", binlog.ErrDenied, "GRANT REPLICATION CLIENT ON *.* TO 'canal'@'%';"},
		{1045, "Access denied for user 'canal'@'10.0.0.1' (using password: YES)", binlog.ErrDenied, "GRANT REPLICATION CLIENT"},
	}
	for _, tt := range tests {
		one, two := logs()
		s := binlogtest.Start(t, "9.7.4", one, two)
		s.Refuse(tt.code, tt.message)
		h := &recorder{}
		err := open(t, config(s)).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, h)
		if !h.began.IsZero() {
			t.Errorf("%d %s: the stream began at %+v, which the source refused", tt.code, tt.message, h.began)
		}
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%d %s: %v", tt.code, tt.message, err)
		}
		if tt.want == nil && (errors.Is(err, binlog.ErrPurged) || errors.Is(err, binlog.ErrFormat)) {
			t.Errorf("%d %s: %v", tt.code, tt.message, err)
		}
	}
}

// TestLatest continues at the end when the position is gone and that is allowed.
func TestLatest(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	c := config(s)
	c.Latest = true
	h := &recorder{stop: func(h *recorder) bool { return h.idle > 0 && len(h.events) > 0 }}
	if err := open(t, c).Run(t.Context(), position.Position{File: "log.000000", Offset: 4}, h); !errors.Is(err, errStop) || h.began.GTIDs != binlogtest.UUID+":1-6" {
		t.Errorf("%v, began at %+v", err, h.began)
	}
}

func TestUnusable(t *testing.T) {
	for _, tt := range []struct{ name, value, says string }{
		{"log_bin", "OFF", "log_bin"}, {"binlog_format", "STATEMENT", "binlog_format"}, {"binlog_row_image", "MINIMAL", "binlog_row_image"},
	} {
		one, _ := logs()
		s := binlogtest.Start(t, "9.7.4", one)
		s.Set(tt.name, tt.value)
		c := config(s)
		c.Formats, c.RowImages = []string{"ROW", "MIXED"}, []string{"FULL"}
		err := open(t, c).Run(t.Context(), position.Position{}, &recorder{})
		if !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestStop ends a stream that waits, at once and without an error.
func TestStop(t *testing.T) {
	one, _ := logs()
	s := binlogtest.Start(t, "9.7.4", one)
	ctx, cancel := context.WithCancel(t.Context())
	h := &recorder{stop: func(h *recorder) bool {
		if h.idle == 2 {
			cancel()
		}
		return false
	}}
	if err := open(t, config(s)).Run(ctx, position.Position{File: one.Name, Offset: 4}, h); err != nil {
		t.Error(err)
	}
}

// TestDamage refuses bytes that changed on the way.
func TestDamage(t *testing.T) {
	one, _ := logs()
	one.Bytes[len(one.Bytes)-44-6] ^= 1 // the last transaction's XID; a rotate event follows
	s := binlogtest.Start(t, "9.7.4", one)
	err := open(t, config(s)).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, &recorder{})
	if !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), "checksum") {
		t.Error(err)
	}
}

// TestUnknownEvents takes those marked ignorable and refuses the others.
func TestUnknownEvents(t *testing.T) {
	for _, flags := range []uint16{0, replication.LOG_EVENT_IGNORABLE_F} {
		one, _ := logs()
		one.Bytes = append(one.Bytes, binlogtest.Event(99, 0, uint32(len(one.Bytes)+19+3+4), flags, []byte("abc"))...)
		one.Transaction("d", "t", nil, 1)
		s := binlogtest.Start(t, "9.7.4", one)
		err := open(t, config(s)).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, &recorder{stop: xids(4)})
		if flags == 0 && !errors.Is(err, binlog.ErrFormat) || flags != 0 && !errors.Is(err, errStop) {
			t.Errorf("flags %x: %v", flags, err)
		}
	}
}

func TestDefinitions(t *testing.T) {
	one, _ := logs()
	s := binlogtest.Start(t, "9.7.4", one)
	s.Define("d", "t", binlogtest.CreateTable)
	r := open(t, config(s))
	for range 2 {
		if sql, err := r.ShowCreateTable(t.Context(), "d", "t"); err != nil || sql != binlogtest.CreateTable {
			t.Fatalf("%q, %v", sql, err)
		}
		s.Disconnect() // the next one needs a new connection
	}
	if _, err := r.ShowCreateTable(t.Context(), "d", "none"); !errors.Is(err, schema.ErrNoTable) {
		t.Error(err)
	}
	c := config(s)
	c.Addr = "127.0.0.1:1"
	if _, err := open(t, c).ShowCreateTable(t.Context(), "d", "t"); !errors.Is(err, binlog.ErrAway) {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	one, _ := logs()
	report, err := open(t, config(binlogtest.Start(t, "9.7.4", one))).Check(t.Context())
	if err != nil || report.Version != "9.7.4" || report.Retention != time.Hour || !report.GTID() ||
		report.Grant != "GRANT REPLICATION CLIENT ON *.* TO 'canal'@'%';" {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := logs()
	paths := []string{filepath.Join(dir, one.Name), filepath.Join(dir, two.Name)}
	for i, l := range []*binlogtest.Log{one, two} {
		if err := l.Write(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	h := &recorder{}
	if err := binlog.NewFiles(paths...).Run(t.Context(), position.Position{}, h); err != io.EOF || h.count(replication.XID_EVENT) != 6 || h.began.File != one.Name {
		t.Errorf("%v, %d transactions from %+v", err, h.count(replication.XID_EVENT), h.began)
	}
	h = &recorder{}
	at := uint64(len(two.Bytes))
	if err := binlog.NewFiles(paths...).Run(t.Context(), position.Position{File: two.Name, Offset: at}, h); err != io.EOF || len(h.events) != 1 || h.count(replication.FORMAT_DESCRIPTION_EVENT) != 1 {
		t.Errorf("from the end: %v, %d events", err, len(h.events))
	}

	cut := filepath.Join(dir, "cut")
	if err := os.WriteFile(cut, one.Bytes[:len(one.Bytes)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	err := binlog.NewFiles(cut).Run(t.Context(), position.Position{}, &recorder{})
	if !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), "cut short") {
		t.Error(err)
	}
	for name, content := range map[string]string{"text": "not a binlog", "encrypted": "\xfdbin....", "empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := binlog.NewFiles(path).Run(t.Context(), position.Position{}, &recorder{}); !errors.Is(err, binlog.ErrFormat) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
