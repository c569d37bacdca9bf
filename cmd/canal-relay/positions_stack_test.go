//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// cursor is what ZooKeeper has of the world's destination.
func (w *world) cursor() (file string, offset uint64, gtid string) {
	w.Helper()
	conn := w.zookeeper()
	defer conn.Close()
	data, _, err := conn.Get(cursorPath(w.name))
	if err != nil {
		return "", 0, ""
	}
	var c struct {
		Position struct {
			JournalName string
			Position    uint64
			GTID        string
		} `json:"postion"`
	}
	w.must(json.Unmarshal(data, &c))
	return c.Position.JournalName, c.Position.Position, c.Position.GTID
}

// rowIDs reads the ids of a topic's rows, in order, until they are enough.
func (w *world) rowIDs(ctx context.Context, enough func(ids []string) bool) []string {
	w.Helper()
	var ids []string
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		var m struct {
			IsDDL bool
			Data  []map[string]any
		}
		w.must(json.Unmarshal(r.Value, &m))
		for _, row := range m.Data {
			if !m.IsDDL {
				ids = append(ids, fmt.Sprint(row["id"]))
			}
		}
		return !enough(ids)
	}))
	return ids
}

func (w *world) wantIDs(ctx context.Context, want ...string) {
	w.Helper()
	got := w.rowIDs(ctx, func(ids []string) bool { return len(ids) >= len(want) })
	if !slices.Equal(got, want) && w.late() {
		got = w.rowIDs(ctx, func(ids []string) bool { return len(firsts(ids)) >= len(firsts(want)) })
	}
	if !w.same(got, want) {
		w.Errorf("rows %v, want %v", got, want)
	}
}

func (w *world) stop(n *local.Node) {
	w.Helper()
	w.must(n.Stop(syscall.SIGTERM, 30*time.Second))
}

// TestStackTaggedGTIDs, case GT-06: transactions with and without tags are sent once, stored as the server writes them,
// and gone on from.
func TestStackTaggedGTIDs(t *testing.T) {
	w := newWorld(t, "mysql", map[string]string{"canal.instance.gtidon": "true"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	node := w.start()
	w.active(ctx)
	tagged := func(tag string, id int) {
		next := "AUTOMATIC"
		if tag != "" {
			next += ":" + tag
		}
		w.exec(conn, "SET gtid_next='"+next+"'", fmt.Sprintf("INSERT INTO t VALUES (%d)", id), "SET gtid_next='AUTOMATIC'")
	}
	tagged("relaytag", 1)
	tagged("", 2)
	tagged("other", 3)
	w.wantIDs(ctx, "1", "2", "3")
	w.arrives(ctx, w.name, ":relaytag:1") // in a message's gtid
	w.until(ctx, "a cursor with both tags", func() bool {
		_, _, gtid := w.cursor()
		return strings.Contains(gtid, ":relaytag:1") && strings.Contains(gtid, ":other:1")
	})
	w.stop(node)
	tagged("relaytag", 4)
	tagged("", 5)
	w.start()
	w.wantIDs(ctx, "1", "2", "3", "4", "5")
	w.until(ctx, "the tag's next number in the cursor", func() bool {
		_, _, gtid := w.cursor()
		return strings.Contains(gtid, ":relaytag:1-2")
	})
}

// TestStackGapsInGTIDs, case GT-04: a transaction whose number was left out is committed while nobody reads, and sent.
func TestStackGapsInGTIDs(t *testing.T) {
	w := newWorld(t, "mysql", map[string]string{"canal.instance.gtidon": "true"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	node := w.start()
	w.active(ctx)
	source := fmt.Sprintf("aaaaaaaa-0000-0000-0000-%012d", time.Now().UnixNano()%1e12)
	numbered := func(n int) {
		w.exec(conn, fmt.Sprintf("SET gtid_next='%s:%d'", source, n), "BEGIN", fmt.Sprintf("INSERT INTO t VALUES (%d)", n), "COMMIT", "SET gtid_next='AUTOMATIC'")
	}
	for _, n := range []int{1, 2, 3, 5, 9} {
		numbered(n)
	}
	w.wantIDs(ctx, "1", "2", "3", "5", "9")
	w.until(ctx, "a cursor with the gaps", func() bool {
		_, _, gtid := w.cursor()
		return strings.Contains(gtid, source+":1-3:5:9")
	})
	w.stop(node)
	numbered(4)
	numbered(7)
	w.start()
	w.wantIDs(ctx, "1", "2", "3", "5", "9", "4", "7")
	w.until(ctx, "a cursor with what is filled", func() bool {
		_, _, gtid := w.cursor()
		return strings.Contains(gtid, source+":1-5:7:9")
	})
}

// TestStackDomains, case GT-08: MariaDB's transactions of two domains and of two servers in one domain, which the server forgets
// in the end.
func TestStackDomains(t *testing.T) {
	w := newWorld(t, "mariadb", map[string]string{"canal.instance.gtidon": "true"})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	node := w.start()
	w.active(ctx)
	w.exec(conn, "SET SESSION gtid_domain_id=5", "INSERT INTO t VALUES (1)", "SET SESSION gtid_domain_id=0",
		"SET SESSION server_id=99", "INSERT INTO t VALUES (2)")
	w.wantIDs(ctx, "1", "2")
	w.until(ctx, "a cursor with one position for each domain", func() bool {
		_, _, gtid := w.cursor()
		return strings.Count(gtid, "5-") >= 1 && strings.Contains(","+gtid, ",0-99-") && strings.Count(","+gtid, ",0-") == 1
	})
	w.stop(node)
	w.exec(conn, "SET SESSION gtid_domain_id=5", "INSERT INTO t VALUES (3)", "SET SESSION gtid_domain_id=0", "INSERT INTO t VALUES (4)")
	node = w.start()
	w.wantIDs(ctx, "1", "2", "3", "4")
	w.stop(node)
	w.until(ctx, "the domain is forgotten", func() bool { // when no file speaks of it, and MariaDB keeps some a little longer
		w.exec(conn, "FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
		_, err := conn.Execute("FLUSH BINARY LOGS DELETE_DOMAIN_ID=(5)")
		return err == nil
	})
	w.exec(conn, "INSERT INTO t VALUES (5)")
	w.start()
	w.arrives(ctx, w.name, `"id":"5"`)
}

// TestStackQuietDestination: a destination of which all is filtered keeps up. What lies before its cursor may be purged,
// and it starts again.
func TestStackQuietDestination(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		for _, gtid := range []string{"false", "true"} {
			t.Run(server+"/gtid_"+gtid, func(t *testing.T) {
				w := newWorld(t, server, map[string]string{"canal.instance.gtidon": gtid})
				w.conf.Destinations[w.name]["canal.instance.filter.regex"] = w.name + `\.captured`
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				conn := w.admin()
				w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "CREATE TABLE captured (id INT PRIMARY KEY)")
				node := w.start()
				w.active(ctx)
				end := w.writeUntilFollowed(ctx, conn)
				w.stop(node)
				w.until(ctx, "the purge up to "+end.File, func() bool { // MariaDB keeps what a crash may need a little longer
					w.exec(conn, "PURGE BINARY LOGS TO '"+end.File+"'")
					r, err := conn.Execute("SHOW BINARY LOGS")
					w.must(err)
					first, err := r.GetString(0, 0)
					w.must(err)
					return first == end.File
				})
				w.start()
				w.active(ctx)
				w.exec(conn, "INSERT INTO captured VALUES (7)")
				w.wantIDs(ctx, "7")
			})
		}
	}
}

// writeUntilFollowed writes what is not captured into several files, until the cursor has come to the last.
func (w *world) writeUntilFollowed(ctx context.Context, conn *client.Conn) local.Mark {
	for i := range 300 {
		w.exec(conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		if i%100 == 99 {
			w.exec(conn, "FLUSH BINARY LOGS")
		}
	}
	end, err := local.End(conn)
	w.must(err)
	id := 1000
	w.until(ctx, "the cursor in "+end.File, func() bool {
		id++
		w.exec(conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", id)) // others write on
		file, _, _ := w.cursor()
		return file == end.File
	})
	return end
}
