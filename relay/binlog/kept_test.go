package binlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

func TestKept(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	r := open(t, config(s))
	s.Set("binlog_expire_logs_seconds", "0")
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	if until, err := r.Kept(t.Context(), position.Position{File: "log.000001", Offset: 4, Time: old}); err != nil || !until.IsZero() {
		t.Errorf("for ever: %v, %v", until, err)
	}
	s.Set("binlog_expire_logs_seconds", "7200")
	for _, tt := range []struct {
		at   position.Position
		from time.Time
		says string
	}{
		{position.Position{File: "log.000001", Offset: 4, Time: old}, old, ""},
		{position.Position{File: "log.000002", Offset: 4, Time: old}, time.Now(), ""}, // it is being written
		{position.Position{File: "log.000001", Offset: 4}, time.Time{}, "has no time"},
		{position.Position{File: "log.000000", Offset: 4, Time: old}, time.Time{}, "has no file log.000000 any more"},
	} {
		until, err := r.Kept(t.Context(), tt.at)
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(tt.says, "no file") != errors.Is(err, binlog.ErrPurged) {
				t.Errorf("%v: %v, %v", tt.at, until, err)
			}
			continue
		}
		if late := until.Sub(tt.from) - 2*time.Hour; err != nil || late < 0 || late > time.Minute {
			t.Errorf("%v: %v, %v", tt.at, until, err)
		}
	}
}
