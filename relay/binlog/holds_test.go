package binlog_test

import (
	"errors"
	"testing"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestHolds asks about positions that the source has and has not, without
// becoming a replica.
func TestHolds(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	r := open(t, config(s))
	for _, tt := range []struct {
		from position.Position
		want error
	}{
		{position.Position{File: one.Name, Offset: 4}, nil},
		{position.Position{File: two.Name, Offset: 4}, nil},
		{position.Position{GTIDs: binlogtest.UUID + ":1-6"}, nil}, // all there is
		{position.Position{File: "log.000000", Offset: 4}, binlog.ErrPurged},
	} {
		if err := r.Holds(t.Context(), tt.from); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%+v: got %v, want %v", tt.from, err, tt.want)
		}
	}
	for _, d := range s.Dumps() {
		if d.ID != 0 {
			t.Errorf("a dump with the server id %d", d.ID)
		}
	}
}
