package resume

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/position"
)

func at(file string, offset uint64) position.Position {
	return position.Position{File: file, Offset: offset, Host: "db", Port: 3306}
}

// TestChoose: readers' record decides, unless somebody set the cursor ahead of it.
func TestChoose(t *testing.T) {
	record := position.Resume{Position: at("binlog.000002", 500), Sent: 7}
	for name, c := range map[string]struct {
		saved  position.Saved
		offset uint64 // where it goes on
		sent   uint64
		says   string // in the log or the error
	}{
		"no cursor":               {position.Saved{}, 500, 7, ""},
		"our cursor is late":      {position.Saved{Position: at("binlog.000002", 400)}, 500, 7, ""},
		"our cursor is there":     {position.Saved{Position: at("binlog.000002", 500)}, 500, 7, ""},
		"set where readers are":   {position.Saved{Position: at("binlog.000002", 500), Foreign: true}, 500, 7, ""},
		"set ahead":               {position.Saved{Position: at("binlog.000003", 4), Foreign: true}, 4, 0, "going on there"},
		"set back":                {position.Saved{Position: at("binlog.000001", 4), Foreign: true}, 500, 7, "not ahead of what readers have"},
		"set on another server":   {position.Saved{Position: position.Position{File: "binlog.000009", Offset: 4, Host: "db2"}, Foreign: true}, 500, 7, "not ahead of what readers have"},
		"at-least-once went on":   {position.Saved{Position: at("binlog.000002", 900)}, 900, 0, "going on there"},
		"ours, of another server": {position.Saved{Position: position.Position{File: "binlog.000009", Offset: 4, Host: "db2"}}, 500, 7, ""},
	} {
		var log bytes.Buffer
		got, err := Choose(record, c.saved, slog.New(slog.NewTextHandler(&log, nil)))
		said := log.String()
		if err != nil {
			said += err.Error()
		}
		if got.Offset != c.offset || got.Sent != c.sent || c.says == "" && said != "" || !strings.Contains(said, c.says) {
			t.Errorf("%s: goes on at %d after %d rows, says %q", name, got.Offset, got.Sent, said)
		}
	}
}
