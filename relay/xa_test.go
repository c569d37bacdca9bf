package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// xaLogs are XA transactions of all fates, prepared in one file and decided in
// the next, among others; with values of a size. EV-03.
func xaLogs(size int) ([]*binlogtest.Log, []string) {
	v := bytes.Repeat([]byte("v"), size)
	one, two := binlogtest.NewLog("binlog.000001", 0), binlogtest.NewLog("binlog.000002", 7)
	one.Transaction("d", "t", v, 1)                  // 1
	one.Prepare("same", false, "d", "t", v, 2, 3, 4) // 2
	one.Prepare("far", false, "d", "t", v, 5, 6, 7)  // 3
	one.Prepare("back", false, "d", "t", v, 100)     // 4
	one.Prepare("other", false, "d", "u", v, 101)    // 5
	one.Transaction("d", "t", v, 8)                  // 6
	one.Decide("COMMIT", "same")                     // 7
	one.Rotate(two.Name)
	two.Prepare("phase", true, "d", "t", v, 9, 10) // 8
	two.Decide("ROLLBACK", "back")                 // 9
	two.Decide("COMMIT", "other")                  // 10
	two.Transaction("d", "t", v, 11)               // 11
	two.Decide("COMMIT", "far")                    // 12
	two.Transaction("d", "t", v, 12)               // 13
	want := []string{"1#0=1", "6#0=8", "7#0=2", "7#1=3", "7#2=4", "7#3=XACOMMIT", "8#0=9", "8#1=10", "9#0=XAROLLBACK", "10#0=XACOMMIT", "11#0=11",
		"12#0=5", "12#1=6", "12#2=7", "12#3=XACOMMIT", "13#0=12"}
	return []*binlogtest.Log{one, two}, want
}

// xaSeen collects transaction#index=id of what is sent.
type xaSeen []string

func (x *xaSeen) take(b *event.Batch) {
	for i := range b.Changes {
		c := &b.Changes[i]
		what := c.Kind.String()
		if c.Kind == event.Insert {
			what = fmt.Sprint(uint32(c.Image[1]) | uint32(c.Image[2])<<8)
		}
		_, n, _ := strings.Cut(string(c.Tx), ":")
		*x = append(*x, fmt.Sprintf("%s#%d=%s", n, c.Row, what))
	}
}

// TestXA: rows of an XA transaction come when it is committed, as part of the
// commit's transaction, or not at all; wherever the stream breaks, from wherever
// it goes on, and whether they were held or must be read again.
func TestXA(t *testing.T) {
	for size, step := range map[int]int{1: 4, maxHeld / 2: 17} {
		logs, want := xaLogs(size)
		t.Run(fmt.Sprint("bytes ", size), func(t *testing.T) {
			t.Run("files", func(t *testing.T) {
				var paths []string
				for _, l := range logs {
					paths = append(paths, filepath.Join(t.TempDir(), l.Name))
					if err := l.Write(paths[len(paths)-1]); err != nil {
						t.Fatal(err)
					}
				}
				c := config(t, `d\.t`, tables{"d.t": binlogtest.CreateTable})
				c.Files = true
				r := New(c, position.Resume{}, binlog.NewFiles(paths...), nil, nil)
				var group errgroup.Group
				group.Go(func() error { return r.Run(t.Context()) })
				var got xaSeen
				_, _ = drain(t.Context(), r, got.take)
				t.Log(group.Wait())
				for i := range want { // what a file says of itself are offsets too, but here there are GTIDs
					if i >= len(got) || got[i] != want[i] {
						t.Fatalf("got %v", got)
					}
				}
			})
			for cut := 0; cut < 60; cut += step {
				t.Run(fmt.Sprint("cut after ", cut), func(t *testing.T) {
					t.Parallel()
					xaRun(t, logs, want, position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}}, cut)
				})
			}
		})
	}
}

// xaRun relays from a position on, and from every position on that it gives.
func xaRun(t *testing.T, logs []*binlogtest.Log, want []string, from position.Resume, cut int) {
	s := binlogtest.Start(t, "9.7.4", logs...)
	s.Define("d", "t", binlogtest.CreateTable)
	if cut > 0 {
		s.Cut(cut)
	}
	c := config(t, `d\.t`, reader(t, s, nil))
	c.BatchBytes = 10
	var got xaSeen
	resumes := map[int]position.Resume{}
	at := from
	follow(t, New(c, from, reader(t, s, nil), nil, nil), func([]seen) bool { return len(got) >= len(want) }, func(b *event.Batch) {
		got.take(b)
		if !b.Resume.IsZero() {
			at.Position = b.Resume
		}
		at.Sent = b.Rows
		resumes[len(got)] = at
	})
	if !slices.Equal(got, want) {
		t.Fatalf("from %s:%d: got  %v\nwant %v", from.File, from.Offset, got, want)
	}
	if cut > 0 {
		return
	}
	for n, at := range resumes {
		if n < len(want) {
			xaRun(t, logs, want[n:], at, 1000)
		}
	}
}

type tables map[string]string

func (s tables) ShowCreateTable(_ context.Context, database, table string) (string, error) {
	return s[database+"."+table], nil
}

func (s tables) ShowCreateDatabase(context.Context, string) (string, error) {
	return "", schema.ErrNoTable
}

func (s tables) End(context.Context) (position.Position, error) {
	return position.Position{}, nil
}

func (s tables) Lacks(context.Context, string) (bool, error) { return false, nil }

func (s tables) LowerCase(context.Context) (int, error) { return 0, nil }

// TestXALost names a transaction whose rows are gone, or are another server's.
func TestXALost(t *testing.T) {
	logs, _ := xaLogs(1)
	s := binlogtest.Start(t, "9.7.4", logs...)
	s.Define("d", "t", binlogtest.CreateTable)
	for name, change := range map[string]func(*position.XA){
		"purged":         func(x *position.XA) { x.File = "binlog.000000" },
		"another server": func(x *position.XA) { x.ServerUUID = "99999999-0000-0000-0000-000000000001" },
		"another place":  func(x *position.XA) { x.Start = 4 },
	} {
		t.Run(name, func(t *testing.T) {
			x := position.XA{XID: binlogtest.XID("far"), File: "binlog.000001", Start: 4, ServerUUID: binlogtest.UUID}
			change(&x)
			from := position.Position{File: "binlog.000002", Offset: 4, ServerUUID: binlogtest.UUID, Prepared: []position.XA{x}}
			c := config(t, `d\.t`, reader(t, s, nil))
			r := New(c, position.Resume{Position: from}, reader(t, s, func(c *binlog.Config) { c.Latest = true }), nil, nil)
			var group errgroup.Group
			group.Go(func() error { return r.Run(t.Context()) })
			_, _ = drain(t.Context(), r, nil)
			if err := group.Wait(); !errors.Is(err, ErrPrepared) || !strings.Contains(err.Error(), binlogtest.XID("far")) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestXAElsewhere reads the rows of a transaction from another server than the
// one it was prepared on, by its GTID.
func TestXAElsewhere(t *testing.T) {
	logs, want := xaLogs(1)
	s := binlogtest.Start(t, "9.7.4", logs...)
	s.Define("d", "t", binlogtest.CreateTable)
	gone := "99999999-0000-0000-0000-000000000001"
	from := position.Position{File: "bin.000009", Offset: 4, ServerUUID: gone, GTIDs: binlogtest.UUID + ":1-11",
		Prepared: []position.XA{{XID: binlogtest.XID("far"), File: "bin.000001", Start: 9, ServerUUID: gone, GTID: binlogtest.UUID + ":3"}}}
	c := config(t, `d\.t`, reader(t, s, nil))
	var got xaSeen
	follow(t, New(c, position.Resume{Position: from}, reader(t, s, nil), nil, nil), func([]seen) bool { return len(got) >= 5 }, got.take)
	if !slices.Equal(got, want[len(want)-5:]) {
		t.Errorf("got %v", got)
	}
}

// TestXABeyond4GiB: a transaction was prepared where no dump by file can begin, and what MariaDB leaves out up to its commit is so
// much that nobody can tell where in the file that is. Its rows come all the same, also from a server that has them elsewhere.
func TestXABeyond4GiB(t *testing.T) {
	for _, version := range []string{"9.7.4", "10.11.18-MariaDB"} {
		t.Run(version, func(t *testing.T) {
			l := binlogtest.NewLog("binlog.000001", 0)
			l.Maria = version != "9.7.4"
			v := bytes.Repeat([]byte("v"), maxHeld/2)
			for i := range 5 {
				l.Transaction("d", "t", []byte("v"), int32(i))
				l.Skip(1<<30 + 100)
			}
			l.Prepare("far", false, "d", "t", v, 5, 6, 7)
			l.Transaction("d", "t", v, 8)
			l.Skip(3 << 30)
			l.Transaction("d", "t", v, 9)
			l.Decide("COMMIT", "far")
			l.Transaction("d", "t", v, 10)
			s := binlogtest.Start(t, version, l)
			s.Set("gtid_mode", "ON")
			s.Define("d", "t", binlogtest.CreateTable)
			read := func(p position.Position, until int) (got xaSeen, last position.Position) {
				c := config(t, `d\.t`, reader(t, s, nil))
				c.BatchBytes = 1
				follow(t, New(c, position.Resume{Position: p}, reader(t, s, nil), nil, nil), func([]seen) bool { return len(got) >= until }, func(b *event.Batch) {
					got.take(b)
					if !b.Resume.IsZero() && len(got) <= 7 { // behind the prepare
						last = b.Resume
					}
				})
				for i := range got {
					_, got[i], _ = strings.Cut(got[i], "=")
				}
				return got, last
			}
			all, last := read(position.Position{File: l.Name, Offset: 4, GTIDs: map[bool]string{true: "1-1-1"}[l.Maria]}, 12)
			want := xaSeen{"0", "1", "2", "3", "4", "8", "9", "5", "6", "7", "XACOMMIT", "10"}
			if !slices.Equal(all, want) {
				t.Errorf("got %v, want %v", all, want)
			}
			if len(last.Prepared) != 1 || last.Prepared[0].Start < 1<<32 {
				t.Fatalf("stored: %+v", last)
			}
			if got, _ := read(last, 6); !slices.Equal(got, want[6:]) {
				t.Errorf("from %s:%d %s: got %v, want %v", last.File, last.Offset, last.GTIDs, got, want[6:])
			}
			x := &last.Prepared[0]
			x.File, x.Start, x.ServerUUID = "other.000001", 4, "99999999-0000-0000-0000-000000000001"
			if got, _ := read(last, 6); !slices.Equal(got, want[6:]) {
				t.Errorf("elsewhere: got %v, want %v", got, want[6:])
			}
		})
	}
}
