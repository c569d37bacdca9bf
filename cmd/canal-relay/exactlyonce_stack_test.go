//go:build stack

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

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
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
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
			_ = n.Stop(syscall.SIGKILL, 5*time.Second)
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
		w.nodes = append(w.nodes, paused)
	}
	w.fault(ctx, func(n *local.Node) {
		if err := n.Stop(syscall.SIGTERM, 15*time.Second); err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
	})
	close(enough)
	writers.Wait()
	w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
	w.proveOnce(ctx, conn)
}

// TestStackExactlyOncePaused: two nodes; the owner is stopped beyond its session, another one takes over, and the old one
// wakes with requests ready. Neither what it wrote nor what it writes is seen by readers of committed records.
func TestStackExactlyOncePaused(t *testing.T) {
	w := newExactly(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	a, b := w.start(), w.start()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE wide (id INT PRIMARY KEY, pad VARCHAR(200))")
	var writers sync.WaitGroup
	enough := make(chan struct{})
	writers.Go(func() { w.writeLarge(conn, enough) })
	works := func(n *local.Node) func() bool {
		return func() bool { return n.Active(ctx, w.name) && w.acked(ctx, n) > 5000 }
	}
	rounds := 3
	for owner, other := w.active(ctx), b; rounds > 0; owner, other = other, owner {
		if owner == other {
			other = a
		}
		w.until(ctx, "the owner at work", works(owner))
		w.must(owner.Signal(syscall.SIGSTOP))
		w.until(ctx, "the other at work", works(other))
		w.must(owner.Signal(syscall.SIGCONT))
		w.until(ctx, "the first on standby", func() bool { return w.state(ctx, owner, w.name).State == "standby" })
		rounds--
	}
	close(enough)
	writers.Wait()
	w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
	w.proveOnce(ctx, conn)
}
