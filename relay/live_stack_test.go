//go:build stack

package relay

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// live calls f for every database of the local stack that is up.
func live(t *testing.T, f func(t *testing.T, admin *client.Conn, c binlog.Config)) {
	for _, kind := range []string{"MYSQL", "MARIADB"} {
		t.Run(strings.ToLower(kind), func(t *testing.T) {
			addr := os.Getenv("CANAL_RELAY_" + kind)
			if addr == "" {
				t.Fatal("CANAL_RELAY_" + kind + " is not set: no local stack")
			}
			admin, err := client.Connect(addr, os.Getenv("CANAL_RELAY_DB_ADMIN_USER"), os.Getenv("CANAL_RELAY_DB_ADMIN_PASSWORD"), "")
			if err != nil {
				t.Fatal(err)
			}
			defer admin.Close()
			user := fmt.Sprintf("relay_%d", os.Getpid())
			execute(t, admin, "CREATE USER "+user+" IDENTIFIED BY 'relay'", "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO "+user)
			defer execute(t, admin, "DROP USER "+user)
			c := binlog.Config{}
			c.Addr, c.User, c.Password, c.Heartbeat = addr, user, "relay", 15*time.Second
			c.ServerID, c.ReplicaUUID = 77000+uint32(os.Getpid()%1000), "99999999-0000-0000-0000-000000000077"
			f(t, admin, c)
		})
	}
}

func execute(t *testing.T, c *client.Conn, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := c.Execute(q); err != nil {
			t.Fatalf("%.200s: %v", q, err)
		}
	}
}

func newReader(t *testing.T, c binlog.Config) *binlog.Reader {
	t.Helper()
	r, err := binlog.NewReader(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestStackLive follows a real server from the end of its binlog through rows, DDL
// and dump threads that are killed.
func TestStackLive(t *testing.T) {
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_live_%d", os.Getpid())
		execute(t, admin, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE before_start (id INT PRIMARY KEY, v VARCHAR(20))")
		defer execute(t, admin, "DROP DATABASE "+db)
		var log bytes.Buffer
		r := New(config(t, db+`\..*`, newReader(t, c)), position.Resume{}, newReader(t, c), nil, slog.New(slog.NewTextHandler(&log, nil)))
		const rounds, perRound = 20, 25
		started, round := false, 0
		inserted := func(b []seen) int {
			n := 0
			for _, s := range b {
				for _, l := range s.lines {
					if strings.HasPrefix(l, "INSERT") {
						n++
					}
				}
			}
			return n
		}
		batches := follow(t, r, func(b []seen) bool {
			if !started {
				if len(b) == 0 {
					return false
				}
				started = true
				execute(t, admin, "INSERT INTO before_start VALUES (0, 'x')", "CREATE TABLE t (id INT PRIMARY KEY)")
			}
			if inserted(b) == 1+round*perRound && round < rounds {
				for i := range perRound {
					execute(t, admin, fmt.Sprintf("INSERT INTO t (id) VALUES (%d)", round*perRound+i))
				}
				if round++; round%5 == 0 {
					killDumps(t, admin, c.User)
					execute(t, admin, fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d INT DEFAULT %d", round, round))
				}
			}
			return inserted(b) >= 1+rounds*perRound
		}, nil)
		if !strings.Contains(log.String(), "lost the source") { // said once in 10 s
			t.Errorf("%d connections were killed:\n%s", rounds/5, log.String())
		}
		unique := make(map[string]bool)
		for _, s := range rowsOf(batches) {
			if unique[s] {
				t.Fatalf("row %s came twice", s)
			}
			unique[s] = true
		}
		if n := inserted(batches); n != 1+rounds*perRound {
			t.Errorf("%d inserts", n)
		}
	})
}

func killDumps(t *testing.T, admin *client.Conn, user string) {
	t.Helper()
	r, err := admin.Execute("SELECT id FROM information_schema.processlist WHERE user = '" + user + "' AND command LIKE 'Binlog Dump%'")
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.RowNumber() {
		id, _ := r.GetInt(i, 0)
		_, _ = admin.Execute(fmt.Sprintf("KILL %d", id))
	}
}

// TestStackLocate starts by time, by journal and offset, and by GTID set.
func TestStackLocate(t *testing.T) {
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_locate_%d", os.Getpid())
		began := time.Now()
		execute(t, admin, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE t (id INT PRIMARY KEY)")
		defer execute(t, admin, "DROP DATABASE "+db)
		reader := newReader(t, c)
		report, err := reader.Check(t.Context())
		if err != nil || len(report.Missing) > 0 {
			t.Fatalf("check: %+v, %v", report, err)
		}
		t.Logf("%+v", report)
		end, err := reader.Locate(t.Context(), binlog.Start{})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, admin, "SET TIMESTAMP = 0", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
		for name, start := range map[string]binlog.Start{
			"gtid":    {GTIDs: end.GTIDs},
			"journal": {Journal: end.File, Offset: end.Offset},
			"within":  {Journal: end.File, Offset: end.Offset + 90},
			"file":    {Journal: end.File},
			"time":    {Time: began.Add(-time.Minute)},
		} {
			c.Start = start
			first := ""
			r := New(config(t, db+`\..*`, newReader(t, c)), position.Resume{}, newReader(t, c), nil, nil)
			inserts := 0
			follow(t, r, func(b []seen) bool {
				inserts = 0
				for _, s := range b {
					for _, l := range s.lines {
						if first == "" && !strings.HasPrefix(l, "QUERY") {
							first = l
						}
						if strings.HasPrefix(l, "INSERT") {
							inserts++
						}
					}
				}
				return inserts == 2
			}, nil)
			if early := name == "time" || name == "file"; early == strings.HasPrefix(first, "INSERT") {
				t.Errorf("start by %s: first change %q", name, first)
			}
		}
	})
}

// TestStackLargeEvents, case ML-03: events that fill packets of 2^24-1 bytes exactly, or by a byte more or less, and one of
// 200 MB, come whole, and so does what follows.
func TestStackLargeEvents(t *testing.T) {
	const packet = 1<<24 - 1
	live(t, func(t *testing.T, admin *client.Conn, c binlog.Config) {
		db := fmt.Sprintf("relay_large_%d", os.Getpid())
		execute(t, admin, "SET @usual = @@global.max_allowed_packet", "SET GLOBAL max_allowed_packet = 1073741824")
		defer execute(t, admin, "SET GLOBAL max_allowed_packet = @usual")
		writer, err := client.Connect(c.Addr, os.Getenv("CANAL_RELAY_DB_ADMIN_USER"), os.Getenv("CANAL_RELAY_DB_ADMIN_PASSWORD"), "")
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		execute(t, writer, "CREATE DATABASE "+db, "USE "+db, "CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)")
		defer execute(t, admin, "DROP DATABASE "+db)
		insert := func(id, size int) {
			execute(t, writer, fmt.Sprintf("INSERT INTO t VALUES (%d, REPEAT('x', %d))", id, size))
		}
		from, err := newReader(t, c).Locate(t.Context(), binlog.Start{})
		if err != nil {
			t.Fatal(err)
		}
		insert(0, 1000)
		overhead := rowEvents(t, admin, from)[0] - 1000
		largest := 200_000_000
		if strings.HasSuffix(t.Name(), "mariadb") {
			largest = 40_000_000 // the way is the same
		}
		sizes, events := []int{1000, largest, 1}, []int{packet - 2, packet - 1, packet, 2*packet - 1} // before each of which stands one byte
		for _, n := range events {
			sizes = append(sizes, n-overhead)
		}
		for id, n := range sizes[1:] {
			insert(id+1, n)
		}
		insert(len(sizes), 1)
		if logged := rowEvents(t, admin, from); !slices.Equal(logged[3:7], events) {
			t.Fatalf("the server logged events of %d bytes, want %d", logged, events)
		}
		var got []int
		cfg := config(t, db+`\..*`, newReader(t, c))
		r := New(cfg, position.Resume{Position: from}, newReader(t, c), nil, nil)
		follow(t, r, func([]seen) bool { return len(got) > len(sizes) }, func(b *event.Batch) {
			for i := range b.Changes {
				image := b.Changes[i].Image
				if len(image) == 0 {
					continue // MariaDB's statements
				}
				n := len(image) - bytes.IndexByte(image, 'x')
				got = append(got, n)
				if bytes.Count(image, []byte("x")) != n {
					t.Errorf("a value of %d bytes is damaged", n)
				}
			}
		})
		if want := append(sizes, 1); !slices.Equal(got, want) {
			t.Errorf("values of %d bytes, want %d", got, want)
		}
	})
}

// rowEvents are the sizes of the row events behind a position.
func rowEvents(t *testing.T, admin *client.Conn, from position.Position) (sizes []int) {
	t.Helper()
	r, err := admin.Execute(fmt.Sprintf("SHOW BINLOG EVENTS IN '%s' FROM %d", from.File, from.Offset))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.RowNumber() {
		kind, _ := r.GetString(i, 2)
		begin, _ := r.GetInt(i, 1)
		end, _ := r.GetInt(i, 4)
		if strings.HasPrefix(kind, "Write_rows") {
			sizes = append(sizes, int(end-begin))
		}
	}
	return sizes
}
