//go:build stack

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// link is a port before a server that can be cut for good.
type link struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newLink(w *world, server string) *link {
	w.Helper()
	near, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	l := &link{Listener: near}
	w.Cleanup(l.cut)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			l.mu.Lock()
			l.conns = append(l.conns, near, far)
			l.mu.Unlock()
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
	return l
}

func (l *link) cut() {
	_ = l.Close()
	l.drop()
}

// drop ends the connections that there are.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// TestStackStandby: the source cannot be reached any more; after the failures that are borne the standby is read, and
// every change is there.
func TestStackStandby(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newWorld(t, server, map[string]string{"canal.instance.detecting.enable": "true", "canal.instance.detecting.sql": "select 1",
				"canal.instance.detecting.interval.time": "1", "canal.instance.detecting.retry.threshold": "1", "canal.instance.detecting.heartbeatHaEnable": "true"})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			keys := w.conf.Destinations[w.name]
			direct := keys["canal.instance.master.address"]
			master := newLink(w, direct)
			keys["canal.instance.master.address"], keys["canal.instance.standby.address"] = master.Addr().String(), direct
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			node := w.start()
			w.active(ctx)
			w.wantIDs(ctx, "1")
			master.cut()
			w.exec(conn, "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
			w.prove(ctx, conn)
			w.until(ctx, "a word about the change", func() bool { return strings.Contains(w.log(0), "going on at the other server") })
			w.stop(node) // its position is the standby's
			w.exec(conn, "INSERT INTO t VALUES (4)")
			w.start()
			w.active(ctx)
			w.prove(ctx, conn)
		})
	}
}

// TestStackTwins, case HA-05: two nodes that do not see each other, since their chroots differ, both run the destination.
// The source ends the older dump, and that is told.
func TestStackTwins(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	w.start()
	w.active(ctx)
	w.conf.Server["canal.zkServers"] += "/other/" + w.name
	w.start()
	w.until(ctx, "a word about the twin", func() bool {
		return strings.Contains(w.log(0)+w.log(1), "another reader with server id")
	})
	if !strings.Contains(w.log(1), "the chroot of canal.zkServers did not exist and is created") {
		t.Error("nothing is said of the new chroot")
	}
}

// TestStackBackAndForth, case HA-04: the destination moves ten times from node to node, and flows each time.
func TestStackBackAndForth(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
	w.start()
	w.active(ctx)
	w.start()
	var want []string
	for i := range 10 {
		node := w.active(ctx)
		if i%2 == 0 {
			w.stop(node)
		} else {
			_ = node.Stop(syscall.SIGKILL, 30*time.Second)
		}
		w.active(ctx)
		w.exec(conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		want = append(want, fmt.Sprint(i))
		w.start()
		w.wantIDs(ctx, want...)
	}
}
