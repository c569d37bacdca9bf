//go:build stack

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackSecuredZooKeeper: nodes that reach ZooKeeper over its own TLS port, with credentials, below a chroot that did not
// exist. The nodes that they make are closed to others, and commands work with the same configuration. Certificate and
// credentials change while they are at work. Where the server wants a client's certificate, who has none is told.
func TestStackSecuredZooKeeper(t *testing.T) {
	for _, clients := range []string{"none", "need"} {
		t.Run(clients, func(t *testing.T) {
			w := newWorld(t, "mysql", nil)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			z := w.secureZooKeeper(clients)
			w.conf.Server["canal.relay.session.timeout"] = "30s" // a busy machine may take long to connect again
			w.put("zookeeper.txt", "relay:s3cret")
			w.conf.Server["canal.relay.secret.canal.relay.zookeeper.auth.file"] = filepath.Join(w.dir, "zookeeper.txt")
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			first := w.start()
			w.active(ctx)
			w.wantIDs(ctx, "1")
			if clients == "none" {
				return
			}
			second := w.start()
			if _, err := z.visitor().Set(z.chroot+"/otter/canal/destinations/"+w.name+"/running", []byte(`{"active":false}`), -1); err != zk.ErrNoAuth {
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
			z.rotate(ctx, conn, first, second)
			delete(w.conf.Server, "canal.relay.zookeeper.tls.certificate")
			delete(w.conf.Server, "canal.relay.zookeeper.tls.key")
			w.start()
			w.until(ctx, "the reason", func() bool { return strings.Contains(w.log(2), "see canal.relay.zookeeper.tls.certificate") })
		})
	}
}

// secured is a ZooKeeper with TLS.
type secured struct {
	*world
	*link         // to its TLS port
	store  string // of the authority
	plain  string // its other port
	chroot string
}

// secureZooKeeper has nodes use the TLS port of a ZooKeeper that asks clients for a certificate as it is told.
func (w *world) secureZooKeeper(clients string) secured {
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
	z := secured{w, newLink(w, "127.0.0.1:"+port("tls-port")), filepath.Join(dir, "server.p12"), "127.0.0.1:" + port("port"), "/secured/" + w.name}
	private(w.T, z.store, w.dir)
	keys := w.conf.Server
	_, near, err := net.SplitHostPort(z.Listener.Addr().String())
	w.must(err)
	keys["canal.zkServers"], keys["canal.relay.zookeeper.tls.ca"] = "localhost:"+near+z.chroot, filepath.Join(w.dir, "ca.pem")
	if clients == "need" {
		keys["canal.relay.zookeeper.tls.certificate"], keys["canal.relay.zookeeper.tls.key"] = filepath.Join(w.dir, "client.pem"), filepath.Join(w.dir, "client.pem")
	}
	return z
}

func (w *world) put(name, text string) {
	w.Helper()
	w.must(os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600))
}

// visitor reaches the plain port with some credentials.
func (z secured) visitor(auth ...string) *zk.Conn {
	z.Helper()
	conn, events, err := zk.Connect([]string{z.plain}, 10*time.Second, zk.WithLogInfo(false))
	z.must(err)
	z.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	for _, one := range auth {
		z.must(conn.AddAuth("digest", []byte(one)))
	}
	return conn
}

// rotate gives both nodes a new certificate and new credentials, and cuts their connections. The owner goes on, in its term.
// What is made from then on is open to the new credentials; what was there before when an administrator has said so.
func (z secured) rotate(ctx context.Context, conn *client.Conn, standby, owner *local.Node) {
	z.Helper()
	running, cursor := z.chroot+"/otter/canal/destinations/"+z.name+"/running", z.chroot+"/otter/canal/destinations/"+z.name+"/1001/cursor"
	private(z.T, z.store, z.dir)
	z.put("zookeeper.txt", "relay:n3w\n")
	z.drop()
	for node := range 2 {
		z.until(ctx, "the new certificate and credentials", func() bool {
			return strings.Contains(z.log(node), "TLS files for ZooKeeper have changed") && strings.Contains(z.log(node), "credentials for ZooKeeper have changed")
		})
	}
	z.exec(conn, "INSERT INTO t VALUES (3)")
	z.wantIDs(ctx, "1", "2", "3")
	if n := strings.Count(z.log(1), `msg="term started"`); n != 1 || z.active(ctx) != owner {
		z.Errorf("the owner has had %d terms", n)
	}
	if code, out, errs := command("status", "--conf", owner.Dir); code != 1 || !strings.Contains(errs, "have an administrator change the list") {
		z.Errorf("status, of nodes that are closed to the new credentials: exit %d, %s%s", code, out, errs)
	}
	z.allow(z.visitor("relay:s3cret", "relay:n3w"), z.chroot)
	z.allow(z.visitor("relay:n3w"), z.chroot)
	if _, _, err := z.visitor("relay:s3cret").Get(cursor); err != zk.ErrNoAuth {
		z.Errorf("the old credentials, after all: %v", err)
	}
	if code, out, errs := command("release", "--conf", owner.Dir, "--destination", z.name); code != 0 || z.active(ctx) != standby {
		z.Errorf("release: exit %d, %s%s", code, out, errs)
	}
	acl, _, err := z.visitor("relay:n3w").GetACL(running)
	z.must(err)
	if who := fmt.Sprint(acl); !strings.Contains(who, "x509 CN="+z.certified()+"}") {
		z.Errorf("the new owner's running node is open to %s, its certificate is for %s", who, z.certified())
	}
	z.exec(conn, "INSERT INTO t VALUES (4)")
	z.wantIDs(ctx, "1", "2", "3", "4")
	if text := z.log(0) + z.log(1); strings.Contains(text, "n3w") {
		z.Error("the new password is shown")
	}
}

// allow makes a node, and those below it, open to a visitor and nobody else, as setAcl -R does.
func (z secured) allow(conn *zk.Conn, path string) {
	z.Helper()
	names, _, err := conn.Children(path)
	z.must(err)
	for _, name := range names {
		z.allow(conn, path+"/"+name)
	}
	_, err = conn.SetACL(path, zk.AuthACL(zk.PermAll), -1)
	z.must(err)
}

// certified is the name that the nodes' certificate bears.
func (z secured) certified() string {
	z.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(z.dir, "client.pem"), filepath.Join(z.dir, "client.pem"))
	z.must(err)
	return pair.Leaf.Subject.CommonName
}
