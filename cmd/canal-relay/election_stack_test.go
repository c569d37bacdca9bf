//go:build stack

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
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

func newLink(w *world, server string, secure *tls.Config) *link {
	w.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	l := &link{Listener: plain}
	if secure != nil {
		l.Listener = tls.NewListener(plain, secure)
	}
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

// certificate makes one for 127.0.0.1 and writes it to a file.
func (w *world) certificate() (pair tls.Certificate, path string) {
	w.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	w.must(err)
	path = filepath.Join(w.dir, "zookeeper-ca.pem")
	w.must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// TestStackSecuredZooKeeper: nodes that reach ZooKeeper over TLS, with credentials, below a chroot that did not exist. The
// nodes that they make are closed to others, and commands work with the same configuration.
func TestStackSecuredZooKeeper(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pair, ca := w.certificate()
	secured := newLink(w, w.ZooKeeper, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	chroot := "/secured/" + w.name
	w.conf.Server["canal.zkServers"] = secured.Addr().String() + chroot
	w.conf.Server["canal.relay.zookeeper.auth"] = "relay:s3cret"
	w.conf.Server["canal.relay.zookeeper.tls.ca"] = ca
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	first := w.start()
	w.active(ctx)
	w.start()
	w.wantIDs(ctx, "1")
	stranger := w.zookeeper()
	defer stranger.Close()
	running := chroot + "/otter/canal/destinations/" + w.name + "/running"
	if _, err := stranger.Set(running, []byte(`{"active":false}`), -1); err != zk.ErrNoAuth {
		t.Errorf("a stranger's write to the running node: %v", err)
	}
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
			master := newLink(w, direct, nil)
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
