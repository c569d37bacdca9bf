package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestZooKeeperFiles: what ZooKeeper is reached with is read anew from its files, so that a change of one takes no restart;
// one that cannot be used is named. That another file is to be used takes one.
func TestZooKeeperFiles(t *testing.T) {
	c := newConf(t)
	cert, key := certificate(t)
	c.write("zk.txt", "relay:s3cret\n")
	for _, name := range []string{"ca.pem", "own.pem"} {
		c.write(name, cert)
	}
	c.write("own.key", key)
	c.server = append(c.server, "canal.zkServers = zk1", "canal.relay.secret.canal.relay.zookeeper.auth.file = zk.txt", "canal.relay.zookeeper.tls.ca = ca.pem",
		"canal.relay.zookeeper.tls.certificate = own.pem", "canal.relay.zookeeper.tls.key = own.key", "canal.relay.zookeeper.tls.server.name = zk")
	n := c.mustLoad()

	other, otherKey := certificate(t)
	c.write("zk.txt", "relay:n3w\r\n")
	c.write("ca.pem", other)
	if auth, err := n.ZooKeeperAuthAgain(); auth != "relay:n3w" || err != nil {
		t.Errorf("credentials: %q, %v", auth, err)
	}
	now, err := n.ZooKeeperTLSAgain()
	if err != nil || now.RootCAs.Equal(n.ZooKeeperTLS.RootCAs) || now.ServerName != "zk" || !slices.Equal(now.Certificates[0].Certificate[0], n.ZooKeeperTLS.Certificates[0].Certificate[0]) {
		t.Errorf("with other authorities: %v", err)
	}
	bad := func(name, text string, again func() error) {
		t.Helper()
		before, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		c.write(name, text)
		if err := again(); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Remove(filepath.Join(c.dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := again(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s, away: %v", name, err)
		}
		c.write(name, string(before))
	}
	auth := func() error { _, err := n.ZooKeeperAuthAgain(); return err }
	settings := func() error { _, err := n.ZooKeeperTLSAgain(); return err }
	bad("zk.txt", "", auth)
	bad("zk.txt", "s3cret\n", auth)
	bad("ca.pem", other[:20], settings)
	bad("own.key", otherKey, settings) // its certificate is still to come
	c.write("own.pem", other)
	c.write("own.key", otherKey)
	if now, err = n.ZooKeeperTLSAgain(); err != nil || slices.Equal(now.Certificates[0].Certificate[0], n.ZooKeeperTLS.Certificates[0].Certificate[0]) {
		t.Errorf("with another certificate: %v", err)
	}
	if restart := n.Restart(c.mustLoad()); len(restart) > 0 {
		t.Errorf("restart for %v", restart)
	}

	c.write("zk2.txt", "relay:n3w\n")
	c.write("own2.key", otherKey)
	for i, line := range c.server {
		c.server[i] = strings.NewReplacer("zk.txt", "zk2.txt", "own.key", "own2.key").Replace(line)
	}
	if got, want := n.Restart(c.mustLoad()), []string{"canal.relay.zookeeper.auth", "canal.relay.zookeeper.tls.key"}; !slices.Equal(got, want) {
		t.Errorf("restart for %v, want %v", got, want)
	}
	c.server = slices.DeleteFunc(c.server, func(line string) bool { return strings.Contains(line, ".tls.") || strings.Contains(line, "secret") })
	c.server = append(c.server, "canal.relay.zookeeper.auth = relay:n3w")
	if n = c.mustLoad(); n.ZooKeeperAuthAgain != nil || n.ZooKeeperTLSAgain != nil {
		t.Error("something is read anew that stands in no file")
	}
}
