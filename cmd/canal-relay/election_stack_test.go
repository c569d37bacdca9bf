//go:build stack

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
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
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		_ = c.Close()
	}
}

// TestStackSecuredZooKeeper: nodes that reach ZooKeeper over its own TLS port, with credentials, below a chroot that did not
// exist. The nodes that they make are closed to others, and commands work with the same configuration. Where the server wants
// a client's certificate, who has none is told.
func TestStackSecuredZooKeeper(t *testing.T) {
	for _, clients := range []string{"none", "need"} {
		t.Run(clients, func(t *testing.T) {
			w := newWorld(t, "mysql", nil)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			plain := w.secureZooKeeper(clients)
			chroot := "/secured/" + w.name
			w.conf.Server["canal.zkServers"] += chroot
			w.conf.Server["canal.relay.zookeeper.auth"] = "relay:s3cret"
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			first := w.start()
			w.active(ctx)
			w.wantIDs(ctx, "1")
			if clients == "none" {
				return
			}
			w.start()
			w.strangerIsKeptOut(plain, chroot+"/otter/canal/destinations/"+w.name+"/running")
			var code int
			var out, errs string
			w.until(ctx, "a hand-over", func() bool { // the second node may still be on its way
				code, out, errs = command("release", "--conf", first.Dir, "--destination", w.name)
				return code == 0
			})
			w.exec(conn, "INSERT INTO t VALUES (2)")
			w.wantIDs(ctx, "1", "2")
			if strings.Contains(out+errs+w.log(0)+w.log(1), "s3cret") {
				t.Error("the password is shown")
			}
			if code, out, errs = command("status", "--conf", first.Dir); code != 0 || !strings.Contains(out, w.name) {
				t.Errorf("status: exit %d, %s%s", code, out, errs)
			}
			delete(w.conf.Server, "canal.relay.zookeeper.tls.certificate")
			delete(w.conf.Server, "canal.relay.zookeeper.tls.key")
			w.start()
			w.until(ctx, "the reason", func() bool { return strings.Contains(w.log(2), "see canal.relay.zookeeper.tls.certificate") })
		})
	}
}

// secureZooKeeper has nodes use the TLS port of a ZooKeeper that asks clients for a certificate as it is told, and returns its
// plain port.
func (w *world) secureZooKeeper(clients string) (plain string) {
	w.Helper()
	w.Setenv("CANAL_RELAY_ZOOKEEPER_CLIENT_AUTH", clients)
	w.servers("restart", "zookeepertls")
	w.Cleanup(func() { w.servers("down", "zookeepertls") })
	dir := os.Getenv("CANAL_RELAY_ZOOKEEPER_TLS")
	port := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		w.must(err)
		return strings.TrimSpace(string(text))
	}
	private(w.T, filepath.Join(dir, "server.p12"), w.dir)
	keys := w.conf.Server
	keys["canal.zkServers"], keys["canal.relay.zookeeper.tls.ca"] = "localhost:"+port("tls-port"), filepath.Join(w.dir, "ca.pem")
	if clients == "need" {
		keys["canal.relay.zookeeper.tls.certificate"], keys["canal.relay.zookeeper.tls.key"] = filepath.Join(w.dir, "client.pem"), filepath.Join(w.dir, "client.pem")
	}
	return "127.0.0.1:" + port("port")
}

func (w *world) strangerIsKeptOut(server, running string) {
	w.Helper()
	stranger, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false))
	w.must(err)
	defer func() {
		stranger.Close()
		for range events {
		}
	}()
	if _, err := stranger.Set(running, []byte(`{"active":false}`), -1); err != zk.ErrNoAuth {
		w.Errorf("a stranger's write to the running node: %v", err)
	}
}

// TestStackStandby: the source cannot be reached any more; after the failures that are borne the standby is read, and
// every change is there.
func TestStackStandby(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newWorld(t, server, map[string]string{"canal.instance.detecting.enable": "true", "canal.instance.detecting.sql": "select 1",
				"canal.instance.detecting.interval.time": "1", "canal.instance.detecting.retry.threshold": "1", "canal.instance.detecting.heartbeatHaEnable": "true"})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
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
			_ = node.Stop(syscall.SIGKILL, 5*time.Second)
		}
		w.active(ctx)
		w.exec(conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		want = append(want, fmt.Sprint(i))
		w.start()
		w.wantIDs(ctx, want...)
	}
}
