package session

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"github.com/go-zookeeper/zk"
)

// anew is something that stands in files and is read again and again.
type anew[T any] struct {
	what   string
	last   T                 // that could be read
	read   func() (T, error) // nil: it stays as it is
	failed bool              // the latest reading, and that was said
}

// get reads it. What cannot be read, or cannot be used, is as it was before.
func (a *anew[T]) get(l *slog.Logger) T {
	if a.read == nil {
		return a.last
	}
	value, err := a.read()
	if err == nil {
		a.last = value
	} else if !a.failed {
		l.Warn("what ZooKeeper is reached with cannot be read anew; what was there before stays in use", "what", a.what, "error", err)
	}
	a.failed = err != nil
	return a.last
}

// present presents the credentials once, and new ones when they have changed; the
// zk client repeats them after each reconnect. Those before stay: they open the
// nodes that were made with them.
func (c *Client) present(ctx context.Context) error {
	auth := c.auth.get(c.log)
	if auth == c.presented {
		return nil
	}
	_, err := Call(ctx, c, func(conn *zk.Conn) (struct{}, error) {
		return struct{}{}, conn.AddAuth("digest", []byte(auth))
	})
	if err != nil {
		return fmt.Errorf("present credentials: %w", err)
	}
	if c.presented != "" {
		c.log.Info("the credentials for ZooKeeper have changed and are presented beside those before")
	}
	c.presented = auth
	return nil
}

// ACL is who may use the nodes that we create: everybody, as with Canal, or
// whoever has credentials that we have presented. The server makes the list of
// them: only it knows by which algorithm it takes digests.
func (c *Client) ACL() []zk.ACL {
	if c.config.Auth != "" {
		return zk.AuthACL(zk.PermAll)
	}
	return zk.WorldACL(zk.PermAll)
}

func (c *Client) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	before := c.tls.last
	settings := c.tls.get(c.log)
	if !same(before, settings) {
		c.log.Info("the TLS files for ZooKeeper have changed and are used from this connection on")
	}
	settings = settings.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(conn, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS handshake: %w", err), conn.Close())
	}
	return secured, nil
}

// same reports whether both have the same authorities and certificates.
func same(a, b *tls.Config) bool {
	return a.RootCAs.Equal(b.RootCAs) && slices.EqualFunc(a.Certificates, b.Certificates, func(a, b tls.Certificate) bool {
		return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
	})
}
