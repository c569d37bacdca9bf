package simulation

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"
)

var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset")
)

// cable is what connects one node with one server. It delivers what is written
// into it late, holds it back while it is frozen, and can be cut.
type cable struct {
	name  string
	node  string
	seed  uint64
	watch watcher // nil for ZooKeeper
	serve func(ctx context.Context) (net.Conn, error)

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when anything below changes
	dead    bool          // refuses for good
	refuse  bool
	frozen  [2]bool          // by direction
	keeps   bool             // what is held back there was sent, and cannot be dropped by closing
	slow    [2]time.Duration // added to the way of a message
	chance  uint64           // counts draws
	wires   map[*wire]bool
}

// Directions of a cable.
const (
	there = 0 // to the server
	back  = 1
)

// watcher is told of the produce requests of a node.
type watcher interface {
	wrote(epochs []int64)
	arrived(node string, epochs []int64, written time.Time)
}

func newCable(name, node string, seed uint64, w watcher, serve func(context.Context) (net.Conn, error)) *cable {
	return &cable{name: name, node: node, seed: seed, watch: w, serve: serve, changed: make(chan struct{}), wires: map[*wire]bool{}}
}

// change changes the cable's state.
func (c *cable) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cable) delay(direction int, d time.Duration) {
	c.change(func() { c.slow[direction] = d })
}

// cut loses all connections with what is under way, and refuses new ones.
func (c *cable) cut(refuse bool) {
	c.change(func() {
		c.refuse = refuse
		for w := range c.wires {
			w.reset()
		}
		clear(c.wires)
	})
}

// kill cuts for good.
func (c *cable) kill() {
	c.change(func() { c.dead = true })
	c.cut(true)
}

func (c *cable) heal() {
	c.change(func() { c.refuse, c.keeps, c.frozen, c.slow = false, false, [2]bool{}, [2]time.Duration{} })
}

// open counts connections that the node has not closed.
func (c *cable) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for w := range c.wires {
		w.mu.Lock()
		if !w.closed {
			n++
		}
		w.mu.Unlock()
	}
	return n
}

// latency draws the time that the next message takes: a fraction of a
// millisecond, to the nanosecond, so that hardly ever two things happen at once.
func (c *cable) latency(direction int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.chance++
	h := mix(c.seed + c.chance)
	d := 50*time.Microsecond + time.Duration(h%uint64(900*time.Microsecond))
	if s := c.slow[direction]; s > 0 {
		d += s/2 + time.Duration(mix(h)%uint64(s))
	}
	return d
}

// mix is the finalizer of splitmix64 (public domain, Sebastiano Vigna).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// holds reports whether a direction is frozen at the node's own end.
func (c *cable) holds(direction int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frozen[direction] && !c.keeps
}

// passes waits until something may pass in a direction.
func (c *cable) passes(direction int, gone <-chan struct{}) bool {
	for {
		c.mu.Lock()
		frozen, changed := c.frozen[direction], c.changed
		c.mu.Unlock()
		if !frozen {
			return true
		}
		select {
		case <-changed:
		case <-gone:
			return false
		}
	}
}

// dial opens a connection.
func (c *cable) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	timer := time.NewTimer(c.latency(there))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !c.passes(there, ctx.Done()) || !c.passes(back, ctx.Done()) {
		return nil, ctx.Err()
	}
	c.mu.Lock()
	refuse := c.dead || c.refuse
	c.mu.Unlock()
	if refuse {
		return nil, errRefused
	}
	server, err := c.serve(ctx)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	w := &wire{Conn: near, cable: c, far: far, server: server, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.refuse {
		w.reset()
		return nil, errRefused
	}
	c.wires[w] = true
	var both sync.WaitGroup
	both.Go(w.deliver)
	both.Go(w.fetch)
	go func() {
		both.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.wires, w)
	}()
	return w, nil
}

// wire is a node's end of a connection. What is written is the network's at
// once, also when the node closes the connection right after that.
type wire struct {
	net.Conn // the node reads from it
	cable    *cable
	far      net.Conn // what is written to it, the node reads
	server   net.Conn

	mu     sync.Mutex
	queue  []parcel
	closed bool // by the node
	abort  bool // what is held back is lost when the node closes
	wake   chan struct{}
	gone   chan struct{} // closed by a reset
	once   sync.Once
}

type parcel struct {
	b       []byte
	due     time.Time
	written time.Time
	epochs  []int64
}

// reset loses everything. The cable's lock may be held.
func (w *wire) reset() {
	w.once.Do(func() {
		close(w.gone)
		w.Conn.Close()
		w.far.Close()
		w.server.Close()
	})
}

// Close lets what is under way arrive, unless it is held back and SetLinger says
// that it is to be dropped.
func (w *wire) Close() error {
	w.mu.Lock()
	w.closed = true
	abort := w.abort
	w.mu.Unlock()
	if abort && w.cable.holds(there) {
		w.reset()
		return nil
	}
	w.poke()
	return w.Conn.Close()
}

// SetLinger is TCP's. What is not held back counts as sent.
func (w *wire) SetLinger(seconds int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abort = seconds == 0
	return nil
}

func (w *wire) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *wire) SetWriteDeadline(time.Time) error  { return nil }
func (w *wire) SetDeadline(t time.Time) error     { return w.SetReadDeadline(t) }
func (w *wire) SetReadDeadline(t time.Time) error { return w.Conn.SetReadDeadline(t) }

// Write hands bytes to the network.
func (w *wire) Write(b []byte) (int, error) {
	p := parcel{b: bytes.Clone(b), written: time.Now(), due: time.Now().Add(w.cable.latency(there))}
	if w.cable.watch != nil {
		p.epochs = epochs(b)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.gone:
		return 0, errReset
	default:
	}
	if w.closed {
		return 0, net.ErrClosed
	}
	if n := len(w.queue); n > 0 && w.queue[n-1].due.After(p.due) {
		p.due = w.queue[n-1].due
	}
	if len(p.epochs) > 0 {
		w.cable.watch.wrote(p.epochs)
	}
	w.queue = append(w.queue, p)
	w.poke()
	return len(b), nil
}

// deliver takes the queue to the server.
func (w *wire) deliver() {
	defer w.server.Close()
	for {
		w.mu.Lock()
		queue, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()
		for _, p := range queue {
			if !w.wait(p.due) || !w.cable.passes(there, w.gone) {
				return
			}
			if len(p.epochs) > 0 {
				w.cable.watch.arrived(w.cable.node, p.epochs, p.written)
			}
			if _, err := w.server.Write(p.b); err != nil {
				return
			}
		}
		if closed && len(queue) == 0 {
			return
		}
		select {
		case <-w.wake:
		case <-w.gone:
			return
		}
	}
}

// fetch brings what the server writes.
func (w *wire) fetch() {
	buffer := make([]byte, 64<<10)
	answers := make(chan parcel, 1024)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.far.Close()
		for p := range answers {
			if !w.wait(p.due) || !w.cable.passes(back, w.gone) {
				return
			}
			if _, err := w.far.Write(p.b); err != nil {
				return
			}
		}
	}()
	var last time.Time
	for {
		n, err := w.server.Read(buffer)
		if n > 0 {
			due := time.Now().Add(w.cable.latency(back))
			if due.Before(last) {
				due = last
			}
			last = due
			select {
			case answers <- parcel{b: bytes.Clone(buffer[:n]), due: due}:
			case <-done:
			case <-w.gone:
			}
		}
		if err != nil {
			break
		}
	}
	close(answers)
	<-done
}

func (w *wire) wait(until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.gone:
		return false
	}
}

// epochs returns the distinct r-epoch headers in a request, if it is one that
// produces (key 0). Records are neither compressed nor encrypted, so that the
// header's name stands in the bytes, with the value's length (zigzag) behind it.
func epochs(request []byte) []int64 {
	if len(request) < 6 || request[4] != 0 || request[5] != 0 {
		return nil
	}
	var all []int64
	name := []byte("r-epoch")
	for rest := request; ; {
		i := bytes.Index(rest, name)
		if i < 0 || i+len(name) >= len(rest) {
			return all
		}
		rest = rest[i+len(name):]
		n := int(rest[0] >> 1)
		if n > len(rest)-1 {
			return all
		}
		e, err := strconv.ParseInt(string(rest[1:1+n]), 10, 64)
		if err == nil && (len(all) == 0 || all[len(all)-1] != e) {
			all = append(all, e)
		}
	}
}
