//go:build stack

package binlog_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// server is a real server with an account of the test's own.
type server struct {
	*testing.T
	addr  string
	admin *client.Conn
	user  string
}

func newServer(t *testing.T, kind string) *server {
	t.Helper()
	addr := os.Getenv("CANAL_RELAY_" + kind)
	if addr == "" {
		t.Fatal("CANAL_RELAY_" + kind + " is not set: no local stack")
	}
	admin, err := client.Connect(addr, os.Getenv("CANAL_RELAY_DB_ADMIN_USER"), os.Getenv("CANAL_RELAY_DB_ADMIN_PASSWORD"), "")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, addr: addr, admin: admin, user: fmt.Sprintf("login_%d_%d", os.Getpid(), time.Now().UnixNano()%1e6)}
	t.Cleanup(func() {
		_, _ = admin.Execute("DROP USER IF EXISTS " + s.user)
		_ = admin.Close()
	})
	return s
}

func (s *server) exec(statements ...string) {
	s.Helper()
	for _, q := range statements {
		if _, err := s.admin.Execute(q); err != nil {
			s.Fatalf("%s: %v", q, err)
		}
	}
}

func (s *server) account(password string) {
	s.Helper()
	s.exec("DROP USER IF EXISTS "+s.user, "CREATE USER "+s.user+" IDENTIFIED BY '"+password+"'",
		"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO "+s.user)
}

func (s *server) text(query string) string {
	s.Helper()
	r, err := s.admin.Execute(query)
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	v, err := r.GetString(0, 0)
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return strings.Clone(v)
}

func (s *server) config(password string) binlog.Config {
	return binlog.Config{Config: source.Config{Addr: s.addr, User: s.user, Password: password, ServerID: 78000 + uint32(os.Getpid()%1000),
		ReplicaUUID: "99999999-0000-0000-0000-000000000078", Heartbeat: time.Second}}
}

// streams reports whether a dump and a query get through.
func (s *server) streams(c binlog.Config) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	r := open(s.T, c)
	h := &recorder{stop: func(h *recorder) bool { return len(h.events) > 0 && h.idle > 0 }}
	if err := r.Run(ctx, position.Position{}, h); !errors.Is(err, errStop) {
		return fmt.Errorf("dump: %w", err)
	}
	if _, err := r.ShowCreateTable(ctx, "no_such", "table"); !errors.Is(err, schema.ErrNoTable) {
		return fmt.Errorf("query: %w", err)
	}
	return nil
}

// roots are the authorities of the server's own certificates.
func (s *server) roots() *x509.CertPool {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.text("SELECT @@datadir"), "ca.pem"))
	if err != nil {
		s.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// anyName checks the authority and not the name.
func anyName(roots *x509.CertPool) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, VerifyConnection: func(state tls.ConnectionState) error {
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots})
		return err
	}}
}

// TestStackLogin, case AV-02: caching_sha2_password with and without TLS, with the server's cache cold (the whole password
// goes over, under TLS or RSA) and warm, and passwords of all lengths.
func TestStackLogin(t *testing.T) {
	s := newServer(t, "MYSQL")
	roots := s.roots()
	for _, password := range []string{"", "x", strings.Repeat("n", 19), strings.Repeat("t", 20), strings.Repeat("s", 64), strings.Repeat("h", 100), "pässwörd-密码"} {
		for _, secured := range []bool{false, true} {
			s.account(password)
			for _, cache := range []string{"cold", "warm", "flushed"} {
				if cache == "flushed" {
					s.exec("FLUSH PRIVILEGES")
				}
				c := s.config(password)
				if secured {
					c.TLS = anyName(roots)
				}
				if err := s.streams(c); err != nil {
					t.Errorf("password of %d bytes, TLS %v, cache %s: %v", len(password), secured, cache, err)
				}
			}
			c := s.config(password + "wrong")
			if err := s.streams(c); !errors.Is(err, binlog.ErrDenied) || strings.Contains(err.Error(), c.Password) {
				t.Errorf("wrong password beside one of %d bytes: %v", len(password), err)
			}
		}
	}
}

// TestStackTLS, case NW-09: an account that requires TLS, who is trusted, the name, and a server whose certificate changes.
func TestStackTLS(t *testing.T) {
	s := newServer(t, "MYSQL")
	s.account("secret")
	s.exec("ALTER USER " + s.user + " REQUIRE SSL")
	roots := s.roots()
	for _, tt := range []struct {
		name     string
		tls      *tls.Config
		optional bool
		want     string // of the error; empty for none
	}{
		{"none", nil, false, "denies access"},
		{"preferred", &tls.Config{InsecureSkipVerify: true}, true, ""},
		{"any certificate", &tls.Config{InsecureSkipVerify: true}, false, ""},
		{"authority", anyName(roots), false, ""},
		{"another authority", anyName(x509.NewCertPool()), false, "unknown authority"},
		{"name", &tls.Config{RootCAs: roots}, false, "certificate"},
		{"TLS 1.2", &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, false, ""},
	} {
		c := s.config("secret")
		c.TLS, c.TLSOptional = tt.tls, tt.optional
		err := s.streams(c)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	c := s.config("secret")
	c.TLS = anyName(roots)
	s.exec("ALTER INSTANCE RELOAD TLS")
	if err := s.streams(c); err != nil {
		t.Errorf("after the server has read its certificates again: %v", err)
	}
}

// TestStackPlainServer: TLS that is only preferred does without where the server has none.
func TestStackPlainServer(t *testing.T) {
	s := newServer(t, "MARIADB")
	if has := s.text("SELECT @@have_ssl"); has == "YES" {
		t.Logf("this MariaDB has TLS (%s)", has)
	}
	s.account("secret")
	c := s.config("secret")
	c.TLS, c.TLSOptional = &tls.Config{InsecureSkipVerify: true}, true
	if err := s.streams(c); err != nil {
		t.Error(err)
	}
}

// TestStackPasswordIsReadAgain: a password that was changed in the file counts at the next login.
func TestStackPasswordIsReadAgain(t *testing.T) {
	s := newServer(t, "MYSQL")
	s.account("first")
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	c := s.config("")
	c.Secret = func() (string, error) {
		b, err := os.ReadFile(path)
		return string(b), err
	}
	r := open(t, c)
	if _, err := r.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.exec("ALTER USER " + s.user + " IDENTIFIED BY 'second'")
	if _, err := r.Check(t.Context()); !errors.Is(err, binlog.ErrDenied) {
		t.Errorf("with the old password: %v", err)
	}
	write("second")
	if _, err := r.Check(t.Context()); err != nil {
		t.Errorf("with the new password: %v", err)
	}
}

// TestStackIdleSource, case NW-02: a source without writes is followed over one connection.
func TestStackIdleSource(t *testing.T) {
	for _, kind := range []string{"MYSQL", "MARIADB"} {
		s := newServer(t, kind)
		s.account("secret")
		began := time.Now()
		h := &recorder{stop: func(*recorder) bool { return time.Since(began) > 12*time.Second }} // heartbeats of 1 s, silence of at most 7 s
		if err := open(t, s.config("secret")).Run(t.Context(), position.Position{}, h); !errors.Is(err, errStop) {
			t.Errorf("%s: after %v: %v", kind, time.Since(began), err)
		}
	}
}

// TestStackSideConnection, case NW-05: the connection for definitions is opened again when it was killed, and when the
// source has closed it because it was idle. The dump goes on.
func TestStackSideConnection(t *testing.T) {
	for _, kind := range []string{"MYSQL", "MARIADB"} {
		s := newServer(t, kind)
		s.account("secret")
		r := open(t, s.config("secret"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ask := func() {
			t.Helper()
			if _, err := r.ShowCreateTable(ctx, "no_such", "table"); !errors.Is(err, schema.ErrNoTable) {
				t.Fatalf("%s: %v", kind, err)
			}
		}
		var asked atomic.Bool
		dumped := make(chan error, 1)
		go func() {
			dumped <- r.Run(ctx, position.Position{}, &recorder{stop: func(h *recorder) bool { return asked.Load() && h.idle > 0 }})
		}()
		const side = " FROM information_schema.processlist WHERE command NOT LIKE 'Binlog Dump%' AND user = '"
		for s.text("SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%' AND user = '"+s.user+"'") == "0" {
			time.Sleep(20 * time.Millisecond)
		}
		for range 3 {
			ask()
			id := s.text("SELECT id" + side + s.user + "'")
			s.exec("KILL " + id)
			for s.text("SELECT COUNT(*) FROM information_schema.processlist WHERE id = "+id) != "0" && ctx.Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
		}
		usual := s.text("SELECT @@global.wait_timeout")
		s.exec("SET GLOBAL wait_timeout = 1")
		defer s.exec("SET GLOBAL wait_timeout = " + usual)
		ask()
		for s.text("SELECT COUNT(*)"+side+s.user+"'") != "0" {
			if ctx.Err() != nil {
				t.Fatalf("%s: the idle connection was not closed", kind)
			}
			time.Sleep(100 * time.Millisecond)
		}
		ask()
		asked.Store(true)
		if err := <-dumped; !errors.Is(err, errStop) {
			t.Errorf("%s: the dump: %v", kind, err)
		}
	}
}

// TestStackCompression, case ML-03: a server that takes only compressed connections says so, and that is told; with compression
// allowed the stream goes without it.
func TestStackCompression(t *testing.T) {
	s := newServer(t, "MYSQL")
	s.account("secret")
	defer s.exec("SET GLOBAL protocol_compression_algorithms = DEFAULT")
	s.exec("SET GLOBAL protocol_compression_algorithms = 'zlib,zstd,uncompressed'")
	if err := s.streams(s.config("secret")); err != nil {
		t.Error(err)
	}
	s.exec("SET GLOBAL protocol_compression_algorithms = 'zlib'")
	if _, err := open(t, s.config("secret")).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "compression") {
		t.Errorf("only with compression: %v", err)
	}
}

// TestStackHeartbeat: a dump by GTID is told by MySQL where it is, with all 64 bits of the offset.
func TestStackHeartbeat(t *testing.T) {
	s := newServer(t, "MYSQL")
	s.account("secret")
	c := s.config("secret")
	end, err := open(t, c).End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var beat *replication.HeartbeatEvent
	h := &recorder{stop: func(h *recorder) bool {
		for _, e := range h.events {
			if b, ok := e.Event.(*replication.HeartbeatEvent); ok && e.Header.EventType == replication.HEARTBEAT_LOG_EVENT_V2 {
				beat = b
			}
		}
		return beat != nil
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := open(t, c).Run(ctx, position.Position{GTIDs: end.GTIDs}, h); !errors.Is(err, errStop) {
		t.Fatalf("%v, %d events", err, len(h.events))
	}
	if beat.Filename != end.File || beat.Offset != end.Offset {
		t.Errorf("at %s:%d, want %s:%d", beat.Filename, beat.Offset, end.File, end.Offset)
	}
}
