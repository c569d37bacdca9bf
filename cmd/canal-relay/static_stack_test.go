//go:build stack

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// again starts a node on the folder of the world's only node so far, whose log goes on.
func (w *world) again() *local.Node {
	w.Helper()
	dir := filepath.Join(w.dir, "node0")
	log, err := os.OpenFile(dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	w.must(err)
	w.Cleanup(func() { _ = log.Close() })
	return w.startOn(dir, log)
}

// TestStackStaticElection: without ZooKeeper a node elects itself and keeps its position in meta.dat. It is killed, stopped in
// good order and started again under a steady writer: nothing is lost, and nothing is sent again.
func TestStackStaticElection(t *testing.T) {
	w := newWorld(t, "mariadb", nil)
	delete(w.conf.Server, "canal.zkServers")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w.exec(w.admin(), "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, round INT NOT NULL)")
	var writer sync.WaitGroup
	enough := make(chan struct{})
	writer.Go(func() { w.keepWriting(enough) })
	stop := sync.OnceFunc(func() { close(enough); writer.Wait() })
	defer stop()
	meta := filepath.Join(w.dir, "node0", w.name, "meta.dat")
	for round, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
		node := w.again()
		w.mark(ctx, round)
		w.until(ctx, meta, func() bool { _, err := os.Stat(meta); return err == nil })
		if err := node.Stop(signal, 30*time.Second); signal == syscall.SIGTERM && err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
	}
	stop()
	w.again()
	changes, repeats := w.prove(ctx, w.admin())
	t.Logf("%d changes, %d sent twice", changes, repeats)
	w.nothingTwice(repeats)
	// The last node may have had nothing to send.
	w.until(ctx, "the fourth term", func() bool { return strings.Count(w.log(0), `msg="reading binlog"`) >= 4 })
	if text, err := os.ReadFile(meta); err != nil || !strings.Contains(string(text), `"clientId":1001`) {
		t.Errorf("meta.dat is not Canal's: %v\n%s", err, text)
	}
}

// TestStackCanalMetaFile: a meta.dat that Canal wrote is where a node goes on, whatever start is configured.
func TestStackCanalMetaFile(t *testing.T) {
	w := newWorld(t, "mysql", map[string]string{"canal.instance.master.journal.name": "", "canal.instance.master.position": ""})
	delete(w.conf.Server, "canal.zkServers")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	var err error
	w.from, err = local.End(conn)
	w.must(err)
	cursor := w.canalCursor()
	w.exec(conn, "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
	meta := filepath.Join(w.dir, "node0", w.name, "meta.dat")
	w.must(os.MkdirAll(filepath.Dir(meta), 0o755))
	w.must(os.WriteFile(meta, []byte(fmt.Sprintf(`{"clientDatas":[{"clientIdentity":{"clientId":1001,"destination":"%s","filter":""},"cursor":%s}],"destination":"%s"}`,
		w.name, cursor, w.name)), 0o644))
	w.again()
	if changes, repeats := w.prove(ctx, conn); changes != 2 || repeats != 0 {
		t.Errorf("%d changes, %d repeats, want 2 and 0", changes, repeats)
	}
}

// TestStackMetricsPort: a port that somebody else has is a warning; 0 is none at all. The node works either way.
func TestStackMetricsPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	const warning = "no metrics and no status page"
	for port, warnings := range map[string]int{fmt.Sprint(taken.Addr().(*net.TCPAddr).Port): 1, "0": 0} {
		w := newWorld(t, "mysql", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		conn := w.admin()
		w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
		w.conf.Server["canal.metrics.pull.port"], w.conf.Server["canal.relay.http.bind"] = port, "127.0.0.1"
		node := w.start()
		w.prove(ctx, conn)
		if err := node.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
			t.Errorf("port %s: SIGTERM: %v", port, err)
		}
		if n := strings.Count(w.log(0), warning); n != warnings || warnings > 0 && !strings.Contains(w.log(0), "canal.metrics.pull.port") {
			t.Errorf("port %s: %d warnings, want %d", port, n, warnings)
		}
	}
}

// TestStackOtherNodeTries: a node that cannot work for a destination gives it up, and another one that can takes it.
func TestStackOtherNodeTries(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	keys := w.conf.Destinations[w.name]
	keys["canal.instance.dbPassword"] = "wrong"
	bad := w.start()
	w.until(ctx, "the failure", func() bool { return w.state(ctx, bad, w.name).State == "failed" })
	keys["canal.instance.dbPassword"] = w.Password
	began := time.Now()
	good := w.start()
	if _, err := local.WaitActive(ctx, w.name, good); err != nil {
		t.Fatal(err)
	}
	t.Logf("taken after %v", time.Since(began).Round(time.Millisecond))
	w.prove(ctx, conn)
	if s := w.state(ctx, bad, w.name); s.State == "active" {
		t.Errorf("both are active: %+v", s)
	}
}
