package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
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

// dialer opens connections to brokers.
func (c *Config) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: dialTimeout}
	dial := plain.DialContext
	if c.TLS != nil {
		dial = (&tls.Dialer{NetDialer: plain, Config: c.TLS}).DialContext
	}
	if c.Allowed == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &guard{conn, c.Allowed}, nil
	}
}
