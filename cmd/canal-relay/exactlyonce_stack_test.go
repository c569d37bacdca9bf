//go:build stack

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// newExactly is a world whose destination delivers exactly once.
func newExactly(t *testing.T, server string, keys map[string]string) *world {
	all := map[string]string{"canal.relay.delivery": "exactly-once"}
	maps.Copy(all, keys)
	w := newWorld(t, server, all)
	w.conf.Server["canal.relay.cluster"] = w.name
	t.Cleanup(func() {
		for _, suffix := range []string{"-positions", "-schema"} {
			_ = w.DeleteTopic(context.Background(), w.name+suffix)
		}
	})
	return w
}

// proveOnce compares what readers of committed records see with the binlog, and goes on for a second behind the last change,
// so that a repeat of the end is seen as well.
func (w *world) proveOnce(ctx context.Context, conn *client.Conn) {
	w.Helper()
	changes, _ := w.prove(ctx, conn)
	all, err := w.TopicLength(ctx, w.name)
	w.must(err)
	w.Logf("%d changes once each, in %d offsets", changes, all)
}

// writeLarge writes as write does, and now and then a transaction of 12,000 rows, which takes several batches.
func (w *world) writeLarge(conn *client.Conn, enough <-chan struct{}) {
	pad := strings.Repeat("x", 150)
	for id := 10_000_000; ; id += 12_000 {
		select {
		case <-enough:
			return
		case <-time.After(20 * time.Millisecond):
		}
		statements := []string{"BEGIN"}
		for from := id; from < id+12_000; from += 1000 {
			var q strings.Builder
			q.WriteString("INSERT INTO wide VALUES ")
			for i := from; i < from+1000; i++ {
				if i > from {
					q.WriteByte(',')
				}
				fmt.Fprintf(&q, "(%d, '%s')", i, pad)
			}
			statements = append(statements, q.String())
		}
		if err := local.Exec(conn, append(statements, "COMMIT")...); err != nil {
			w.Error(err)
			return
		}
	}
}

// TestStackExactlyOnceFaults: two nodes under steady writers of small and of multi-batch transactions, with DDL in between,
// while the owner is killed three times and paused beyond its session twice. Readers of committed records see every change
// once, in order.
func TestStackExactlyOnceFaults(t *testing.T) {
	w := newExactly(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w.start()
	w.start()
	conn, large := w.admin(), w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE wide (id INT PRIMARY KEY, pad VARCHAR(200))",
		"CREATE TABLE acct (id INT PRIMARY KEY, n INT NOT NULL, name VARCHAR(30), amount DECIMAL(10,2), at DATETIME)")
	w.exec(large, "USE "+w.name)
	var writers sync.WaitGroup
	enough := make(chan struct{})
	writers.Go(func() { w.write(conn, 0, enough) })
	writers.Go(func() { w.writeLarge(large, enough) })
	for range 3 {
		w.fault(ctx, func(n *local.Node) {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
			_ = n.Stop(syscall.SIGKILL, 30*time.Second)
		})
	}
	for range 2 {
		var paused *local.Node
		w.fault(ctx, func(n *local.Node) {
			paused = n
			w.must(n.Signal(syscall.SIGSTOP))
			others := w.nodes
			w.nodes = nil
			for _, o := range others {
				if o != n {
					w.nodes = append(w.nodes, o)
				}
			}
		})
		time.Sleep(200 * time.Millisecond)
		w.must(paused.Signal(syscall.SIGCONT))
		// For a moment it shows itself as active, and would be taken for the owner.
		if w.standsBy(ctx, paused) == paused {
			w.nodes = append(w.nodes, paused)
		}
	}
	w.fault(ctx, func(n *local.Node) {
		if err := n.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
	})
	close(enough)
	writers.Wait()
	w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
	w.proveOnce(ctx, conn)
}

// standsBy waits until a node that was paused is on standby, or owns the destination again because the other one has lost it.
// One whose term did not stop in time ends, as it must, and is started again, as a service manager would: the node that is
// returned.
func (w *world) standsBy(ctx context.Context, paused *local.Node) *local.Node {
	w.Helper()
	gone := false
	w.until(ctx, "the paused one on standby", func() bool {
		select {
		case <-paused.Done():
			gone = true
			return true
		default:
			state := w.state(ctx, paused, w.name).State
			return state == "standby" || state == "active" && !slices.ContainsFunc(w.started, func(n *local.Node) bool { return n != paused && n.Active(ctx, w.name) })
		}
	})
	if !gone {
		return paused
	}
	w.Logf("the paused node %s has ended by itself:\n%s", paused.Address, w.logOf(paused))
	return w.start()
}

// TestStackExactlyOncePaused: two nodes; the owner is stopped beyond its session, another one takes over, and the old one
// wakes with requests ready. Neither what it wrote nor what it writes is seen by readers of committed records.
func TestStackExactlyOncePaused(t *testing.T) {
	w := newExactly(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.start()
	w.start()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE wide (id INT PRIMARY KEY, pad VARCHAR(200))")
	var writers sync.WaitGroup
	enough := make(chan struct{})
	writers.Go(func() { w.writeLarge(conn, enough) })
	works := func(n *local.Node) func() bool {
		return func() bool { return n.Active(ctx, w.name) && w.acked(ctx, n) > 5000 }
	}
	for range 3 {
		owner, other := w.duel(ctx)
		w.until(ctx, "the owner at work", works(owner))
		w.must(owner.Signal(syscall.SIGSTOP))
		w.until(ctx, "the other at work", works(other))
		w.must(owner.Signal(syscall.SIGCONT))
		w.standsBy(ctx, owner)
	}
	close(enough)
	writers.Wait()
	w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
	w.proveOnce(ctx, conn)
}

// TestStackExactlyOnceCut: with Kafka transactions that are far smaller than those of the source, owners are killed inside a
// source transaction, once within 200 ms of the take-over. What the next one goes on with is the rest of it.
func TestStackExactlyOnceCut(t *testing.T) {
	for server, keys := range map[string]map[string]string{
		"mariadb": {"canal.relay.transaction.max.rows": "500"},
		"mysql":   {"canal.relay.transaction.max.rows": "500", "canal.mq.flatMessage": "false"},
	} {
		t.Run(server, func(t *testing.T) {
			w := newExactly(t, server, nil)
			maps.Copy(w.conf.Server, keys)
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			w.start()
			w.start()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE wide (id INT PRIMARY KEY, pad VARCHAR(200))")
			var writers sync.WaitGroup
			enough := make(chan struct{})
			writers.Go(func() { w.writeLarge(conn, enough) })
			inside := 0
			for i := 0; i < 4 || inside == 0 && i < 12; i++ { // of a few none may be inside
				if i == 2 { // right after the take-over
					n := w.active(ctx)
					time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
					_ = n.Stop(syscall.SIGKILL, 30*time.Second)
					w.start()
				}
				w.fault(ctx, func(n *local.Node) {
					time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
					_ = n.Stop(syscall.SIGKILL, 30*time.Second)
					var shown decided
					w.answer(&shown, "cursor", "show")
					if shown.Record.Sent > 0 {
						inside++
					}
					t.Logf("killed after %d rows of a transaction", shown.Record.Sent)
				})
			}
			close(enough)
			writers.Wait()
			if inside == 0 {
				t.Error("no kill was inside a source transaction")
			}
			w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
			if keys["canal.mq.flatMessage"] == "" {
				w.proveOnce(ctx, conn)
			} else {
				w.provePackets(ctx, conn)
			}
		})
	}
}

// keyOfWide is a key of wide in a protobuf column: field 8, of 8 digits.
var keyOfWide = regexp.MustCompile(`B\x08(1\d{7})`)

// provePackets compares the keys of wide in committed packets with those of the table: each once, in order.
func (w *world) provePackets(ctx context.Context, conn *client.Conn) {
	w.Helper()
	result, err := conn.Execute("SELECT id FROM wide ORDER BY id")
	w.must(err)
	var ids []string
	w.must(w.ReadCommitted(ctx, w.name, func(r *kgo.Record) bool {
		for _, found := range keyOfWide.FindAllSubmatch(r.Value, -1) {
			ids = append(ids, string(found[1]))
		}
		return !bytes.Contains(r.Value, []byte("CREATE TABLE finished"))
	}))
	if len(ids) != result.RowNumber() {
		w.Errorf("readers have %d rows of %d", len(ids), result.RowNumber())
	}
	for i, id := range ids {
		if want, err := result.GetInt(i, 0); err != nil || fmt.Sprint(want) != id {
			w.Fatalf("row %d has the key %s, want %d, %v", i, id, want, err)
		}
	}
	w.Logf("%d rows once each", len(ids))
}
