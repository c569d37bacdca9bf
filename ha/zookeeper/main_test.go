package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	dest       = "example"
	runningAt  = "/otter/canal/destinations/example/running"
	releasedAt = "/otter/canal/destinations/example/relay/released"
	cursorAt   = "/otter/canal/destinations/example/1001/cursor"
	stateAt    = "/otter/canal/destinations/example/relay/state"
)

// log collects what happened, with the time since it was made.
type log struct {
	mu    sync.Mutex
	began time.Time
	lines []string
	times []time.Duration
}

func newLog() *log { return &log{began: time.Now()} }

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
	l.times = append(l.times, time.Since(l.began))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// at returns when line was added for the n-th time, counted from 1.
func (l *log) at(t *testing.T, line string, n int) time.Duration {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, s := range l.lines {
		if s == line {
			if n--; n == 0 {
				return l.times[i]
			}
		}
	}
	t.Fatalf("%q is missing in %q", line, l.lines)
	return 0
}

// starter is a term that does nothing but say that it runs.
type starter struct {
	node  string
	log   *log
	stuck chan struct{} // if not nil, the term ends only when it is closed
	fail  func() error  // if it returns an error, the term fails at once
}

func (s *starter) Run(ctx context.Context, epoch int64) error {
	s.log.add("%s starts", s.node)
	if s.fail != nil {
		if err := s.fail(); err != nil {
			s.log.add("%s fails", s.node)
			return err
		}
	}
	<-ctx.Done()
	if s.stuck != nil {
		<-s.stuck
	}
	var d interface{ Drain() bool }
	if errors.As(context.Cause(ctx), &d) && d.Drain() {
		s.log.add("%s drained", s.node)
	} else {
		s.log.add("%s dropped", s.node)
	}
	return nil
}

// node is a whole node: client and monitor of one destination.
type node struct {
	client  *zookeeper.Client
	elector *zookeeper.Elector
	monitor *ha.Monitor
	err     error // of the monitor, after stop

	stopMonitor context.CancelCauseFunc
	stopClient  context.CancelFunc
	monitorDone chan struct{}
	clientDone  chan struct{}
}

func config(s *zktest.Server, id string) zookeeper.Config {
	c := zookeeper.DefaultConfig()
	c.Servers, c.ID, c.Dial = "zk1:2181", id, s.Dial
	return c
}

// unreachable makes c's new connections fail while the returned flag is set.
func unreachable(c *zookeeper.Config) *atomic.Bool {
	away, dial := new(atomic.Bool), c.Dial
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if away.Load() {
			return nil, errors.New("no route to host")
		}
		return dial(ctx, network, address)
	}
	return away
}

func quiet(t *testing.T) *slog.Logger {
	if testing.Verbose() {
		return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// startClient runs a client until the returned function is called.
func startClient(t *testing.T, c zookeeper.Config) (*zookeeper.Client, func()) {
	return startClientLogged(t, c, quiet(t).With("node", c.ID))
}

func startClientLogged(t *testing.T, c zookeeper.Config, l *slog.Logger) (*zookeeper.Client, func()) {
	client := zookeeper.New(c, l)
	return client, run(t, client)
}

// run runs a client until the returned function is called.
func run(t *testing.T, client *zookeeper.Client) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := client.Run(ctx); err != nil {
			t.Errorf("client: %v", err)
		}
	}()
	return func() { cancel(); <-done }
}

func start(t *testing.T, c zookeeper.Config, s *starter) *node {
	return startLogged(t, c, s, quiet(t).With("node", c.ID))
}

func startLogged(t *testing.T, c zookeeper.Config, s *starter, l *slog.Logger) *node {
	n := &node{monitorDone: make(chan struct{}), clientDone: make(chan struct{})}
	var stop func()
	n.client, stop = startClientLogged(t, c, l)
	n.stopClient = func() { stop(); close(n.clientDone) }
	n.elector = n.client.Elector(dest, zookeeper.DefaultElectorConfig())
	n.monitor = ha.NewMonitor(dest, n.elector, s, ha.DefaultConfig(), l)
	var ctx context.Context
	ctx, n.stopMonitor = context.WithCancelCause(context.Background())
	go func() {
		defer close(n.monitorDone)
		n.err = n.monitor.Run(ctx)
	}()
	return n
}

// stop ends the monitor, then the client, as a process does.
func (n *node) stop() {
	n.stopMonitor(nil)
	<-n.monitorDone
	n.stopClient()
}

// bubble runs a test in virtual time against an in-memory server.
func bubble(t *testing.T, f func(t *testing.T, s *zktest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.New()
		defer s.Close()
		f(t, s)
	})
}

// settle lets d pass and everything that is due happen.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func owner(t *testing.T, s *zktest.Server) zktest.Node {
	t.Helper()
	n, ok := s.Get(runningAt)
	if !ok {
		t.Fatal("there is no running node")
	}
	return n
}

func sameLines(t *testing.T, l *log, want ...string) {
	t.Helper()
	if got := l.all(); !slices.Equal(got, want) {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

func within(t *testing.T, what string, d, least, most time.Duration) {
	t.Helper()
	if d < least || d > most {
		t.Fatalf("%s took %v, want %v to %v", what, d, least, most)
	}
}
