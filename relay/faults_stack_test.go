//go:build stack

package relay

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// cutter carries connections to a server, and breaks one that has brought so many bytes.
type cutter struct {
	net.Listener
	server string
	all    sync.WaitGroup

	mu   sync.Mutex
	cuts []int // bytes, of the connections to come that bring as many
}

func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, server: server}
	c.all.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			c.all.Go(func() { c.carry(near) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		c.all.Wait()
	})
	return c
}

func (c *cutter) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	c.all.Go(func() {
		_, _ = io.Copy(far, near)
		far.Close()
	})
	defer far.Close()
	buf := make([]byte, 4<<10)
	for brought := 0; ; {
		n, err := far.Read(buf)
		if err != nil {
			return
		}
		if brought += n; c.cut(brought) {
			return
		}
		if _, err := near.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut reports whether a connection that has brought so much is to break.
func (c *cutter) cut(brought int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cuts) == 0 || brought < c.cuts[0] {
		return false
	}
	c.cuts = c.cuts[1:]
	return true
}

// TestStackCutTwice, case GT-02: the connection breaks twice within one transaction, wherever that is. Each of its rows
// comes once, by GTID and by file.
func TestStackCutTwice(t *testing.T) {
	const rows, pad = 4000, 100
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_cuts_%d", os.Getpid())
		execute(t, admin, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))")
		defer execute(t, admin, "DROP DATABASE "+db)
		p := newCutter(t, c.Addr)
		through := c
		through.Addr = p.Addr().String()
		from, err := newReader(t, through).Locate(t.Context(), binlog.Start{})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, admin, "BEGIN")
		for i := 0; i < rows; i += 500 {
			var values []string
			for id := i; id < i+500; id++ {
				values = append(values, fmt.Sprintf("(%d, REPEAT('x', %d))", id, pad))
			}
			execute(t, admin, "INSERT INTO t VALUES "+strings.Join(values, ","))
		}
		execute(t, admin, "COMMIT", "INSERT INTO t VALUES (-1, '')")
		run := func(at position.Position, enough func([]seen) bool) []string {
			relay := New(config(t, db+`\..*`, newReader(t, c)), position.Resume{Position: at}, newReader(t, through), nil, nil)
			return rowsOf(follow(t, relay, enough, nil))
		}
		want := run(from, func(b []seen) bool { // MariaDB sends statements too
			inserted := 0
			for _, s := range b {
				for _, l := range s.lines {
					n := 0
					if _, err := fmt.Sscanf(l, "INSERT "+db+".t rows=%d", &n); err == nil {
						inserted += n
					}
				}
			}
			return inserted == rows+1
		})
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		for round := range 20 {
			at := from
			if round%2 == 1 {
				at.GTIDs = ""
			}
			cuts := []int{20_000 + r.IntN(rows*pad-20_000), 20_000 + r.IntN(rows*pad-20_000)}
			p.mu.Lock()
			p.cuts = cuts
			p.mu.Unlock()
			got := run(at, func(b []seen) bool { return len(rowsOf(b)) >= len(want) })
			if !slices.Equal(got, want) {
				t.Fatalf("cut after %d bytes: rows %v, want %v", cuts, got, want)
			}
			p.mu.Lock()
			if len(p.cuts) > 0 {
				t.Errorf("never cut after %d bytes", p.cuts)
			}
			p.mu.Unlock()
		}
	})
}

// TestStackSlowReader, case NW-03: in the middle of a large transaction nobody takes what is read, for longer than the
// source waits for a replica by default. The dump outlasts it.
func TestStackSlowReader(t *testing.T) {
	const rows = 24 // of a megabyte: more than the buffers of a connection hold
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_slow_%d", os.Getpid())
		execute(t, admin, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
		defer execute(t, admin, "DROP DATABASE "+db)
		from, err := newReader(t, c).Locate(t.Context(), binlog.Start{})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, admin, "BEGIN")
		for i := range rows {
			execute(t, admin, fmt.Sprintf("INSERT INTO t VALUES (%d, REPEAT('x', 1000000))", i))
		}
		execute(t, admin, "COMMIT", "SET GLOBAL net_write_timeout = 1")
		defer execute(t, admin, "SET GLOBAL net_write_timeout = DEFAULT")
		var log bytes.Buffer
		cfg := config(t, db+`\..*`, newReader(t, c))
		cfg.Memory = 1 << 20
		r := New(cfg, position.Resume{Position: from}, newReader(t, c), nil, slog.New(slog.NewTextHandler(&log, nil)))
		pause := 4 * time.Second
		got := rowsOf(follow(t, r, func(b []seen) bool { return len(rowsOf(b)) >= rows }, func(*event.Batch) {
			time.Sleep(pause)
			pause = 0
		}))
		if strings.Contains(log.String(), "lost the source") || len(got) != rows {
			t.Errorf("%d rows\n%s", len(got), log.String())
		}
	})
}

// shared is a log that one goroutine reads while others write.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestStackFullSource, case NW-05: the source takes no more connections when those of the relay break. That is told and
// tried again, and when there is room everything is read, of a table that is new, too.
func TestStackFullSource(t *testing.T) {
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_full_%d", os.Getpid())
		execute(t, admin, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)")
		defer execute(t, admin, "DROP DATABASE "+db)
		from, err := newReader(t, c).Locate(t.Context(), binlog.Start{})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, admin, "INSERT INTO t VALUES (1)")
		for range 10 { // the least that MariaDB takes for a limit
			other, err := client.Connect(c.Addr, os.Getenv("CANAL_RELAY_DB_ADMIN_USER"), os.Getenv("CANAL_RELAY_DB_ADMIN_PASSWORD"), "")
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
		}
		var log shared
		full := sync.OnceFunc(func() {
			execute(t, admin, "SET GLOBAL max_connections = 10")
			defer execute(t, admin, "SET GLOBAL max_connections = DEFAULT", "INSERT INTO u VALUES (2)")
			killDumps(t, admin, c.User)
			for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "Too many connections") && time.Now().Before(end); {
				time.Sleep(20 * time.Millisecond)
			}
		})
		r := New(config(t, db+`\..*`, newReader(t, c)), position.Resume{Position: from}, newReader(t, c), nil, slog.New(slog.NewTextHandler(&log, nil)))
		got := follow(t, r, func(b []seen) bool {
			if len(rowsOf(b)) > 0 {
				full()
			}
			return len(rowsOf(b)) >= 2
		}, nil)
		if n := len(rowsOf(got)); n != 2 || !strings.Contains(log.String(), "Too many connections") {
			t.Errorf("%d rows\n%s", n, log.String())
		}
	})
}
