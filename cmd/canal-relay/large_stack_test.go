//go:build stack

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackLarge is the field cases ML-02 and ML-03: what is larger than the memory that a destination may hold.
func TestStackLarge(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2") // the nodes' limits are for two cores: each more has a builder with buffers of its own
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run("row/"+server, func(t *testing.T) { largeRow(t, server) })
		t.Run("transaction/"+server, func(t *testing.T) { largeTransaction(t, server, 150e6, "SELECT REPEAT('pad ', 20)") })
	}
	// One event holds all of a compressed transaction: a few megabytes of one and some 50 of the other, which come on top
	// because a source sends an event whole.
	t.Run("compressed/mysql", func(t *testing.T) {
		largeTransaction(t, "mysql", 150e6, "SELECT REPEAT('pad ', 20)", "SET SESSION binlog_transaction_compression = ON")
	})
	t.Run("incompressible/mysql", func(t *testing.T) {
		largeTransaction(t, "mysql", 210e6, "SELECT LEFT(SHA2(a.n * 1000 + b.n, 512), 80)", "SET SESSION binlog_transaction_compression = ON")
	})
}

// largeRow: a row of 64 MiB arrives whole where the user allows it. With the default limits it is a fault that names
// table, key and size, and the position does not pass it.
func largeRow(t *testing.T, server string) {
	const largest = 100 << 20 // bytes of a record: the broker's limit in the stack
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t, server, map[string]string{"canal.relay.memory": "32MiB"})
	w.conf.Server["canal.relay.session.timeout"] = "30s" // a machine that is busy with the row must not cost the lease
	w.must(w.CreateTopic(ctx, w.name, 1))
	w.must(w.SetTopic(ctx, w.name, "max.message.bytes", fmt.Sprint(largest)))
	conn := w.largePackets()
	r := newRand(t)
	w.exec(conn, "USE "+w.name, "CREATE TABLE big (id INT, part VARCHAR(10), c LONGTEXT, b LONGBLOB, PRIMARY KEY (id, part)) CHARSET utf8mb4",
		"INSERT INTO big VALUES (1, 'small', 'x', 'y')")
	mebibytes := times(62, func(int) string { return fmt.Sprintf("REPEAT('%x', 1024)", sparse(r, 512)) })
	w.exec(conn, "INSERT INTO big VALUES (2, 'large', CONCAT("+strings.Join(mebibytes, ",")+"), REPEAT(X'00FF41C3', 524288))")
	want := []string{w.text(conn, "SELECT SHA2(c, 256) FROM big WHERE id = 2", 0), w.text(conn, "SELECT SHA2(b, 256) FROM big WHERE id = 2", 0)}
	w.exec(conn, "INSERT INTO big VALUES (3, 'after', 'x', 'y')", "DELETE FROM big WHERE id = 2")

	refusing := w.start()
	w.awaitFailure(ctx, refusing, "", regexp.MustCompile(regexp.QuoteMeta(w.name)+`\.big at .*too large: 7\d{7} bytes \(primary key \{"id":"2","part":"large"\}\).*max\.message\.bytes`))
	before, err := w.TopicLength(ctx, w.name)
	w.must(err)
	w.must(refusing.Stop(syscall.SIGTERM, 30*time.Second))

	w.conf.Server["kafka.max.request.size"], w.conf.Server["kafka.buffer.memory"] = fmt.Sprint(largest), fmt.Sprint(largest)
	node := w.start()
	var kinds []string // of the messages but for statements, which MariaDB sends too
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct {
			Type string
			Data []struct{ ID, C, B string }
		}
		w.must(json.Unmarshal(r.Value, &m))
		for _, row := range m.Data {
			m.Type += row.ID
			if row.ID == "2" {
				if got := []string{sha([]byte(row.C)), sha(codePoints(row.B))}; !slices.Equal(got, want) {
					t.Errorf("%s: hashes %s, want %s", m.Type, got, want)
				}
			}
		}
		kinds = append(kinds, m.Type)
		return m.Type != "DELETE2"
	}))
	if at := slices.Index(kinds, "INSERT2"); before > at {
		t.Errorf("%d records were sent before the row that could not be; it is record %d", before, at)
	}
	if got := strings.Join(slices.DeleteFunc(kinds, func(k string) bool { return k == "QUERY" }), " "); got != "CREATE INSERT1 INSERT2 INSERT3 DELETE2" {
		t.Errorf("the topic has %s", got)
	}
	w.must(node.Stop(syscall.SIGTERM, 30*time.Second))
	_, peak := node.Usage()
	t.Logf("a row of 64 MiB, inserted and deleted: peak resident size %d MB", peak/1e6)
}

// largePackets connects where packets may have a gibibyte.
func (w *world) largePackets() *client.Conn {
	w.Helper()
	conn := w.admin()
	usual := w.text(conn, "SELECT @@global.max_allowed_packet", 0)
	w.exec(conn, "SET GLOBAL max_allowed_packet = 1073741824")
	w.Cleanup(func() { w.exec(w.admin(), "SET GLOBAL max_allowed_packet = "+usual) })
	return w.admin() // a connection has the limit of when it was made
}

// ownFile lets the destination begin in a new binlog file: finding the place in one that holds rows of 64 MiB takes
// the memory of one.
func (w *world) ownFile(conn *client.Conn) {
	w.Helper()
	w.exec(conn, "FLUSH BINARY LOGS")
	var err error
	w.from, err = local.End(conn)
	w.must(err)
	keys := w.conf.Destinations[w.name]
	keys["canal.instance.master.journal.name"], keys["canal.instance.master.position"] = w.from.File, fmt.Sprint(w.from.Offset)
}

func sha(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// codePoints are the bytes that a text carries as code points.
func codePoints(text string) []byte {
	raw := make([]byte, 0, len(text))
	for _, c := range text {
		raw = append(raw, byte(c))
	}
	return raw
}

// largeTransaction: the rows of a transaction of a million all arrive, once and in order, and the process stays small.
func largeTransaction(t *testing.T, server string, limit int64, pad string, session ...string) {
	const rows = 1_000_000
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t, server, map[string]string{"canal.relay.memory": "32MiB"})
	w.conf.Server["canal.relay.session.timeout"] = "30s" // a machine that is busy with the row must not cost the lease
	w.must(w.CreateTopic(ctx, w.name, 1))
	conn := w.admin()
	w.ownFile(conn)
	w.exec(conn, session...)
	w.exec(conn, "USE "+w.name, "CREATE TABLE k (n INT PRIMARY KEY)", "CREATE TABLE many (id INT PRIMARY KEY, v BIGINT, pad VARCHAR(100), at DATETIME)",
		"INSERT INTO k SELECT n FROM (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999) SELECT n FROM s) s",
		"INSERT INTO many SELECT a.n * 1000 + b.n, CRC32(a.n * 1000 + b.n), ("+pad+"), '2026-11-30 10:00:00' FROM k a, k b ORDER BY 1",
		"CREATE TABLE last (id INT)")
	began := time.Now()
	node := w.start()
	next, wrong := 0, 0
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct {
			Type, Table string
			Data        []struct{ ID, V string }
		}
		w.must(json.Unmarshal(r.Value, &m))
		if m.Table == "many" {
			for _, row := range m.Data {
				if row.ID != strconv.Itoa(next) || row.V != fmt.Sprint(crc32.ChecksumIEEE([]byte(row.ID))) {
					wrong++
				}
				next++
			}
		}
		return m.Table != "last"
	}))
	took := time.Since(began)
	if next != rows || wrong > 0 {
		t.Errorf("%d rows arrived, %d of them not the right one; want %d", next, wrong, rows)
	}
	w.must(node.Stop(syscall.SIGTERM, 30*time.Second))
	cpu, peak := node.Usage()
	if peak > limit {
		t.Errorf("peak resident size %d MB, want %d at most", peak/1e6, limit/1e6)
	}
	t.Logf("a transaction of %d rows: read back after %.1fs, CPU %.2f µs a row, peak resident size %d MB", rows, took.Seconds(), float64(cpu.Microseconds())/rows, peak/1e6)
}
