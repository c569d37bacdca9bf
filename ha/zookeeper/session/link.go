package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Request types and reply ids of ZooKeeper's protocol (ZooDefs.OpCode,
// ClientCnxn) that the clock of the lease must tell apart.
const (
	opExists       = 3
	opGetData      = 4
	opGetChildren  = 8
	opPing         = 11
	opGetChildren2 = 12
	opAuth         = 100
	opSetWatches   = 101

	xidEvent = -1 // a watch event: answers nothing
)

// link is a connection to a ZooKeeper server that notes what the zk client does
// not show: the session timeout that the server granted, and when the latest
// request was sent that has been answered. The client writes one frame a call.
//
// Only requests that the leader has to see count. A server that is cut off from
// the others goes on answering pings and reads for several seconds, while the
// leader lets the session expire.
type link struct {
	net.Conn
	owner  *Client
	unbind func() bool   // no longer close with the client
	hello  chan struct{} // closed when the connect response has come

	mu      sync.Mutex
	waiting []sent // requests without an answer, oldest first

	greeted bool     // the connect request was written; owned by the writer
	held    [][]byte // requests held back; owned by the writer

	session int64  // owned by the reader, as all that follows
	size    []byte // length of the frame being read
	head    []byte // its first headSize bytes
	left    int    // how many of its bytes are still to come
}

// headSize is enough of a frame to know what it is: protocol version, timeout
// and session of a connect response; the request's id of any other.
const headSize = 16

type sent struct {
	xid    int32
	at     time.Time
	counts bool
}

// newLink wraps c, which is closed when ctx ends at the latest: the zk client
// would otherwise sit on a silent connection for a while after its own Close.
func newLink(ctx context.Context, c net.Conn, owner *Client) *link {
	l := &link{Conn: c, owner: owner, hello: make(chan struct{})}
	l.unbind = context.AfterFunc(ctx, func() { l.Conn.Close() })
	return l
}

// Close closes the connection.
func (l *link) Close() error {
	l.unbind()
	return l.Conn.Close()
}

// Write sends one request. Those that were queued while the connection was gone
// would overtake the one that sets the watches again, and are held back for it:
// see Client.rewatched.
func (l *link) Write(b []byte) (int, error) {
	xid, op := int32(0), int32(0)
	if l.greeted && len(b) >= 12 {
		xid, op = int32(binary.BigEndian.Uint32(b[4:])), int32(binary.BigEndian.Uint32(b[8:]))
	}
	l.greeted = true
	switch {
	case op == opSetWatches:
		n, err := l.send(xid, op, b)
		l.owner.rewatched()
		return n, errors.Join(err, l.release())
	case op > 0 && op != opPing && op != opAuth && l.owner.resuming():
		l.held = append(l.held, bytes.Clone(b))
		return len(b), nil
	}
	if err := l.release(); err != nil {
		return 0, err
	}
	return l.send(xid, op, b)
}

func (l *link) release() error {
	for _, b := range l.held {
		if _, err := l.send(int32(binary.BigEndian.Uint32(b[4:])), int32(binary.BigEndian.Uint32(b[8:])), b); err != nil {
			return err
		}
	}
	l.held = nil
	return nil
}

// send notes the request before it leaves: the time may only be too early. The
// zk client hands the error of a write to whoever asked, as it is: it has to say
// that the connection went, as all its other errors of that kind do.
func (l *link) send(xid, op int32, b []byte) (int, error) {
	s := sent{xid: xid, at: time.Now(), counts: true}
	switch op {
	case opPing, opExists, opGetData, opGetChildren, opGetChildren2, opSetWatches:
		s.counts = false
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, s)
	l.mu.Unlock()
	n, err := l.Conn.Write(b)
	if err != nil {
		l.ended(err)
		err = fmt.Errorf("%w: %w", zk.ErrConnectionClosed, err)
	}
	return n, err
}

func (l *link) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		rest = l.consume(rest)
	}
	if err != nil {
		l.ended(err)
	}
	return n, err
}

// ended tells why the connection ended if it did so before a session was given.
// With TLS 1.3 a client learns only now that its certificate is not taken.
func (l *link) ended(err error) {
	select {
	case <-l.hello:
		return
	default:
	}
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return // we hang up ourselves
	}
	hint := "; it may want TLS: set canal.relay.zookeeper.tls.ca"
	if l.owner.config.TLS != nil {
		hint = "; it may want another client certificate: see canal.relay.zookeeper.tls.certificate"
	}
	if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
		hint = ""
	}
	l.owner.refused(fmt.Errorf("%s gives no session: %w%s", l.RemoteAddr(), err, hint))
}

// consume takes bytes of one frame and returns the rest.
func (l *link) consume(b []byte) []byte {
	if len(l.size) < 4 {
		n := min(4-len(l.size), len(b))
		l.size = append(l.size, b[:n]...)
		if len(l.size) == 4 {
			l.left = int(binary.BigEndian.Uint32(l.size))
		}
		return b[n:]
	}
	n := min(l.left, len(b))
	l.head = append(l.head, b[:min(n, headSize-len(l.head))]...)
	if l.left -= n; l.left == 0 {
		l.received(l.head)
		l.size, l.head = l.size[:0], l.head[:0]
	}
	return b[n:]
}

// received takes the head of a complete frame.
func (l *link) received(head []byte) {
	select {
	case <-l.hello:
		if len(head) >= 4 {
			l.answered(int32(binary.BigEndian.Uint32(head)))
		}
	default:
		if len(head) == headSize {
			timeout := time.Duration(binary.BigEndian.Uint32(head[4:])) * time.Millisecond
			l.session = int64(binary.BigEndian.Uint64(head[8:]))
			l.owner.greeted(l.session, timeout)
			l.answered(0)
		}
		close(l.hello)
	}
}

// answered notes the reply to a request; a watch event answers none.
func (l *link) answered(xid int32) {
	if xid == xidEvent {
		return
	}
	l.mu.Lock()
	var s sent
	for i := range l.waiting {
		if l.waiting[i].xid == xid {
			s = l.waiting[i]
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			break
		}
	}
	l.mu.Unlock()
	if s.counts && l.session != 0 {
		l.owner.proved(l.session, s.at)
	}
}

// SetReadDeadline shortens the client's patience with a server that takes a
// connection and does not answer: it would wait for several session timeouts.
func (l *link) SetReadDeadline(t time.Time) error {
	select {
	case <-l.hello:
	default:
		latest := time.Now().Add(l.owner.config.SessionTimeout / 3)
		if t.IsZero() || t.After(latest) {
			t = latest
		}
	}
	return l.Conn.SetReadDeadline(t)
}
