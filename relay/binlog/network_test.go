package binlog_test

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// proxy carries connections to a server and breaks each after so many writes of
// the client.
type proxy struct {
	listener net.Listener
	server   string
	writes   atomic.Int64 // what is left; negative: without end
	all      sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: server}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.all.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.server)
		if err != nil {
			near.Close()
			continue
		}
		p.all.Go(func() {
			defer near.Close()
			defer far.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := near.Read(buf)
				if err != nil || p.writes.Add(-1) == -1 {
					return
				}
				if _, err := far.Write(buf[:n]); err != nil {
					return
				}
			}
		})
		p.all.Go(func() {
			defer near.Close()
			defer far.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := far.Read(buf)
				if err != nil {
					return
				}
				if _, err := near.Write(buf[:n]); err != nil {
					return
				}
			}
		})
	}
}

// A link that drops during any of the first statements is a link that drops, and
// not a server that is too old or an account that lacks a privilege (AV-03).
func TestDroppedProbeIsNoVerdict(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	p := newProxy(t, s.Addr())
	c := config(s)
	c.Addr = p.listener.Addr().String()
	c.Detect = binlog.Detect{}
	for n := range 40 {
		p.writes.Store(int64(n))
		h := &recorder{stop: xids(6)}
		err := open(t, c).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, h)
		if errors.Is(err, errStop) {
			if n < 6 {
				t.Errorf("only %d writes were needed", n)
			}
			return
		}
		for _, verdict := range []error{binlog.ErrDenied, binlog.ErrFormat, binlog.ErrPurged, binlog.ErrStart} {
			if err == nil || errors.Is(err, verdict) {
				t.Errorf("dropped at write %d: %v", n, err)
			}
		}
	}
	t.Error("40 writes were not enough")
}

// A source that accepts and says nothing holds nobody up: the context's end is
// the end.
func TestSilentServerDoesNotHold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, _ := logs()
	c := config(binlogtest.Start(t, "9.7.4", one))
	c.Addr = l.Addr().String()
	c.Detect = binlog.Detect{SQL: "select 1", Every: 10 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	r := open(t, c)
	go func() { ended <- r.Run(ctx, position.Position{}, &recorder{}) }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("Run did not end")
	}
}

// What fails again and again leaves nothing behind (NW-07).
func TestFailuresLeaveNothing(t *testing.T) {
	one, two := logs()
	s := binlogtest.Start(t, "9.7.4", one, two)
	wrong := config(s)
	wrong.Password = "wrong"
	watched := config(s)
	watched.Detect = binlog.Detect{SQL: "select 1", Every: time.Hour}
	damaged := binlogtest.NewLog("binlog.000001", 0)
	damaged.Transaction("d", "t", []byte("x"), 1)
	damaged.Bytes[len(damaged.Bytes)-6] ^= 1
	corrupt := config(binlogtest.Start(t, "9.7.4", damaged))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := config(s)
	away.Addr = l.Addr().String()
	l.Close()
	once := func() {
		if err := open(t, corrupt).Run(t.Context(), position.Position{File: damaged.Name, Offset: 4}, &recorder{}); !errors.Is(err, binlog.ErrFormat) {
			t.Fatal(err)
		}
		if err := open(t, away).Run(t.Context(), position.Position{}, &recorder{}); !errors.Is(err, binlog.ErrAway) {
			t.Fatal(err)
		}
		s.Cut(3)
		if err := open(t, watched).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, &recorder{}); err == nil {
			t.Fatal("a connection that broke was not noticed")
		}
		if err := open(t, wrong).Run(t.Context(), position.Position{}, &recorder{}); !errors.Is(err, binlog.ErrDenied) {
			t.Fatal(err)
		}
		s.Refuse(1236, "Cannot replicate because the source purged required binary logs.")
		if err := open(t, watched).Run(t.Context(), position.Position{File: one.Name, Offset: 4}, &recorder{}); !errors.Is(err, binlog.ErrPurged) {
			t.Fatal(err)
		}
	}
	once()
	before, files := runtime.NumGoroutine(), openFiles(t)
	for range 100 {
		once()
	}
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before+5 || openFiles(t) > files+5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and %d files before, %d and %d after 500 failures", before, files, runtime.NumGoroutine(), openFiles(t))
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
