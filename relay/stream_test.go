package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// reader connects to a test server.
func reader(t testing.TB, s *binlogtest.Server, change func(*binlog.Config)) *binlog.Reader {
	t.Helper()
	c := binlog.Config{}
	c.Addr, c.User, c.Password = s.Addr(), binlogtest.User, binlogtest.Password
	c.ServerID, c.ReplicaUUID, c.Heartbeat = 1234, "99999999-0000-0000-0000-000000000001", 15*time.Second
	if change != nil {
		change(&c)
	}
	r, err := binlog.NewReader(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// follow relays from a server until enough says so.
func follow(t *testing.T, r *Relay, enough func([]seen) bool, each func(*event.Batch)) []seen {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r.outage.First = time.Millisecond
	var group errgroup.Group
	group.Go(func() error { return r.Run(ctx) })
	var all []seen
	for !enough(all) {
		b, err := r.Next(ctx)
		if err != nil {
			t.Fatalf("Next: %v, Run: %v", err, group.Wait())
		}
		s := seen{Batch: *b}
		for i := range b.Changes {
			c := &b.Changes[i]
			s.lines = append(s.lines, line(c))
			for n := range c.Rows {
				s.rows = append(s.rows, fmt.Sprintf("%s#%d", c.Tx, c.Row+uint64(n)))
			}
		}
		s.Changes = nil
		all = append(all, s)
		if each != nil {
			each(b)
		}
		r.Release(b)
	}
	cancel()
	if err := group.Wait(); err != nil {
		t.Errorf("Run after its context ended: %v", err)
	}
	return all
}

func rowsOf(batches []seen) (rows []string) {
	for _, b := range batches {
		rows = append(rows, b.rows...)
	}
	return rows
}

func ids(from, n int) (out []int32) {
	for i := range n {
		out = append(out, int32(from+i))
	}
	return out
}

// source is a server with transactions of 1, 3 and 40 rows in two files.
func source(t *testing.T) (*binlogtest.Server, []string) {
	one := binlogtest.NewLog("binlog.000001", 0)
	two := binlogtest.NewLog("binlog.000002", 2)
	one.Transaction("d", "t", []byte("x"), 1)
	one.Transaction("d", "t", []byte("x"), ids(2, 3)...)
	one.Rotate(two.Name)
	two.Transaction("d", "t", bytes.Repeat([]byte("y"), 100), ids(5, 40)...)
	two.Transaction("d", "t", []byte("x"), 45)
	s := binlogtest.Start(t, "9.7.4", one, two)
	s.Define("d", "t", binlogtest.CreateTable)
	var want []string
	for tx, n := range []int{1, 3, 40, 1} {
		for i := range n {
			want = append(want, fmt.Sprintf("%s:%d#%d", binlogtest.UUID, tx+1, i))
		}
	}
	return s, want
}

// TestReconnect breaks the connection after every possible number of events, and
// once more: no row may be lost or doubled, and batches must continue each other's
// indexes (GT-02).
func TestReconnect(t *testing.T) {
	for _, gtid := range []string{"ON", "OFF"} {
		for cut := 1; cut < 110; cut += 3 {
			t.Run(fmt.Sprintf("gtid %s, cut after %d", gtid, cut), func(t *testing.T) {
				t.Parallel()
				s, want := source(t)
				s.Set("gtid_mode", gtid)
				s.Cut(cut, 7)
				c := config(t, `d\.t`, reader(t, s, nil))
				c.BatchBytes = 300
				r := New(c, position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}}, reader(t, s, nil), nil, nil)
				got := rowsOf(follow(t, r, func(b []seen) bool { return len(rowsOf(b)) >= len(want) }, nil))
				if !slices.Equal(got, want) {
					t.Errorf("got %v", got)
				}
			})
		}
	}
}

// TestBeyond4GiB, case PC-07: a file grows past 4 GiB, where the offsets in event headers begin anew. Positions go on
// growing. From one behind that, a stream goes on by GTID; by file, which cannot be, it is refused with the remedy.
func TestBeyond4GiB(t *testing.T) {
	for _, gtid := range []string{"ON", "OFF"} {
		t.Run("gtid "+gtid, func(t *testing.T) {
			l := binlogtest.NewLog("binlog.000001", 0)
			for i := range 5 {
				l.Transaction("d", "t", []byte("x"), ids(10*i, 3)...)
				l.Skip(1<<30 + 100)
			}
			l.Transaction("d", "t", []byte("x"), ids(90, 2)...)
			s := binlogtest.Start(t, "9.7.4", l)
			s.Set("gtid_mode", gtid)
			s.Define("d", "t", binlogtest.CreateTable)
			from := func(p position.Position) *Relay {
				c := config(t, `d\.t`, reader(t, s, nil))
				c.BatchBytes = 1 // one transaction
				return New(c, position.Resume{Position: p}, reader(t, s, nil), nil, nil)
			}
			var place uint64 // in the file, of the last change that was read
			read := func(p position.Position, n int) []seen {
				return follow(t, from(p), func(b []seen) bool { return len(rowsOf(b)) >= n }, func(b *event.Batch) {
					for i := range b.Changes {
						place = b.Changes[i].Offset
					}
				})
			}
			batches := read(position.Position{File: l.Name, Offset: 4}, 17)
			var last position.Position
			for _, b := range batches {
				if b.Resume.IsZero() || last.Offset > 1<<32 {
					continue
				}
				if b.Resume.Offset <= last.Offset {
					t.Errorf("from %d to %d", last.Offset, b.Resume.Offset)
				}
				last = b.Resume
			}
			if last.Offset < 1<<32 {
				t.Fatalf("the position came to %d", last.Offset)
			}
			if gtid == "ON" {
				was := place
				if got, want := rowsOf(read(last, 2)), rowsOf(batches)[15:]; !slices.Equal(got, want) {
					t.Errorf("behind %d: %v, want %v", last.Offset, got, want)
				}
				if place != was {
					t.Errorf("behind what was left out a change is at %d, want %d", place, was)
				}
				return
			}
			err := from(last).Run(t.Context())
			if !errors.Is(err, binlog.ErrStart) || !strings.Contains(err.Error(), "turn GTIDs on") {
				t.Errorf("by file: %v", err)
			}
		})
	}
}

// TestResume takes every batch's Resume and Rows as another process would find
// them stored, and continues there: the rows that follow are all that is left
// (PC-10).
func TestResume(t *testing.T) {
	s, want := source(t)
	c := config(t, `d\.t`, reader(t, s, nil))
	c.BatchBytes = 300
	start := position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}}
	all := func(b []seen) bool { return len(rowsOf(b)) >= len(want) }
	batches := follow(t, New(c, start, reader(t, s, nil), nil, nil), all, nil)
	done, at := 0, start
	for i, b := range batches {
		if done += len(b.rows); !b.Resume.IsZero() {
			at.Position = b.Resume
		}
		at.Sent = b.Rows
		if done == len(want) {
			break
		}
		for _, gtid := range []string{"ON", "OFF"} {
			s.Set("gtid_mode", gtid)
			left := want[done:]
			c.Tracker = config(t, `d\.t`, reader(t, s, nil)).Tracker
			got := rowsOf(follow(t, New(c, at, reader(t, s, nil), nil, nil), func(b []seen) bool { return len(rowsOf(b)) >= len(left) }, nil))
			if !slices.Equal(got, left) {
				t.Fatalf("gtid %s, after batch %d (%d rows, resume %s:%d %s, sent %d): got %v, want %v", gtid, i, done, at.File, at.Offset, at.GTIDs, at.Sent, got, left)
			}
		}
	}
}

// TestBudget has a slow consumer: what is held never exceeds the budget, but
// for a batch that is larger and alone.
func TestBudget(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	big := bytes.Repeat([]byte("b"), 64<<20) // several packets
	for i := range 40 {
		if l.Transaction("d", "t", bytes.Repeat([]byte("v"), 40_000), ids(10*i, 4)...); i == 20 {
			l.Transaction("d", "t", big, 1)
		}
	}
	s := binlogtest.Start(t, "9.7.4", l)
	s.Define("d", "t", binlogtest.CreateTable)
	c := config(t, `d\.t`, reader(t, s, nil))
	c.Memory = 1 << 20
	r := New(c, position.Resume{Position: position.Position{File: l.Name, Offset: 4}}, reader(t, s, nil), nil, nil)
	alone := false
	each := func(b *event.Batch) {
		time.Sleep(time.Millisecond) // lets the stream run into the limit
		if held := r.buf.Held(); held > c.Memory {
			if held != int64(b.Size) {
				t.Errorf("%d bytes held, the batch is charged %d for %d", held, b.Size, b.Bytes)
			}
			alone = true
		}
		for i := range b.Changes {
			if v := b.Changes[i].Image[9:]; len(v) == len(big) && !bytes.Equal(v, big) {
				t.Error("the large value is damaged")
			}
		}
		b.Built = 3 * b.Bytes
	}
	follow(t, r, func(b []seen) bool { return len(rowsOf(b)) >= 161 }, each)
	if !alone {
		t.Error("no batch exceeded the budget: the large row was not there")
	}
}

// TestRefusedTables must not decode or hold anything, but move the position.
func TestRefusedTables(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	for i := range 100 {
		l.Transaction("other", "u", []byte("x"), int32(i))
	}
	end := len(l.Bytes)
	l.GTID()
	l.Query("d", "CREATE TABLE d.t (id INT, v LONGBLOB)")
	s := binlogtest.Start(t, "9.7.4", l)
	c := config(t, `d\.t`, reader(t, s, nil))
	r := New(c, position.Resume{Position: position.Position{File: l.Name, Offset: 4}}, reader(t, s, nil), nil, nil)
	batches := follow(t, r, func(b []seen) bool { return len(b) > 0 && len(b[len(b)-1].lines) > 0 }, nil)
	first := batches[0]
	if len(first.lines) != 0 || first.Resume.IsZero() || first.Bytes != 0 {
		t.Errorf("first batch: %+v, want one that only moves the position", first)
	}
	last := batches[len(batches)-1].Resume
	if last.Offset <= uint64(end) || last.GTIDs != binlogtest.UUID+":1-101" {
		t.Errorf("resume %+v, want the end of the DDL", last)
	}
	for _, q := range s.Queries() {
		if strings.HasPrefix(q, "SHOW CREATE TABLE") {
			t.Errorf("asked for a refused table: %s", q)
		}
	}
}

// TestStartAtEnd saves the located start at once, and continues there when the
// connection breaks before anything came.
func TestStartAtEnd(t *testing.T) {
	s, want := source(t)
	s.Cut(0)
	c := config(t, `d\.t`, reader(t, s, nil))
	r := New(c, position.Resume{}, reader(t, s, nil), nil, nil)
	grown := false
	batches := follow(t, r, func(b []seen) bool {
		if len(b) == 1 && !grown {
			grown = true
			s.Grow(func(l *binlogtest.Log) { l.Transaction("d", "t", []byte("new"), 46) })
		}
		return len(rowsOf(b)) > 0
	}, nil)
	if b := batches[0]; b.Resume.File != "binlog.000002" || len(b.rows) > 0 || b.Resume.GTIDs != binlogtest.UUID+":1-4" {
		t.Errorf("first batch %+v, want only the end of the binlog", b.Resume)
	}
	if got := rowsOf(batches); len(got) != 1 || got[0] != binlogtest.UUID+":5#0" {
		t.Errorf("rows %v, %d were there before", got, len(want))
	}
}

func TestPurged(t *testing.T) {
	s, _ := source(t)
	r := New(config(t, `d\.t`, nil), position.Resume{Position: position.Position{File: "binlog.000000", Offset: 4}}, reader(t, s, nil), nil, nil)
	err := r.Run(t.Context())
	if !errors.Is(err, binlog.ErrPurged) || !strings.Contains(err.Error(), "binlog.000001 to binlog.000002") {
		t.Errorf("Run: %v", err)
	}
	if _, next := r.Next(t.Context()); !errors.Is(next, binlog.ErrPurged) {
		t.Errorf("Next: %v", next)
	}
}

// TestUnknownLayout ends the term: neither source nor table map names columns.
func TestUnknownLayout(t *testing.T) {
	s, _ := source(t)
	s.Define("d", "t", "CREATE TABLE `t` (`id` int)")
	r := New(config(t, `d\.t`, reader(t, s, nil)), position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}}, reader(t, s, nil), nil, nil)
	err := r.Run(t.Context())
	if !errors.Is(err, event.ErrMismatch) || !strings.Contains(err.Error(), "d.t") {
		t.Errorf("Run: %v", err)
	}
}

// TestUnreachable ends a term that never began.
func TestUnreachable(t *testing.T) {
	s, _ := source(t)
	s.Disconnect()
	for name, change := range map[string]func(*binlog.Config){
		"password": func(c *binlog.Config) { c.Password = "wrong" },
		"address":  func(c *binlog.Config) { c.Addr = "127.0.0.1:1" },
	} {
		r := New(config(t, `d\.t`, nil), position.Resume{}, reader(t, s, change), nil, nil)
		if err := r.Run(t.Context()); err == nil || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestResumeWithinAnEvent: rows that were sent are not sent again, also where
// the source that is read now has them in one event with others.
func TestResumeWithinAnEvent(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	l.Transaction("d", "t", []byte("v"), 11, 12, 13, 14, 15, 16)
	l.Transaction("d", "t", []byte("v"), 21, 22)
	s := binlogtest.Start(t, "9.7.4", l)
	s.Define("d", "t", binlogtest.CreateTable)
	for sent := range uint64(7) {
		from := position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}, Sent: sent}
		c := config(t, `d\.t`, reader(t, s, nil))
		want := 8 - int(sent)
		var first []byte
		got := rowsOf(follow(t, New(c, from, reader(t, s, nil), nil, nil), func(b []seen) bool { return len(rowsOf(b)) >= want }, func(b *event.Batch) {
			for i := range b.Changes {
				first = append(first, b.Changes[i].Image[1])
			}
		}))
		begin := fmt.Sprintf("%s:1#%d", binlogtest.UUID, sent)
		if sent == 6 {
			begin = binlogtest.UUID + ":2#0"
		}
		if len(got) != want || got[0] != begin || first[0] != byte(11+sent) && sent < 6 {
			t.Errorf("%d rows were sent: got %v, the first with id %v", sent, got, first)
		}
	}
}

// TestResumeWithinAnotherTransaction: rows are left out of the transaction that they were of, and not of one that comes in its
// place on a source that does not have it.
func TestResumeWithinAnotherTransaction(t *testing.T) {
	l := binlogtest.NewLog("binlog.000001", 0)
	l.Transaction("d", "t", []byte("v"), 11, 12, 13)
	l.Transaction("d", "t", []byte("v"), 21, 22)
	s := binlogtest.Start(t, "9.7.4", l)
	s.Define("d", "t", binlogtest.CreateTable)
	for tx, want := range map[string]int{"": 3, binlogtest.UUID + ":1": 3, "7be1439e-ecaa-11f1-aa2a-02fc00000001:101": 5} {
		from := position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}, Sent: 2, Tx: tx}
		got := rowsOf(follow(t, New(config(t, `d\.t`, reader(t, s, nil)), from, reader(t, s, nil), nil, nil), func(b []seen) bool {
			rows := rowsOf(b)
			return len(rows) > 0 && rows[len(rows)-1] == binlogtest.UUID+":2#1"
		}, nil))
		if len(got) != want {
			t.Errorf("two rows of %q were sent: got %v", tx, got)
		}
	}
}

// TestBatchesEndWithTransactions: no transaction that has room in a batch is cut,
// and a large one ends the last of its batches, since a Kafka transaction can end
// only where both do.
func TestBatchesEndWithTransactions(t *testing.T) {
	const small, large, every = 5, 200, 50 // rows; every 50th transaction is large
	log := binlogtest.NewLog("binlog.000001", 0)
	for i := range 4 * every {
		n := small
		if i%every == every-1 {
			n = large
		}
		log.Transaction("d", "t", bytes.Repeat([]byte("z"), 50), ids(1000*i, n)...)
	}
	s := binlogtest.Start(t, "9.7.4", log)
	s.Define("d", "t", binlogtest.CreateTable)
	path := filepath.Join(t.TempDir(), log.Name)
	if err := log.Write(path); err != nil {
		t.Fatal(err)
	}
	c := config(t, `d\.t`, reader(t, s, nil))
	c.BatchBytes = 4000
	number := func(row string) (tx int) {
		name, _, _ := strings.Cut(row, "#")
		tx, _ = strconv.Atoi(name[strings.LastIndexByte(name, ':')+1:])
		return tx
	}
	for i, b := range runFiles(t, c, path) {
		first, last := number(b.rows[0]), number(b.rows[len(b.rows)-1])
		if b.Rows > 0 && last%every != 0 || first%every == 0 && last != first {
			t.Errorf("batch %d has transactions %d to %d, and has %d rows of the last one, which goes on", i, first, last, b.Rows)
		}
	}
}

// TestStartByGTIDs: a start that is a GTID set alone gets its place in a file with
// the first transaction, before that ends: else the record of what readers have
// could not say where a part of it stands, and in exactly-once a transaction larger
// than the window would never be committed.
func TestStartByGTIDs(t *testing.T) {
	for version, set := range map[string]string{"9.7.4": binlogtest.UUID + ":1", "11.8.2-MariaDB": "0-1-1"} {
		l := binlogtest.NewLog("binlog.000001", 0)
		l.Maria = strings.Contains(version, "MariaDB")
		l.Transaction("d", "t", []byte("v"), 1)
		begins := uint64(len(l.Bytes))
		l.Transaction("d", "t", bytes.Repeat([]byte("v"), 100), ids(100, 300)...)
		s := binlogtest.Start(t, version, l)
		s.Define("d", "t", binlogtest.CreateTable)
		start := func(c *binlog.Config) { c.Start.GTIDs = set }
		c := config(t, `d\.t`, reader(t, s, start))
		c.BatchBytes = 1000
		batches := follow(t, New(c, position.Resume{}, reader(t, s, start), nil, nil), func(b []seen) bool { return len(rowsOf(b)) == 300 }, nil)
		if b := batches[0]; b.Resume.File != l.Name || b.Resume.Offset != begins || b.Resume.GTIDs != set || len(b.rows) == 0 || b.Rows != uint64(len(b.rows)) {
			t.Errorf("%s: the first batch has %d rows, %d of the open transaction, and goes on at %+v; it begins at %d", version, len(b.rows), b.Rows, b.Resume, begins)
		}
		for _, b := range batches[1:] {
			if b.Transactions == 0 && !b.Resume.IsZero() {
				t.Errorf("%s: the position moved within the transaction: %+v", version, b.Resume)
			}
		}
	}
}
