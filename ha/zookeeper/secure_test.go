package zookeeper_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// Nodes made with credentials are closed to who has others, and that is said
// with the key to set; who has the same takes over.
func TestCredentials(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		secured := func(id, auth string) zookeeper.Config {
			c := config(s, id)
			c.Auth = auth
			return c
		}
		a := start(t, secured("a:1", "relay:secret"), &starter{node: "a", log: l})
		settle(time.Second)
		b := start(t, secured("b:1", "relay:wrong"), &starter{node: "b", log: l})
		c := start(t, secured("c:1", "relay:secret"), &starter{node: "c", log: l})
		settle(time.Second)
		_, _, err := zookeeper.Release(t.Context(), secured("", "").Config, dest)
		if !errors.Is(err, zk.ErrNoAuth) || !strings.Contains(err.Error(), "canal.relay.zookeeper.auth") {
			t.Errorf("a command without credentials: %v", err)
		}
		if _, _, err := zookeeper.Release(t.Context(), secured("", "relay:secret").Config, dest); err != nil {
			t.Errorf("a command with them: %v", err)
		}
		settle(time.Second)
		sameLines(t, l, "a starts", "a drained", "c starts")
		a.stop()
		b.stop()
		c.stop()
	})
}

// Above a chroot that an administrator has made for this user nothing need be open to it.
func TestChrootBelowClosedNodes(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		visitor := config(s, "").Config
		visitor.Auth = "admin:secret"
		err := session.Briefly(t.Context(), visitor, func(v *session.Visit) error { return v.Ensure("/apps/relay") })
		if err != nil {
			t.Fatal(err)
		}
		s.Open("/apps/relay")
		c := config(s, "a:1")
		c.Servers, c.Auth = "zk1:2181/apps/relay", "relay:secret"
		a := start(t, c, &starter{node: "a", log: newLog()})
		settle(time.Second)
		if _, ok := s.Get("/apps/relay" + runningAt); !ok {
			t.Error("no running node below the chroot")
		}
		a.stop()
	})
}

// Credentials that change are presented beside those before: the owner goes on, what it makes from then on is open to
// both, and what it cannot read anew it does without.
func TestCredentialsChange(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		const before, after = "relay:s3cret", "relay:n3w"
		var auth, failure atomic.Value
		auth.Store(before)
		failure.Store("")
		var said bytes.Buffer
		c := config(s, "a:1")
		c.Auth = before
		c.AuthAgain = func() (string, error) {
			if text := failure.Load().(string); text != "" {
				return "", errors.New(text)
			}
			return auth.Load().(string), nil
		}
		l := newLog()
		a := startLogged(t, c, &starter{node: "a", log: l}, slog.New(slog.NewTextHandler(&said, nil)))
		opens := func(auth, path string) bool {
			t.Helper()
			visitor := config(s, "").Config
			visitor.Auth = auth
			_, err := session.Read(t.Context(), visitor, path)
			if err != nil && !errors.Is(err, zk.ErrNoAuth) {
				t.Fatal(err)
			}
			return err == nil
		}
		settle(time.Second)
		failure.Store("read zookeeper.txt: permission denied")
		settle(10 * time.Second)
		s.Cut()
		settle(10 * time.Second)
		failure.Store("")
		auth.Store(after)
		settle(2 * time.Second)
		s.Cut()
		settle(2 * time.Second)
		if !opens(before, runningAt) || opens(after, runningAt) {
			t.Error("the node of before should be open to the old credentials alone")
		}
		sameLines(t, l, "a starts")
		s.Expire(owner(t, s).Owner)
		settle(20 * time.Second)
		if !opens(before, runningAt) || !opens(after, runningAt) || opens("relay:other", runningAt) {
			t.Error("the node made since then should be open to both, and to nobody else")
		}
		sameLines(t, l, "a starts", "a dropped", "a starts")
		a.stop()
		text := said.String()
		if n := strings.Count(text, "stays in use\" what=credentials"); n != 1 || !strings.Contains(text, "zookeeper.txt: permission denied") {
			t.Errorf("told %d times that they cannot be read: %s", n, text)
		}
		if n := strings.Count(text, "credentials for ZooKeeper have changed"); n != 1 || strings.Contains(text, "s3cret") || strings.Contains(text, "n3w") {
			t.Errorf("told %d times that they have changed: %s", n, text)
		}
	})
}

// A chroot that does not exist is made, with the access list as well.
func TestChrootIsMadeForItsUser(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := config(s, "a:1")
		c.Servers, c.Auth = "zk1:2181/a/b", "relay:secret"
		a := start(t, c, &starter{node: "a", log: newLog()})
		settle(time.Second)
		if _, ok := s.Get("/a/b" + runningAt); !ok {
			t.Fatal("no running node below the chroot")
		}
		c.Auth = ""
		if _, err := zookeeper.Survey(t.Context(), c.Config); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("the tree below the chroot is open to everybody: %v", err)
		}
		a.stop()
	})
}

// authority makes a certificate for a name, and a pool that trusts it.
func authority(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// behindTLS puts a TLS listener before what dial reaches.
func behindTLS(settings *tls.Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		server, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		secured := tls.Server(far, settings)
		go func() { _, _ = copyUntil(server, secured) }()
		go func() { _, _ = copyUntil(secured, server) }()
		return near, nil
	}
}

func copyUntil(to, from net.Conn) (n int, err error) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		k, err := from.Read(buf)
		if err != nil {
			return n, err
		}
		if _, err := to.Write(buf[:k]); err != nil {
			return n, err
		}
		n += k
	}
}

// TestTLS: what is wrong is told, to the log and to who asks.
func TestTLS(t *testing.T) {
	for _, tt := range []struct {
		name     string
		server   string // name that is expected, of a certificate for zk1
		trust    bool
		plain    bool // the client knows nothing of TLS
		wanted   bool // the server wants the client's certificate
		own      bool // which has one
		mistaken string
	}{
		{name: "trusted", trust: true},
		{name: "named otherwise", server: "zk9", trust: true, mistaken: "certificate is valid for zk1, not zk9"},
		{name: "unknown authority", mistaken: "certificate signed by unknown authority"},
		{name: "plain", plain: true, mistaken: "it may want TLS"},
		{name: "client certificate", trust: true, wanted: true, own: true},
		{name: "no client certificate", trust: true, wanted: true, mistaken: "TLS handshake: remote error: tls: handshake failure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				cert, pool := authority(t, "zk1")
				settings := &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool}
				if tt.wanted { // with TLS 1.3 the refusal comes later, while a pipe is written to from both ends
					settings.MaxVersion = tls.VersionTLS12
					settings.ClientAuth = tls.RequireAndVerifyClientCert
				}
				c := config(s, "a:1")
				c.Dial = behindTLS(settings, s.Dial)
				c.TLS = &tls.Config{RootCAs: pool, ServerName: tt.server}
				if !tt.trust {
					_, c.TLS.RootCAs = authority(t, "zk1")
				}
				if tt.own {
					c.TLS.Certificates = settings.Certificates
				}
				if tt.plain {
					c.TLS = nil
				}
				var said bytes.Buffer
				stop := run(t, zookeeper.New(c, slog.New(slog.NewTextHandler(&said, nil))))
				asked, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := zookeeper.Survey(asked, c.Config)
				settle(3 * time.Second)
				stop()
				if (err == nil) != (tt.mistaken == "") || err != nil && !strings.Contains(err.Error(), tt.mistaken) {
					t.Errorf("asked once: %v", err)
				}
				if text := said.String(); strings.Contains(text, "session opened") != (tt.mistaken == "") || !strings.Contains(text, tt.mistaken) {
					t.Errorf("logged: %s", text)
				}
			})
		})
	}
}

// Certificates and authorities that change are used from the next connection on, in the same ownership; those that cannot
// be read are as they were.
func TestCertificatesChange(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		type side struct{ server, client *tls.Config }
		newSide := func() *side {
			cert, pool := authority(t, "zk1")
			own := []tls.Certificate{cert}
			return &side{&tls.Config{Certificates: own, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MaxVersion: tls.VersionTLS12},
				&tls.Config{Certificates: own, RootCAs: pool}}
		}
		first, second := newSide(), newSide()
		var wanted, had atomic.Pointer[side] // had: nil while it cannot be read
		wanted.Store(first)
		had.Store(first)
		var said bytes.Buffer
		c := config(s, "a:1")
		c.Dial = behindTLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return wanted.Load().server, nil }}, s.Dial)
		c.TLS = first.client
		c.TLSAgain = func() (*tls.Config, error) {
			if now := had.Load(); now != nil {
				return now.client, nil
			}
			return nil, errors.New("client.pem: it must hold a certificate and its key")
		}
		l := newLog()
		a := startLogged(t, c, &starter{node: "a", log: l}, slog.New(slog.NewTextHandler(&said, nil)))
		settle(time.Second)
		had.Store(nil)
		for range 3 {
			s.Cut()
			settle(2 * time.Second)
		}
		wanted.Store(second)
		had.Store(second)
		for range 2 {
			s.Cut()
			settle(2 * time.Second)
		}
		sameLines(t, l, "a starts")
		a.stop()
		text := said.String()
		if n := strings.Count(text, "stays in use\" what=\"TLS files\""); n != 1 || !strings.Contains(text, "client.pem: it must hold") {
			t.Errorf("told %d times that they cannot be read: %s", n, text)
		}
		if n := strings.Count(text, "TLS files for ZooKeeper have changed"); n != 1 {
			t.Errorf("told %d times that they have changed: %s", n, text)
		}
	})
}
