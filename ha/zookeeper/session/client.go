package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// ErrNone says that there is no session to ask in at the moment. Whoever
// gets it tries again later; ZooKeeper need not be asked to know it.
var ErrNone = errors.New("ZooKeeper is not connected")

// Config says how to reach ZooKeeper, and as whom.
type Config struct {
	// Servers is canal.zkServers: host:port entries separated by commas or
	// semicolons, and optionally a chroot behind the last one.
	Servers string
	// SessionTimeout is asked of ZooKeeper, which may grant another one.
	SessionTimeout time.Duration
	// Reserve is the time that this node needs to stop after its lease has
	// ended (ha.Config.Reserve). It must fit into a third of the granted timeout.
	Reserve time.Duration
	// Auth is user:password for ZooKeeper's digest scheme; empty for none.
	// With it, nodes are created for that user alone, otherwise for everybody.
	Auth string
	// AuthAgain, if not nil, reads Auth anew: every now and then, and after each
	// reconnect. What it gave last, or else Auth, stays in use when it fails.
	AuthAgain func() (string, error)
	// TLS is used for every connection if it is not nil.
	TLS *tls.Config
	// TLSAgain, if not nil, reads TLS anew for each connection. What it gave last,
	// or else TLS, stays in use when it fails.
	TLSAgain func() (*tls.Config, error)
	// Dial opens connections; nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// DefaultConfig returns a Config for a session timeout of 6 s.
func DefaultConfig() Config {
	return Config{SessionTimeout: 6 * time.Second, Reserve: 2 * time.Second}
}

// Validate checks what can be checked without a server.
func (c Config) Validate() error {
	if _, _, err := parseServers(c.Servers); err != nil {
		return fmt.Errorf("read the server list %q: %w", c.Servers, err)
	}
	if c.Reserve > c.SessionTimeout/3 {
		return fmt.Errorf("stopping takes up to %v, longer than a third of the session timeout %v", c.Reserve, c.SessionTimeout)
	}
	return nil
}

// Client holds the node's session and its ephemeral nodes.
type Client struct {
	config  Config
	chroot  string
	parents []string
	log     *slog.Logger
	hosts   servers

	tls       anew[*tls.Config] // owned by the goroutine that dials
	auth      anew[string]      // owned by maintain, as what follows
	presented string            // what was presented last; the zk client repeats all that was

	mu      sync.Mutex // guards what follows
	conn    *zk.Conn   // nil before Run and after it
	link    *link      // the latest connection
	session State
	granted State         // what the latest connect response says
	changed chan struct{} // closed and replaced when session changes
	calls   sync.WaitGroup
	wishes  map[string]bool   // ephemeral nodes of this node: true to have, false to remove
	texts   map[string][]byte // what such a node holds; none is nothing
	made    map[string]int64  // session in which a wish was fulfilled
	others  map[string]other  // of the wishes, those whose node is another session's
	away    bool              // it was said that ZooKeeper is away
	refusal error             // why the latest attempt gave no session; nil before one failed
	out     error             // why an access list keeps this node out; nil once there was a session to work in
	holds   int               // what must not be given back by closing the session
	closing bool              // Run is about to return
	hangsUp func()            // dials no more, once closing

	poke chan struct{} // holds a token when wishes changed
}

// State is what is known of the session at one moment.
type State struct {
	ID      int64         // 0 when there is none
	Timeout time.Duration // granted

	connected bool      // requests may be made
	resuming  bool      // connected again, but the watches are not set again yet
	resumed   time.Time // since when it is resuming
	ready     bool      // credentials are presented and the standing watch is set
	proved    time.Time // when the latest request was sent that the leader has answered
}

// Usable reports whether the node can work in the session now.
func (s State) Usable() bool { return s.connected && s.ready }

// End is when the lease of everything that the session owns ends, unless it is
// proved again before: two thirds of the timeout after the latest request was
// sent that has been answered.
func (s State) End() time.Time { return s.proved.Add(s.Timeout * 2 / 3) }

// New returns a client that has no session until Run. parents are persistent
// nodes that it creates in each session where they are missing, one at least;
// the first of them should be one that hardly ever changes.
func New(c Config, parents []string, l *slog.Logger) *Client {
	_, chroot, _ := parseServers(c.Servers) // Run refuses an unreadable list
	return &Client{
		config: c, chroot: chroot, parents: parents, log: l,
		tls:     anew[*tls.Config]{"TLS files", c.TLS, c.TLSAgain, false},
		auth:    anew[string]{"credentials", c.Auth, c.AuthAgain, false},
		changed: make(chan struct{}),
		wishes:  map[string]bool{},
		texts:   map[string][]byte{},
		made:    map[string]int64{},
		others:  map[string]other{},
		poke:    make(chan struct{}, 1),
	}
}

// Run keeps a session until the context ends, and shows the node in it. It waits
// for servers that are away. When it returns the session is closed, and with it
// everything that the node owned: it must be the last to be told to end.
func (c *Client) Run(ctx context.Context) error {
	if err := c.config.Validate(); err != nil {
		return fmt.Errorf("check ZooKeeper settings: %w", err)
	}
	hosts, _, err := parseServers(c.config.Servers)
	if err != nil {
		return err
	}
	dialing, stopDialing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopDialing()
	conn, events, err := zk.Connect(hosts, c.config.SessionTimeout,
		zk.WithDialer(c.dialer(dialing)), zk.WithHostProvider(&c.hosts),
		zk.WithEventCallback(c.noticed), zk.WithLogger(quiet{c.log}), zk.WithLogInfo(false))
	if err != nil {
		return fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.maintain(ctx) })
	g.Go(func() error { return c.beat(ctx) })
	err = g.Wait()

	c.close(conn, stopDialing, events)
	return err
}

// Hold adds n to the number of things that only this session's end may give back.
// While there are any, Run leaves the session to expire instead of closing it.
func (c *Client) Hold(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds += n
}

// close ends the session. The zk client may hang for good when a request is
// queued while it closes (it answers one request more often than the request's
// channel holds), so no new ones are let through first, and those under way get
// a moment to be answered. The goodbye might overtake the watches (see rewatched):
// a connection that is lost is not made again for it, and a session that was never
// made ready ends without one.
func (c *Client) close(conn *zk.Conn, stopDialing func(), events <-chan zk.Event) {
	c.mu.Lock()
	lost := !c.session.Usable()
	c.conn, c.session, c.closing, c.hangsUp = nil, State{}, true, stopDialing
	held := c.holds > 0
	c.broadcast()
	c.mu.Unlock()
	if held {
		c.log.Warn("the ZooKeeper session is left to expire: something it owns is still in use")
	}
	if held || lost {
		stopDialing() // so that the goodbye does not arrive
		c.hangUp()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.calls.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
	conn.Close() // waits for the server's answer, a second at most
	stopDialing()
	for range events { // until the zk client's goroutines have ended
	}
	<-ended
}

func (c *Client) dialer(ctx context.Context) zk.Dialer {
	dial := c.config.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(network, address string, limit time.Duration) (net.Conn, error) {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(limited, network, address)
		if err == nil && c.config.TLS != nil {
			conn, err = c.secure(limited, conn, address)
		}
		if err != nil {
			if !errors.Is(ctx.Err(), context.Canceled) { // else we hang up ourselves
				c.refused(err)
			}
			return nil, err
		}
		l := newLink(ctx, conn, c)
		c.mu.Lock()
		c.link = l
		c.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
}

// hangUp closes the connection; the zk client then opens another one.
func (c *Client) hangUp() {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if l != nil {
		l.Close()
	}
}

// refused notes why an attempt gave no session, and logs the first one of an
// outage. An attempt that was cut off by a time limit hides no better reason.
func (c *Client) refused(err error) {
	c.mu.Lock()
	said := c.away
	c.away = true
	if late := net.Error(nil); c.refusal == nil || !errors.As(err, &late) || !late.Timeout() {
		c.refusal = err
	}
	c.mu.Unlock()
	if !said {
		c.log.Warn("ZooKeeper cannot be reached; trying until it can", "servers", c.config.Servers, "error", err)
	}
}

func (c *Client) lastRefusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusal
}

// greeted takes a connect response; the session counts once the client says so.
func (c *Client) greeted(id int64, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.granted = State{ID: id, Timeout: timeout}
}

// proved notes that a request sent at that time has been answered.
func (c *Client) proved(id int64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range []*State{&c.session, &c.granted} {
		if s.ID == id && at.After(s.proved) {
			s.proved = at
		}
	}
}

// noticed takes the zk client's events. It runs on that client's goroutines and
// must not block: it keeps the latest state, and nothing queues.
func (c *Client) noticed(e zk.Event) {
	if e.Type == zk.EventNodeDeleted {
		c.nudge() // it may be one that another session had
	}
	if e.Type != zk.EventSession {
		return
	}
	if e.State == zk.StateExpired {
		c.hosts.expire()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		if e.State == zk.StateDisconnected {
			c.hangsUp()
		}
		return
	}
	was := c.session
	switch e.State {
	case zk.StateHasSession:
		c.session, c.away = c.granted, false
		c.session.ready = was.ready && was.ID == c.granted.ID
		c.session.resuming, c.session.resumed = c.session.ready, time.Now()
		c.session.connected = !c.session.resuming
	case zk.StateExpired:
		c.session = State{}
		clear(c.others) // their watches went with the session
	default:
		c.session.connected, c.session.resuming = false, false
	}
	c.report(was, e.Server)
	c.broadcast()
}

// rewatched says that the zk client has asked for its watches again after a
// reconnect. Only now may requests go out. The zk client tells the server the
// latest transaction it knows of, for missed events to be sent, but would take
// that number from an answer that came a moment too early; and it reads it
// without a lock. There is always a watch to ask for: the standing one.
func (c *Client) rewatched() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session.resuming {
		c.session.resuming, c.session.connected = false, true
		c.broadcast()
	}
}

func (c *Client) resuming() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.resuming
}

// report logs what became of the session.
func (c *Client) report(was State, server string) {
	now := c.session
	switch {
	case now.ID != was.ID && now.ID != 0:
		c.log.Info("ZooKeeper session opened", "server", server, "session", fmt.Sprintf("%#x", now.ID), "timeout", now.Timeout)
	case now.ID != was.ID:
		c.log.Warn("ZooKeeper session expired", "session", fmt.Sprintf("%#x", was.ID))
	case now.resuming && !was.connected:
		c.log.Info("ZooKeeper session kept", "server", server)
	case was.connected && !now.connected:
		c.log.Info("ZooKeeper connection lost; the session goes on for now", "server", server)
	}
}

// broadcast wakes everyone who waits for a change of the session. c.mu is held.
func (c *Client) broadcast() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Current returns the session, and a channel that is closed when it changes.
func (c *Client) Current() (State, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.changed
}

// Await blocks until there is a session to work in. A session that is too short
// for this node to stop in time is an error, and so is an access list that keeps
// the node out.
func (c *Client) Await(ctx context.Context) (State, error) {
	for {
		s, changed := c.Current()
		if s.Usable() {
			if c.config.Reserve > s.Timeout/3 {
				return s, fmt.Errorf("ZooKeeper granted a session timeout of %v: a third of it must leave %v to stop in; "+
					"raise maxSessionTimeout there, or lower canal.relay.session.timeout here, on all nodes", s.Timeout, c.config.Reserve)
			}
			return s, nil
		}
		c.mu.Lock()
		out := c.out
		c.mu.Unlock()
		if out != nil && s.connected {
			return s, out
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}
