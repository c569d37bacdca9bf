// Package dial opens connections to brokers that nothing is written to without
// leave.
package dial

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// errNotAllowed is why a connection was closed instead of written to.
var errNotAllowed = errors.New("the lease is over, nothing may be sent")

// guard is a connection to a broker that is not written to without leave. A
// process that was stopped for longer than its lease has requests ready when it
// wakes up, and another node may have sent the same by then: cancelling the term
// comes too late for them, so leave is asked for right before the bytes go out.
type guard struct {
	net.Conn
	allowed func() bool
}

// Write writes, or closes the connection.
func (g *guard) Write(b []byte) (int, error) {
	if !g.allowed() {
		return 0, errors.Join(errNotAllowed, g.Close())
	}
	return g.Conn.Write(b)
}

// aborter is a connection, as TCP's, that can be made to drop on Close what it
// has not sent yet. By default the system goes on sending that behind the back
// of a producer that has been closed, and after a fault of the network perhaps
// when another owner writes.
type aborter interface{ SetLinger(sec int) error }

const defaultTimeout = 3 * time.Second

// Dialer says how connections are made.
type Dialer struct {
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: net.Dialer's
	TLS     *tls.Config                                                          // nil: none
	Allowed func() bool                                                          // whether bytes may go out now; nil: always
	Timeout time.Duration                                                        // of connecting, TLS included; 0: 3 s
}

// Connect opens a connection.
func (d *Dialer) Connect(ctx context.Context, network, address string) (net.Conn, error) {
	dial := d.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.Timeout, defaultTimeout))
	defer cancel()
	conn, err := dial(ctx, network, address)
	if a, ok := conn.(aborter); ok && err == nil {
		_ = a.SetLinger(0) // a connection that is broken already says so itself
	}
	if err == nil && d.TLS != nil {
		conn, err = d.secure(ctx, conn, address)
	}
	if err != nil {
		return nil, err
	}
	if d.Allowed == nil {
		return conn, nil
	}
	return &guard{conn, d.Allowed}, nil
}

// secure speaks TLS on a connection. The certificate must be for the broker's
// name, unless another one is configured.
func (d *Dialer) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	settings := d.TLS
	if settings.ServerName == "" {
		settings = settings.Clone()
		settings.ServerName, _, _ = net.SplitHostPort(address)
	}
	secured := tls.Client(conn, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secured, nil
}
