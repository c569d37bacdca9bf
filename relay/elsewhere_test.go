package relay

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/history"
)

// promoted is a source whose first stream breaks at its end, and whose second one comes from a server that has less.
type promoted struct {
	binlog.Events
	second binlog.Events
	common string
	runs   int
}

func (p *promoted) Run(ctx context.Context, from position.Position, h binlog.Handler) error {
	if p.runs++; p.runs == 1 {
		_ = p.Events.Run(ctx, from, h)
		return errors.New("gone")
	}
	_ = p.second.Run(ctx, position.Position{GTIDs: p.common}, h)
	<-ctx.Done()
	return nil
}

// TestLostStatement: within a term, the layouts of a server that never got a statement are those from before it.
func TestLostStatement(t *testing.T) {
	one, two := binlogtest.NewLog("binlog.000001", 0), binlogtest.NewLog("binlog.000002", 3)
	one.GTID() // 1
	one.Query("d", "CREATE TABLE t (id INT, a LONGBLOB)")
	one.Transaction("d", "t", []byte("v"), 1) // 2
	one.GTID()                                // 3, which is lost
	one.Query("d", "ALTER TABLE t RENAME COLUMN a TO x")
	two.Transaction("d", "t", []byte("v"), 2) // 4
	var files []binlog.Events
	for _, l := range []*binlogtest.Log{one, two} {
		path := filepath.Join(t.TempDir(), l.Name)
		if err := l.Write(path); err != nil {
			t.Fatal(err)
		}
		files = append(files, binlog.NewFiles(path))
	}
	f, err := filter.New(filter.Config{Regex: `d\.t`})
	if err != nil {
		t.Fatal(err)
	}
	kept := history.NewFile(filepath.Join(t.TempDir(), "schema.db"))
	defer kept.Close()
	c := Config{Filter: f, Files: true, Tracker: schema.NewTracker(schema.DefaultConfig(), nil, kept)}
	var got []string
	follow(t, New(c, position.Resume{}, &promoted{Events: files[0], second: files[1], common: binlogtest.UUID + ":1-2"}, nil, nil),
		func([]seen) bool { return len(got) == 2 }, func(b *event.Batch) {
			for i := range b.Changes {
				if c := &b.Changes[i]; c.Kind == event.Insert {
					got = append(got, c.Layout.Table.Columns[1].Name)
				}
			}
		})
	if !slices.Equal(got, []string{"a", "a"}) {
		t.Errorf("columns %q", got)
	}
}
