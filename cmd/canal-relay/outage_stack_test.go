//go:build stack

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// log is what a node has logged.
func (w *world) log(node int) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, fmt.Sprint("node", node, ".log")))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// TestStackAwayAtStart: neither ZooKeeper nor Kafka is there when a node starts. It waits for each, says so once, and works
// when they come.
func TestStackAwayAtStart(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.patient()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	t.Cleanup(func() { w.servers("up", "zookeeper", "kafka") })
	w.servers("kill", "zookeeper", "kafka")
	const noZooKeeper, noKafka = "ZooKeeper cannot be reached", "Kafka does not answer"
	node := w.start()
	w.until(ctx, "a word about ZooKeeper", func() bool { return strings.Contains(w.log(0), noZooKeeper) })
	w.until(ctx, "the page", func() bool { _, err := node.Get(ctx, "/healthz"); return err == nil })
	if _, err := node.Get(ctx, "/readyz"); err == nil {
		t.Error("the node says that it is ready")
	}
	w.servers("up", "zookeeper")
	w.active(ctx)
	w.until(ctx, "a word about Kafka", func() bool { return strings.Contains(w.log(0), noKafka) })
	if _, err := node.Get(ctx, "/readyz"); err != nil {
		t.Error("not ready with a ZooKeeper session:", err)
	}
	w.servers("up", "kafka")
	w.prove(ctx, conn)
	for _, said := range []string{noZooKeeper, noKafka} {
		if n := strings.Count(w.log(0), said); n != 1 {
			t.Errorf("said %d times: %s", n, said)
		}
	}
	if strings.Contains(w.log(0), "term failed") {
		t.Error("waiting was taken for a failure")
	}
}

// TestStackOutages: each of the servers restarts, one after the other, and the databases crash once, while both databases are
// written to. Everything arrives, in order, and an outage is no failure.
func TestStackOutages(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var worlds []*world
	var writers sync.WaitGroup
	enough := make(chan struct{})
	for _, server := range []string{"mysql", "mariadb"} {
		w := newWorld(t, server, nil)
		w.exec(w.admin(), "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, round INT NOT NULL)")
		w.start()
		w.start()
		w.active(ctx)
		worlds = append(worlds, w)
		writers.Go(func() { w.keepWriting(enough) })
	}
	stop := sync.OnceFunc(func() { close(enough); writers.Wait() })
	defer stop()
	w := worlds[0]
	for round, fault := range [][]string{{"restart", "kafka"}, {"restart", "zookeeper"}, {"restart", "mysql"}, {"restart", "mariadb"}, {"kill", "mysql", "mariadb"}} {
		began := time.Now()
		w.servers(fault[0], fault[1:]...)
		if fault[0] == "kill" {
			w.servers("up", fault[1:]...)
		}
		up := time.Now()
		for _, w := range worlds {
			w.mark(ctx, round)
		}
		t.Logf("%v: %v until it was up, %v until all flowed again", fault, up.Sub(began).Round(time.Millisecond), time.Since(up).Round(time.Millisecond))
	}
	stop()
	for _, w := range worlds {
		changes, repeats := w.prove(ctx, w.admin())
		t.Logf("%s: %d changes, %d sent twice", w.server, changes, repeats)
		for i := range w.nodes {
			for line := range strings.Lines(w.log(i)) {
				if !strings.Contains(line, "term ended") && !strings.Contains(line, "term failed") {
					continue
				}
				t.Logf("node %d: %s", i, line)
				// A lease may be lost while ZooKeeper is away for long; the next term may then meet the database's restart.
				if strings.Contains(line, "term failed") && !strings.Contains(line, "connect to source") {
					t.Errorf("%s: an outage was taken for a failure", w.server)
				}
			}
		}
	}
}

// mark writes a row that tells of a round, and waits until it is in the topic.
func (w *world) mark(ctx context.Context, round int) {
	w.Helper()
	conn := w.admin()
	w.exec(conn, fmt.Sprintf("INSERT INTO %s.t VALUES (%d, %d)", w.name, -1-round, round))
	err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool { return !marks(r.Value, round) })
	if err != nil {
		w.Fatalf("round %d of %s: %v", round, w.server, err)
	}
}

// marks reports whether a message has the row of a round.
func marks(message []byte, round int) bool {
	return bytes.Contains(message, []byte(fmt.Sprintf(`"id":"%d"`, -1-round)))
}

// keepWriting commits a transaction of 20 rows every few milliseconds, through outages of its server.
func (w *world) keepWriting(enough <-chan struct{}) {
	var conn *client.Conn
	for id := 0; ; id += 20 {
		select {
		case <-enough:
			if conn != nil {
				_ = conn.Close()
			}
			return
		case <-time.After(5 * time.Millisecond):
		}
		if conn == nil {
			var err error
			if conn, err = w.Admin(w.server); err != nil {
				conn = nil
				continue
			}
		}
		var rows []string
		for i := id; i < id+20; i++ {
			rows = append(rows, fmt.Sprintf("(%d, 0)", i))
		}
		if local.Exec(conn, "INSERT INTO "+w.name+".t VALUES "+strings.Join(rows, ",")) != nil {
			_ = conn.Close() // whether it was committed, the binlog tells
			conn = nil
		}
	}
}
