package session

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseServers(t *testing.T) {
	for list, want := range map[string]struct {
		hosts  []string
		chroot string
	}{
		"127.0.0.1:2181":                {[]string{"127.0.0.1:2181"}, ""},
		"zk1:2181,zk2:2182":             {[]string{"zk1:2181", "zk2:2182"}, ""},
		"zk1:2181;zk2:2182":             {[]string{"zk1:2181", "zk2:2182"}, ""},
		" zk1 , zk2:2181 ":              {[]string{"zk1:2181", "zk2:2181"}, ""},
		"zk1,zk2/canal/a":               {[]string{"zk1:2181", "zk2:2181"}, "/canal/a"},
		"zk1:2181,/":                    {[]string{"zk1:2181"}, ""},
		"[::1]:2181,[fe80::1],10.0.0.1": {[]string{"[::1]:2181", "[fe80::1]:2181", "10.0.0.1:2181"}, ""},
	} {
		hosts, chroot, err := parseServers(list)
		if err != nil || !slices.Equal(hosts, want.hosts) || chroot != want.chroot {
			t.Errorf("%q: %q, %q, %v; want %q, %q", list, hosts, chroot, err, want.hosts, want.chroot)
		}
	}
	for _, list := range []string{"", " ", ",;", "/canal", "zk1/a//b", "zk1/a,zk2"} {
		if hosts, chroot, err := parseServers(list); err == nil {
			t.Errorf("%q is read as %q, %q; want an error", list, hosts, chroot)
		}
	}
}

func TestConfigRelations(t *testing.T) {
	c := DefaultConfig()
	c.Servers = "zk1"
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.Reserve += time.Millisecond
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "third") {
		t.Errorf("a node that stops too slowly: %v", err)
	}
}

// The zk client pauses, and drops what it has not sent, after each round of
// failures and before a new session; not when it just connects again.
func TestServersPauseWhereRequestsMustNotSurvive(t *testing.T) {
	s := new(servers)
	s.Init([]string{"a", "b"})
	try := func() bool { _, pause := s.Next(); return pause }
	if try() || try() || !try() || try() || !try() { //nolint:staticcheck // every call moves on
		t.Error("want a pause after each round of two servers")
	}
	s.Connected()
	if try() {
		t.Error("reconnecting after a session pauses")
	}
	s.expire()
	if !try() {
		t.Error("no pause between an expired session and the next")
	}
}

// deaf is a connection that breaks in the middle of the third request: after the
// greeting and one answer.
type deaf struct {
	net.Conn
	writes int
}

func (d *deaf) Write(b []byte) (int, error) {
	if d.writes++; d.writes > 2 {
		d.Close()
	}
	return d.Conn.Write(b)
}

// TestBrokenWriteIsTransient: the request may have been sent, and is asked again.
func TestBrokenWriteIsTransient(t *testing.T) {
	s := zktest.New()
	defer s.Close()
	c := DefaultConfig()
	c.Servers = "zk1:2181"
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.Dial(ctx, network, address)
		return &deaf{Conn: conn}, err
	}
	err := Briefly(t.Context(), c, func(v *Visit) error {
		if _, _, err := v.Get("/a"); err != nil {
			t.Errorf("before the break: %v", err)
		}
		_, _, err := v.Get("/a")
		return err
	})
	if err == nil || !Transient(err) {
		t.Errorf("a broken write is %v", err)
	}
}

// TestRefusalOutlastsTheTimeLimit: an attempt that the caller's limit cuts off does not hide why the earlier ones failed.
func TestRefusalOutlastsTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused, attempts := errors.New("connection refused"), 0
		c := DefaultConfig()
		c.Servers = "zk1:2181"
		c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			if attempts++; attempts == 1 {
				return nil, refused
			}
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := Briefly(ctx, c, nil); !errors.Is(err, refused) || attempts < 2 {
			t.Errorf("after %d attempts: %v", attempts, err)
		}
	})
}

// drip gives out what was written to it in pieces of every size.
type drip struct {
	net.Conn
	in   []byte
	size int
}

func (d *drip) Read(b []byte) (int, error) {
	if len(d.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), d.size)], d.in)
	d.in = d.in[n:]
	return n, nil
}

func (d *drip) Write(b []byte) (int, error) { return len(b), nil }
func (d *drip) Close() error                { return nil }

func frame(body ...any) []byte {
	var b []byte
	for _, v := range body {
		switch v := v.(type) {
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case int: // so many bytes of payload
			b = append(b, make([]byte, v)...)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// The lease is proved by the sending time of what the leader has answered.
func TestLinkProvesTheLease(t *testing.T) {
	const session = int64(0x1234)
	for size := 1; size < 70; size++ {
		synctest.Test(t, func(t *testing.T) {
			c := New(DefaultConfig(), []string{"/x"}, slog.New(slog.DiscardHandler))
			d := &drip{size: size}
			l := newLink(t.Context(), d, c)
			defer l.Close()
			began := time.Now()
			request := func(xid, op int32) { l.Write(frame(xid, op, int32(0))); time.Sleep(time.Second) }
			answer := func(b []byte, want time.Duration, what string) {
				t.Helper()
				d.in = append(d.in, b...)
				io.ReadAll(l)
				c.mu.Lock()
				defer c.mu.Unlock()
				if got := c.granted.proved.Sub(began); got != want {
					t.Errorf("in pieces of %d, after %s the lease is proved at %v, want %v", size, what, got, want)
				}
			}
			l.Write(frame(int32(0), int64(0), int32(6000), int64(0), int32(16), 16)) // sent at 0s
			time.Sleep(time.Second)
			answer(frame(int32(0), int32(6000), session, int32(16), 16), 0, "the connect response")
			if c.granted.ID != session || c.granted.Timeout != 6*time.Second {
				t.Fatalf("granted %+v", c.granted)
			}
			request(1, 1)        // create at 1s
			request(2, 9)        // sync at 2s
			request(3, opExists) // at 3s
			request(-2, opPing)  // at 4s
			answer(frame(int32(-1), int64(-1), int32(0), int32(1), int32(3), 40), 0, "an event")
			answer(frame(int32(1), int64(7), int32(0), 30), time.Second, "the answer to create")
			answer(frame(int32(3), int64(7), int32(0), 68), time.Second, "the answer to a read")
			answer(frame(int32(-2), int64(7), int32(0)), time.Second, "the answer to a ping")
			answer(frame(int32(2), int64(7), int32(-101)), 2*time.Second, "the refusal of sync")
		})
	}
}

// An old session's answer proves nothing for the new one, and time never goes back.
func TestProvedIsForOneSession(t *testing.T) {
	c := New(DefaultConfig(), []string{"/x"}, slog.New(slog.DiscardHandler))
	now := time.Now()
	c.session = State{ID: 2, Timeout: 6 * time.Second, proved: now}
	c.proved(1, now.Add(time.Minute))
	c.proved(2, now.Add(-time.Minute))
	if got := c.session.End(); !got.Equal(now.Add(4 * time.Second)) {
		t.Errorf("the lease ends %v after it was proved, want 4s", got.Sub(now))
	}
}

// A lease is counted on the monotonic clock, which nobody sets: its end still has
// that reading, with which the time package compares, after a request was
// answered, and so has all that is derived from it.
func TestLeaseIgnoresTheWallClock(t *testing.T) {
	c := New(DefaultConfig(), []string{"/x"}, slog.New(slog.DiscardHandler))
	d := &drip{size: 64}
	l := newLink(t.Context(), d, c)
	defer l.Close()
	l.Write(frame(int32(0), int64(0), int32(6000), int64(0), int32(16), 16))
	d.in = append(d.in, frame(int32(0), int32(6000), int64(0x1234), int32(16), 16)...)
	io.ReadAll(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.granted.End(); !strings.Contains(end.String(), " m=") {
		t.Errorf("the end of the lease, %v, is on the wall clock", end)
	}
}

// A server that takes connections and never answers is left soon.
func TestServerThatDoesNotGreetIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(DefaultConfig(), []string{"/x"}, slog.New(slog.DiscardHandler))
		near, far := net.Pipe()
		defer far.Close()
		l := newLink(t.Context(), near, c)
		defer l.Close()
		began := time.Now()
		l.SetReadDeadline(began.Add(time.Hour))
		l.Read(make([]byte, 4))
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("waited %v for the greeting, want 2s", d)
		}
	})
}

// Run joins everything also when nobody answers its goodbye.
func TestSilentShutdownEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.New()
		defer s.Close()
		config := DefaultConfig()
		config.Servers, config.Dial, config.Auth = "zk1", s.Dial, "relay:secret"
		c := New(config, []string{"/x"}, slog.New(slog.DiscardHandler))
		c.Wish("/x/me", true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(time.Second)
		if _, ok := s.Get("/x/me"); !ok {
			t.Fatal("the wished node is missing")
		}
		st, _ := c.Current()
		s.Pause(st.ID) // nothing answers any more
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("Run took %v to end on a silent link, want at most 3s", d)
		}
	})
}

// A node that is not wanted any more and that another session has is not touched.
func TestUnwantedNodeOfAnotherSessionStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := zktest.New()
		defer s.Close()
		other := s.PutEphemeral("/x/owner", nil)
		config := DefaultConfig()
		config.Servers, config.Dial = "zk1", s.Dial
		c := New(config, []string{"/x"}, slog.New(slog.DiscardHandler))
		c.Wish("/x/owner", false)
		c.Wish("/x/me", true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(time.Second)
		if n, ok := s.Get("/x/owner"); !ok || n.Owner != other {
			t.Errorf("the other session's node is %+v, %v", n, ok)
		}
		if _, ok := s.Get("/x/me"); !ok {
			t.Error("the wished node is missing")
		}
		c.Wish("/x/me", false)
		time.Sleep(time.Second)
		if _, ok := s.Get("/x/me"); ok {
			t.Error("the node that is not wanted any more is still there")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
