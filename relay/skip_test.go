package relay

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestLeaveOut: an order costs exactly what it names, is said in the log, and
// comes with the first position behind it.
func TestLeaveOut(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	l.GTID()
	l.Query("d", "CREATE TABLE d.t (id INT, v LONGBLOB)")
	l.Transaction("d", "t", []byte("x"), 1, 2, 3)
	l.Transaction("d", "t", []byte("x"), 4, 5)
	l.GTID()
	l.Query("d", "DROP TABLE d.u")
	l.Transaction("d", "t", []byte("x"), 6)
	path := filepath.Join(t.TempDir(), l.Name)
	if err := l.Write(path); err != nil {
		t.Fatal(err)
	}
	all, _, _ := leftOut(t, path, "")
	if len(all) != 8 {
		t.Fatalf("%d changes: %v", len(all), all)
	}
	without := func(from, to int) string {
		return strings.Join(append(append([]string{}, all[:from]...), all[to:]...), " ")
	}
	place := func(n int) string { p, _, _ := strings.Cut(all[n], "="); return p }
	for _, c := range []struct {
		name, at string
		want     string
		tx       string // in whose batch it is said; empty: nothing is left out
	}{
		{"an event", place(2), without(2, 3), ":2"},
		{"the last event of a transaction", place(5), without(5, 6), ":3"},
		{"a transaction", binlogtest.UUID + ":2", without(1, 4), ":2"},
		{"a statement", place(6), without(6, 7), ":4"},
		{"a transaction of one statement", binlogtest.UUID + ":4", without(6, 7), ":4"},
		{"several", place(2) + " " + place(6), without(2, 3)[:len(without(2, 3))-len(all[6])-len(all[7])-2] + " " + all[7], ":2 :4"},
		{"another file", "binlog.000002" + strings.TrimPrefix(place(2), l.Name), without(0, 0), ""},
		{"the middle of an event", place(2) + "0", without(0, 0), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, skipped, log := leftOut(t, path, c.at)
			if strings.Join(got, " ") != c.want {
				t.Errorf("changes\n%s\nwant\n%s", strings.Join(got, " "), c.want)
			}
			want := ""
			for _, tx := range strings.Fields(c.tx) {
				want += binlogtest.UUID + ":1-" + tx[1:]
			}
			if c.tx == ":1" {
				want = binlogtest.UUID + c.tx
			}
			if skipped != want {
				t.Errorf("said with the position %q, want %q", skipped, want)
			}
			if said := strings.Contains(log, "left out, as an operator ordered"); said != (c.tx != "") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// leftOut relays a file under an order. It returns the changes, each as its
// place and kind, and the GTIDs of the positions with which the order is said to
// be carried out.
func leftOut(t *testing.T, path, at string) (changes []string, skipped, log string) {
	t.Helper()
	c := config(t, `d\..*`, nil)
	c.Files = true
	var text bytes.Buffer
	r := New(c, position.Resume{Skip: at}, binlog.NewFiles(path), nil, slog.New(slog.NewTextHandler(&text, nil)))
	var group errgroup.Group
	group.Go(func() error { return r.Run(t.Context()) })
	_, _ = drain(t.Context(), r, func(b *event.Batch) {
		for i := range b.Changes {
			changes = append(changes, fmt.Sprintf("%s:%d=%s", b.Changes[i].File, b.Changes[i].Offset, b.Changes[i].Kind))
		}
		if b.Skipped {
			skipped += b.Resume.GTIDs
		}
	})
	if err := group.Wait(); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Fatal(err)
	}
	return changes, skipped, text.String()
}
