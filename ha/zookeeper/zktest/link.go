package zktest

import (
	"encoding/binary"
	"net"
	"sync"
	"time"
)

type watchKind uint8

const (
	watchData watchKind = iota
	watchExists
	watchChildren
)

type watchKey struct {
	kind watchKind
	path string
}

// link is one connection. Its fields are guarded by the server's lock, but for
// the queue, which has its own.
type link struct {
	conn     net.Conn
	session  int64
	auth     []string // user:password, all that were presented
	paused   bool
	isolated bool
	watches  map[watchKey]bool

	mu     sync.Mutex
	queue  []frame
	wake   chan struct{} // holds a token when the queue has changed
	gone   chan struct{} // closed with the connection
	ending bool          // close when the queue is empty
	once   sync.Once
}

type frame struct {
	b  []byte
	at time.Time // not sent before
}

func newLink(c net.Conn) *link {
	return &link{conn: c, watches: map[watchKey]bool{}, wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.gone)
		l.conn.Close()
	})
}

func (l *link) send(body []byte) { l.sendAfter(0, body) }

func (l *link) sendAfter(d time.Duration, body []byte) {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	l.mu.Lock()
	l.queue = append(l.queue, frame{append(b, body...), time.Now().Add(d)})
	l.mu.Unlock()
	l.poke()
}

// finish closes the connection behind what is queued.
func (l *link) finish() {
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	l.poke()
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write sends the queue in order until the connection ends.
func (l *link) write() {
	defer l.close()
	for {
		l.mu.Lock()
		queue, ending := l.queue, l.ending
		l.queue = nil
		l.mu.Unlock()
		for _, f := range queue {
			if d := time.Until(f.at); d > 0 {
				select {
				case <-time.After(d):
				case <-l.gone:
					return
				}
			}
			if _, err := l.conn.Write(f.b); err != nil {
				return
			}
		}
		if ending {
			return
		}
		select {
		case <-l.wake:
		case <-l.gone:
			return
		}
	}
}

func (l *link) watch(kind watchKind, path string) { l.watches[watchKey{kind, path}] = true }

// fire sends an event to every link that waits for it, once.
func (s *Server) fire(e event) {
	kinds := map[int32][]watchKind{
		eventCreated:  {watchExists},
		eventChanged:  {watchData, watchExists},
		eventDeleted:  {watchData, watchExists, watchChildren},
		eventChildren: {watchChildren},
	}[e.kind]
	for l := range s.links {
		hit := false
		for _, kind := range kinds {
			key := watchKey{kind, e.path}
			hit = hit || l.watches[key]
			delete(l.watches, key)
		}
		if hit && !l.paused {
			l.notify(e)
		}
	}
}

func (l *link) notify(e event) {
	b := appendInt32(appendInt64(appendInt32(nil, xidEvent), -1), codeOK)
	b = appendInt32(appendInt32(b, e.kind), stateConnected)
	l.send(appendBuffer(b, []byte(e.path)))
}

// rewatch sets the watches of a session that came back, and fires at once those
// whose node has changed since the zxid that the client saw last.
func (s *Server) rewatch(l *link, r *reader) {
	since := r.int64()
	for _, path := range r.strings() {
		switch n := s.tree.nodes[path]; {
		case n == nil:
			l.notify(event{eventDeleted, path})
		case n.mzxid > since:
			l.notify(event{eventChanged, path})
		default:
			l.watch(watchData, path)
		}
	}
	for _, path := range r.strings() {
		if s.tree.nodes[path] != nil {
			l.notify(event{eventCreated, path})
		} else {
			l.watch(watchExists, path)
		}
	}
	for _, path := range r.strings() {
		switch n := s.tree.nodes[path]; {
		case n == nil:
			l.notify(event{eventDeleted, path})
		case n.pzxid > since:
			l.notify(event{eventChildren, path})
		default:
			l.watch(watchChildren, path)
		}
	}
}
