//go:build stack

package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// netLink is a TCP proxy between a node and a server, which can be cut. Unlike those of toxiproxy it throws nothing away: what
// was on its way when it was cut arrives when it is mended, as on a real network.
type netLink struct {
	listener net.Listener
	upstream string

	mu    sync.Mutex
	flows *sync.Cond // on mu: no longer cut
	cut   bool
	ended bool
	conns map[net.Conn]bool
	work  sync.WaitGroup
}

// newNetLink listens at an address, any port for empty.
func newNetLink(t *testing.T, listen, upstream string) *netLink {
	t.Helper()
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	l := &netLink{listener: listener, upstream: upstream, conns: map[net.Conn]bool{}}
	l.flows = sync.NewCond(&l.mu)
	l.work.Go(l.accept)
	t.Cleanup(l.end)
	return l
}

func (l *netLink) addr() string { return l.listener.Addr().String() }

// hold cuts the link: nothing passes, and nobody is told.
func (l *netLink) hold() {
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
}

// mend lets everything pass, also what was held.
func (l *netLink) mend() {
	l.mu.Lock()
	l.cut = false
	l.mu.Unlock()
	l.flows.Broadcast()
}

// redirect lets new connections go elsewhere.
func (l *netLink) redirect(upstream string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.upstream = upstream
}

// reset breaks all connections.
func (l *netLink) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
}

func (l *netLink) end() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.mend()
	l.reset()
	l.work.Wait()
}

func (l *netLink) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.work.Go(func() {
			l.mu.Lock()
			upstream := l.upstream
			l.mu.Unlock()
			server, err := net.DialTimeout("tcp", upstream, 5*time.Second)
			if err != nil {
				_ = client.Close()
				return
			}
			if !l.keep(client, server) {
				return
			}
			l.work.Go(func() { l.pump(server, client) })
			l.pump(client, server)
		})
	}
}

func (l *netLink) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.ended {
			_ = c.Close()
		}
		l.conns[c] = true
	}
	return !l.ended
}

// pump moves bytes one way, and ends both ways at the end of one.
func (l *netLink) pump(to, from net.Conn) {
	_, _ = io.Copy(&gate{to, l}, from)
	l.mu.Lock()
	for l.cut && !l.ended { // that one side is gone is not told either
		l.flows.Wait()
	}
	delete(l.conns, to)
	delete(l.conns, from)
	l.mu.Unlock()
	_ = to.Close()
	_ = from.Close()
}

// gate is a connection that takes nothing while its link is cut.
type gate struct {
	net.Conn
	l *netLink
}

func (g *gate) Write(b []byte) (int, error) {
	g.l.mu.Lock()
	for g.l.cut && !g.l.ended {
		g.l.flows.Wait()
	}
	g.l.mu.Unlock()
	return g.Conn.Write(b)
}
