package binlog_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// begun notes where a stream begins, and ends it there.
type begun struct {
	recorder
	at position.Position
}

var errBegun = errors.New("begun")

func (b *begun) Begin(p position.Position) error { b.at = p; return errBegun }

// TestMissingTransactions: a source that lacks what a position names is read from where both have the same, and that is told; one
// that gives the numbers of lost transactions to new ones is not read.
func TestMissingTransactions(t *testing.T) {
	const other = "7be1439e-ecaa-11f1-aa2a-02fc00000001"
	lost := []string{"ALTER TABLE t"}
	for _, tt := range []struct {
		name, version string
		set           map[string]string
		from          position.Position
		want          string // GTIDs where it begins; empty for an error
		say           string
		told          bool
		ahead         []string // statements that the source does not have
	}{
		{"another server's, with a change of a table", "9.7.4", map[string]string{"gtid_executed": other + ":1-4," + binlogtest.UUID + ":1"},
			position.Position{GTIDs: other + ":1-6", ServerUUID: other}, other + ":1-4", "ALTER TABLE t", true, lost},
		{"the same, and nothing was executed since", "9.7.4", map[string]string{"gtid_executed": other + ":1-4"},
			position.Position{GTIDs: other + ":1-6", ServerUUID: other}, "", "lacks " + other + ":5-6, in which tables were changed (ALTER TABLE t)", false, lost},
		{"went on, with a change of a table", "10.11.18-MariaDB", map[string]string{"gtid_binlog_state": "0-1-7,0-2-8", "gtid_binlog_pos": "0-2-8"},
			position.Position{GTIDs: "0-1-9", File: "a.000001", Offset: 4}, "0-1-7", "ALTER TABLE t", true, lost},
		{"another server's", "9.7.4", map[string]string{"gtid_executed": other + ":1-4"}, position.Position{GTIDs: other + ":1-6", ServerUUID: other}, other + ":1-6", other + ":5-6", true, nil},
		{"another server's, told before", "9.7.4", map[string]string{"gtid_executed": other + ":1-4"}, position.Position{GTIDs: other + ":1-6", ServerUUID: binlogtest.UUID}, other + ":1-6", "", false, nil},
		{"its own", "9.7.4", map[string]string{"gtid_executed": strings.ToUpper(binlogtest.UUID) + ":1-6"}, position.Position{GTIDs: binlogtest.UUID + ":1-9"}, "", "lost transactions " + binlogtest.UUID + ":7-9", false, nil},
		{"its own, which wait for a replica", "9.7.4", map[string]string{"gtid_executed": binlogtest.UUID + ":1-6", "gtid_owned": binlogtest.UUID + ":8#5:7#4:9#11"},
			position.Position{GTIDs: binlogtest.UUID + ":1-9"}, binlogtest.UUID + ":1-9", "", false, nil},
		{"went on", "10.11.18-MariaDB", map[string]string{"gtid_binlog_state": "0-1-7,0-2-8", "gtid_binlog_pos": "0-2-8"}, position.Position{GTIDs: "0-1-9"}, "0-1-7", "missing=0-1-9", true, nil},
		{"is behind", "10.11.18-MariaDB", map[string]string{"gtid_binlog_state": "0-1-7", "gtid_binlog_pos": "0-1-7"}, position.Position{GTIDs: "0-1-9"}, "", "lacks 0-1-9", false, nil},
		{"has all", "10.11.18-MariaDB", map[string]string{"gtid_binlog_state": "0-1-9,0-2-8", "gtid_binlog_pos": "0-1-9"}, position.Position{GTIDs: "0-1-9"}, "0-1-9", "", false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one, two := logs()
			s := binlogtest.Start(t, tt.version, one, two)
			for name, value := range tt.set {
				s.Set(name, value)
			}
			c := config(s)
			c.Latest = true // is for purged positions
			told := ""
			c.Unusual = func(what string) { told += what }
			c.Ahead = func(context.Context, position.Position, position.Position) ([]string, error) { return tt.ahead, nil }
			var log bytes.Buffer
			r, err := binlog.NewReader(c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			h := &begun{}
			err = r.Run(context.Background(), tt.from, h)
			if (tt.want != "") != errors.Is(err, errBegun) || h.at.GTIDs != tt.want || h.at.File != "" {
				t.Errorf("began at %q: %v", h.at.GTIDs, err)
			}
			if said := log.String() + err.Error(); tt.say != "" && !strings.Contains(said, tt.say) || tt.say == "" && log.Len() > 0 {
				t.Errorf("said %s", said)
			}
			if (told == binlog.Lost) != tt.told {
				t.Errorf("told %q", told)
			}
		})
	}
}
