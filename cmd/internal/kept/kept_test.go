package kept

import (
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

func TestOf(t *testing.T) {
	one, two := binlogtest.NewLog("log.000001", 0), binlogtest.NewLog("log.000002", 0)
	s := binlogtest.Start(t, "9.7.4", one, two)
	i := &config.Instance{Name: "d"}
	i.Source.Addr, i.Source.User, i.Source.Password = s.Addr(), binlogtest.User, binlogtest.Password
	at := position.Position{File: "log.000001", Offset: 4, Time: time.Now().Add(-time.Hour)}
	for _, tt := range []struct {
		seconds string
		at      position.Position
		want    string
	}{
		{"0", at, "for ever"},
		{"9000", at, "for 90 minutes more at least, until "},
		{"2592000", at, "for 30 days more at least, until "},
		{"1800", at, "at any time"},
		{"9000", position.Position{File: "log.000000", Offset: 4}, "cannot be told: the binlog at this position was purged"},
		{"9000", position.Position{}, "cannot be told: there is no stored position"},
	} {
		s.Set("binlog_expire_logs_seconds", tt.seconds)
		if got := Of(t.Context(), i, tt.at).String(); !strings.Contains(got, tt.want) {
			t.Errorf("%s s: %s, want %s", tt.seconds, got, tt.want)
		}
	}
	s.Set("binlog_expire_logs_auto_purge", "OFF")
	if got := Of(t.Context(), i, at); !got.Ever {
		t.Errorf("nothing is purged: %s", got)
	}
	s.Down()
	if got := Of(t.Context(), i, at).String(); !strings.Contains(got, "cannot be told: connect to source") {
		t.Error(got)
	}
}
