package zktest

import (
	"slices"
	"strings"
	"time"
)

// Limits bounds the session timeout that clients may ask for.
func (s *Server) Limits(least, most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.least, s.most = least, most
}

// Expire ends a session as its timeout does: its ephemeral nodes go, and its
// connection is closed.
func (s *Server) Expire(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[id]
	if ss == nil || s.closed {
		return
	}
	if ss.link != nil {
		s.drop(ss.link) // first: the client hears nothing of the nodes that go
	}
	s.endSession(id)
}

// Cut closes every connection. Sessions live on, and clients may come back.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.links {
		s.drop(l)
	}
}

// Down closes every connection and refuses new ones until Up. As in a real
// server that is down, no session expires meanwhile.
func (s *Server) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	for l := range s.links {
		s.drop(l)
	}
	for _, ss := range s.sessions {
		ss.timer.Stop()
	}
}

// Up ends Down: sessions get their whole timeout again.
func (s *Server) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
	for _, ss := range s.sessions {
		ss.timer.Reset(ss.timeout)
	}
}

// Pause makes a session's connection lose everything in both directions, as a
// network does that drops packets: the session expires unless the client
// connects anew.
func (s *Server) Pause(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[id]; ss != nil && ss.link != nil {
		ss.link.paused = true
	}
}

// Isolate makes a session's connection that to a server which is cut off from
// the others: it answers pings and reads, but nothing that needs the leader, and
// the leader lets the session expire.
func (s *Server) Isolate(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ss := s.sessions[id]; ss != nil && ss.link != nil {
		ss.link.isolated = true
	}
}

// Delay makes every answer wait for d.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Lose executes the next request of a kind ("create", "setData", "delete" or
// "multi") and closes the connection instead of answering.
func (s *Server) Lose(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseOp = map[string]int32{"create": opCreate, "setData": opSetData, "delete": opDelete, "multi": opMulti}[kind]
	s.losing = true
}

// Node is what is stored at a path.
type Node struct {
	Data         []byte
	Czxid, Mzxid int64
	Version      int32
	Owner        int64 // session of an ephemeral node, otherwise 0
}

// Get returns the node at path.
func (s *Server) Get(path string) (Node, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.tree.nodes[path]
	if n == nil {
		return Node{}, false
	}
	return n.shown(), true
}

func (n *node) shown() Node {
	return Node{slices.Clone(n.data), n.czxid, n.mzxid, n.version, n.owner}
}

// Change is a node that was created, written or deleted.
type Change struct {
	Session int64 // whose request it was, or whose end; 0 for the test's own
	Path    string
	Deleted bool
	Node    Node // as it is after the change; zero when it was deleted
}

// Observe has f told each change in the order of the server, those of a
// transaction one after another when all are made. The server stands still
// meanwhile: f must not call it.
func (s *Server) Observe(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe = f
}

func (s *Server) changed(session int64, e event) Change {
	c := Change{Session: session, Path: e.path, Deleted: e.kind == eventDeleted}
	if n := s.tree.nodes[e.path]; n != nil && !c.Deleted {
		c.Node = n.shown()
	}
	return c
}

// Children returns the sorted names of the nodes under path.
func (s *Server) Children(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.tree.nodes[path]; n != nil {
		return n.names()
	}
	return nil
}

// Put writes data to path as an operator would, and creates the node and its
// parents where they are missing.
func (s *Server) Put(path string, data []byte) {
	s.put(path, data, 0)
}

// PutEphemeral creates path as the ephemeral node of a foreign session, which
// never expires by itself. Expire ends it.
func (s *Server) PutEphemeral(path string, data []byte) int64 {
	s.mu.Lock()
	s.next++
	id := s.next
	s.sessions[id] = &session{id: id, timeout: time.Hour, timer: time.AfterFunc(1000*time.Hour, func() {})}
	s.mu.Unlock()
	s.put(path, data, id)
	return id
}

func (s *Server) put(path string, data []byte, owner int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range path {
		if c == '/' && i > 0 {
			s.tree.begin()
			_, code := s.tree.create(path[:i], nil, 0, 0)
			s.settle(owner, code == codeOK)
		}
	}
	s.tree.begin()
	if s.tree.nodes[path] != nil {
		_, code := s.tree.set(path, data, -1)
		s.settle(owner, code == codeOK)
		return
	}
	flags := int32(0)
	if owner != 0 {
		flags = 1
	}
	_, code := s.tree.create(path, data, flags, owner)
	s.settle(owner, code == codeOK)
}

// Open lets everybody use a node, as setACL does.
func (s *Server) Open(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree.nodes[path].auth = nil
}

// Remove deletes path and everything under it.
func (s *Server) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for p := range s.tree.nodes {
		if p == path || strings.HasPrefix(p, path+"/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	s.tree.begin()
	for _, p := range slices.Backward(paths) {
		s.tree.remove(p, -1)
	}
	s.settle(0, true)
}
