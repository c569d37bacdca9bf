//go:build stack

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// room says how large files of a node may become, in bytes: an empty text is without limit. Beyond it the system refuses to
// write, as when a disk is full.
func (w *world) room(n *local.Node, bytes string) {
	w.Helper()
	limit := "unlimited"
	if bytes != "" {
		limit = bytes
	}
	out, err := exec.Command("prlimit", "--pid", fmt.Sprint(n.PID()), "--fsize="+limit+":unlimited").CombinedOutput()
	if err != nil {
		w.Fatalf("prlimit: %v: %s", err, out)
	}
}

// piped starts a node on the folder of the world's first whose log the test writes, so that it does not count.
func (w *world) piped() *local.Node {
	w.Helper()
	dir := filepath.Join(w.dir, "node0")
	log, err := os.OpenFile(dir+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	w.must(err)
	w.Cleanup(func() { _ = log.Close() })
	return w.startOn(dir, struct{ io.Writer }{log})
}

// TestStackDiskFull: without ZooKeeper, position and schema history are in files. No disk is left for them: positions are
// not saved, which is said, and rows flow on; a DDL that cannot be kept ends the term by name, before a later row is sent. When there
// is room again the node goes on by itself; so does one that was killed meanwhile. Nothing is lost, and nothing is there twice.
func TestStackDiskFull(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	delete(w.conf.Server, "canal.zkServers")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	node := w.piped()
	w.active(ctx)
	var want []string
	insert := func() {
		id := fmt.Sprint(len(want))
		want = append(want, id)
		w.exec(conn, "INSERT INTO t (id) VALUES ("+id+")")
	}
	insert()
	meta := filepath.Join(w.dir, "node0", w.name, "meta.dat")
	w.until(ctx, meta, func() bool { _, err := os.Stat(meta); return err == nil })
	unsaved := regexp.MustCompile(`msg="position not saved, trying again".*meta\.dat.*file too large`)
	said := func() int { return len(unsaved.FindAllString(w.log(0), -1)) }
	for round := range 2 {
		before := said()
		w.room(node, "0")
		insert()
		w.until(ctx, "a word about the position", func() bool { return said() > before })
		saved, err := os.ReadFile(meta) // from here on it cannot change
		w.must(err)
		insert()
		w.wantIDs(ctx, want...)
		if now, err := os.ReadFile(meta); err != nil || string(now) != string(saved) {
			t.Errorf("meta.dat is %s, %v; want %s", now, err, saved)
		}
		w.exec(conn, fmt.Sprintf("ALTER TABLE t ADD COLUMN c%d INT NOT NULL DEFAULT 5", round))
		insert()
		w.until(ctx, "the failure", func() bool {
			s := w.state(ctx, node, w.name)
			return s.State == "failed" && strings.Contains(s.Reason, "file too large") && strings.Contains(s.Reason, "schema")
		})
		if round == 1 {
			_ = node.Stop(syscall.SIGKILL, 30*time.Second)
			node = w.piped()
		}
		w.room(node, "")
		insert()
		w.wantIDs(ctx, want...)
	}
	changes, repeats := w.prove(ctx, conn)
	w.nothingTwice(repeats)
	t.Logf("%d changes, %d sent twice", changes, repeats)
	left, err := filepath.Glob(filepath.Join(w.dir, "node0", w.name, "*.tmp"))
	w.must(err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
