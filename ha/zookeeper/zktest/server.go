package zktest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Server is a ZooKeeper server. Its methods may be called at any time.
type Server struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	tree     *tree
	links    map[*link]bool
	sessions map[int64]*session
	next     int64 // session id
	down     bool
	closed   bool
	delay    time.Duration
	least    time.Duration // bounds of what a session may ask for
	most     time.Duration
	loseOp   int32 // the next request of this type is executed, but not answered
	losing   bool
	observe  func(Change)
}

type session struct {
	id      int64
	timeout time.Duration
	timer   *time.Timer
	link    *link // nil while not connected
}

// New returns a server that is reached through Dial only.
func New() *Server {
	return &Server{
		tree: newTree(), links: map[*link]bool{}, sessions: map[int64]*session{},
		next: 0x1000, least: time.Second, most: time.Hour,
	}
}

// Start returns a server that listens on a free port of the loopback and is
// closed when the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := New()
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		tb.Fatalf("listen for zktest: %v", err)
	}
	s.wg.Add(1)
	go s.accept()
	tb.Cleanup(s.Close)
	return s
}

// Addr is the host:port of a server that listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

func (s *Server) accept() {
	defer s.wg.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		if !s.serve(c) {
			c.Close()
		}
	}
}

// Dial connects to the server through a pipe. Network and address are ignored.
func (s *Server) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, server := net.Pipe()
	if !s.serve(server) {
		return nil, fmt.Errorf("zktest: connection refused")
	}
	return client, nil
}

// Close ends every connection and session and waits for all goroutines.
func (s *Server) Close() {
	if s.listener != nil {
		s.listener.Close()
	}
	s.mu.Lock()
	s.closed = true
	for l := range s.links {
		l.close()
	}
	for _, ss := range s.sessions {
		ss.timer.Stop()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// serve starts the goroutines of a connection, unless the server is down.
func (s *Server) serve(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.closed {
		return false
	}
	l := newLink(c)
	s.links[l] = true
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		l.write()
	}()
	go func() {
		defer s.wg.Done()
		s.read(l)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(l)
	}()
	return true
}

// drop forgets a link; its session stays until it expires.
func (s *Server) drop(l *link) {
	l.close()
	delete(s.links, l)
	if ss := s.sessions[l.session]; ss != nil && ss.link == l {
		ss.link = nil
	}
}

// read takes requests from a link until it ends.
func (s *Server) read(l *link) {
	for {
		frame, err := readFrame(l.conn)
		if err != nil {
			return
		}
		s.mu.Lock()
		switch {
		case l.paused: // lost on the way
		case l.session == 0:
			s.connect(l, &reader{b: frame})
		default:
			s.request(l, &reader{b: frame})
		}
		s.mu.Unlock()
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 4<<20 {
		return nil, fmt.Errorf("zktest: frame of %d bytes", n)
	}
	frame := make([]byte, n)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

// connect opens a session or continues one. The answer to one that is gone has
// session id and timeout zero.
func (s *Server) connect(l *link, r *reader) {
	r.int32() // protocol version
	r.int64() // last zxid seen
	timeout := time.Duration(r.int32()) * time.Millisecond
	id := r.int64()
	ss := s.sessions[id]
	if id == 0 {
		s.next++
		s.tree.zxid++
		ss = &session{id: s.next, timeout: min(max(timeout, s.least), s.most)}
		s.sessions[ss.id] = ss
		ss.timer = time.AfterFunc(ss.timeout, func() { s.Expire(ss.id) })
	}
	if ss == nil {
		l.send(appendBuffer(appendInt64(appendInt32(appendInt32(nil, 0), 0), 0), make([]byte, 16)))
		l.finish()
		return
	}
	if ss.link != nil && ss.link != l {
		s.drop(ss.link)
	}
	ss.link, l.session = l, ss.id
	ss.timer.Reset(ss.timeout)
	b := appendInt32(nil, 0)
	b = appendInt32(b, int32(ss.timeout/time.Millisecond))
	b = appendInt64(b, ss.id)
	l.send(appendBuffer(b, make([]byte, 16)))
}

func (s *Server) request(l *link, r *reader) {
	ss := s.sessions[l.session]
	if ss == nil {
		s.drop(l)
		return
	}
	xid, op := r.int32(), r.int32()
	if !l.isolated {
		ss.timer.Reset(ss.timeout)
	} else if op != opPing && op != opExists && op != opGetData {
		return
	}
	body, code := s.answer(l, op, r)
	if s.losing && op == s.loseOp {
		s.losing = false
		s.drop(l)
		return
	}
	zxid := s.tree.zxid
	if op == opAuth {
		zxid = 0 // ZooKeeperServer.processPacket
	}
	reply := appendInt32(appendInt64(appendInt32(nil, xid), zxid), code)
	if code == codeOK {
		reply = append(reply, body...)
	}
	l.sendAfter(s.delay, reply)
	if op == opClose {
		l.finish()
	}
}

// endSession removes a session, its ephemeral nodes and its connection.
func (s *Server) endSession(id int64) {
	ss := s.sessions[id]
	if ss == nil {
		return
	}
	delete(s.sessions, id)
	ss.timer.Stop()
	s.tree.begin()
	for _, path := range s.tree.owned(id) {
		s.tree.remove(path, -1)
	}
	s.settle(id, true)
}
