//go:build stack

package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/relay/position"
)

// real returns the settings for the real server, under a chroot of the test's own.
func real(t *testing.T, id, chroot string) zookeeper.Config {
	c := zookeeper.DefaultConfig()
	c.Servers, c.ID = os.Getenv("CANAL_RELAY_ZOOKEEPER")+chroot, id
	return c
}

// tree returns a chroot that is removed when the test ends, and a connection to
// look at it.
func tree(t *testing.T) (string, *zk.Conn) {
	address := os.Getenv("CANAL_RELAY_ZOOKEEPER")
	if address == "" {
		t.Fatal("CANAL_RELAY_ZOOKEEPER names no server: start one with deploy/local/stack up zookeeper")
	}
	conn, events, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	chroot := fmt.Sprintf("/test-ha-%d", time.Now().UnixNano())
	t.Cleanup(func() {
		remove(t, conn, chroot)
		conn.Close()
		for range events {
		}
	})
	return chroot, conn
}

func remove(t *testing.T, conn *zk.Conn, path string) {
	names, _, err := conn.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return
	}
	for _, name := range names {
		remove(t, conn, path+"/"+name)
	}
	if err := conn.Delete(path, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("remove %s: %v", path, err)
	}
}

// cable carries a node's connections, and can be pulled: bytes are then lost in
// both directions while every socket stays open.
type cable struct {
	pulled atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
	wg     sync.WaitGroup
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	c.mu.Lock()
	c.conns = append(c.conns, server, far)
	c.mu.Unlock()
	c.wg.Add(2)
	go c.carry(far, server)
	go c.carry(server, far)
	return near, nil
}

func (c *cable) carry(from, to net.Conn) {
	defer c.wg.Done()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if c.pulled.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (c *cable) close() {
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

// eventually waits until the log has the line for the n-th time.
func (l *log) eventually(t *testing.T, line string, n int, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		seen := 0
		for _, s := range l.all() {
			if s == line {
				seen++
			}
		}
		if seen >= n {
			return
		}
	}
	t.Fatalf("%q did not come within %v: %q", line, limit, l.all())
}

func TestStackRealServerCleanHandover(t *testing.T) {
	chroot, conn := tree(t)
	l := newLog()
	c := real(t, "a:1", chroot)
	c.SessionTimeout = time.Minute
	a := start(t, c, &starter{node: "a", log: l})
	l.eventually(t, "a starts", 1, time.Minute)
	b := start(t, real(t, "b:1", chroot), &starter{node: "b", log: l})
	standby := chroot + "/otter/canal/destinations/example/cluster/b:1"
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if there, _, _ := conn.Exists(standby); there {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the standby did not appear")
		}
	}
	data, stat, err := conn.Get(chroot + runningAt)
	if err != nil || string(data) != `{"active":true,"address":"a:1"}` || stat.EphemeralOwner == 0 {
		t.Errorf("running node: %q, %+v, %v", data, stat, err)
	}
	a.stop()
	l.eventually(t, "b starts", 1, time.Minute)
	within(t, "the hand-over", l.at(t, "b starts", 1)-l.at(t, "a drained", 1), 0, 30*time.Second) // not the end of a's session, which takes a minute

	// Release comes back to the only node, but not at once.
	if err := b.elector.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.eventually(t, "b starts", 2, time.Minute)
	within(t, "taking back", l.at(t, "b starts", 2)-l.at(t, "b drained", 1), 5*time.Second, time.Minute)
	b.stop()
}

// The owner's cable is pulled: it stops by its own clock, the server expires its
// session, the standby takes over, and the old owner comes back as a standby.
func TestStackRealServerSilentLink(t *testing.T) {
	chroot, _ := tree(t)
	l := newLog()
	link := new(cable)
	defer link.close()
	c := real(t, "a:1", chroot)
	c.Dial, c.SessionTimeout = link.dial, 15*time.Second
	a := start(t, c, &starter{node: "a", log: l})
	l.eventually(t, "a starts", 1, time.Minute)
	b := start(t, real(t, "b:1", chroot), &starter{node: "b", log: l})
	time.Sleep(2 * time.Second)
	link.pulled.Store(true)
	pulled := time.Since(l.began)
	l.eventually(t, "a dropped", 1, time.Minute)
	within(t, "stopping", l.at(t, "a dropped", 1)-pulled, 2*time.Second, 15*time.Second) // before the server ends the session
	l.eventually(t, "b starts", 1, time.Minute)
	within(t, "the take-over", l.at(t, "b starts", 1)-pulled, 5*time.Second, time.Minute)
	link.pulled.Store(false)
	for end := time.Now().Add(time.Minute); !a.client.Connected(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the old owner did not come back")
		}
	}
	time.Sleep(time.Second)
	sameLines(t, l, "a starts", "a dropped", "b starts")
	if role, _, _ := a.monitor.State(); role != ha.Standby {
		t.Errorf("the old owner is %s, want standby", role)
	}
	a.stop()
	b.stop()
}

func TestStackRealServerCursor(t *testing.T) {
	chroot, conn := tree(t)
	client, stop := startClient(t, real(t, "a:1", chroot))
	defer stop()
	ctx := t.Context()
	k := client.Cursor(dest, zookeeper.CursorConfig{Routing: "r1"})
	if _, err := k.Load(ctx); !errors.Is(err, position.ErrNone) {
		t.Fatalf("Load without a cursor returned %v, want ErrNone", err)
	}
	for range 3 {
		if err := k.Save(ctx, somePosition()); err != nil {
			t.Fatal(err)
		}
	}
	data, stat, err := conn.Get(chroot + cursorAt)
	if err != nil || string(data) != canalCursor {
		t.Errorf("cursor node is %s, %v", data, err)
	}
	if _, state, err := conn.Get(chroot + stateAt); err != nil || state.Mzxid != stat.Mzxid {
		t.Errorf("mzxids differ: %d, %d (%v)", state.Mzxid, stat.Mzxid, err)
	}
	other := client.Cursor(dest, zookeeper.CursorConfig{Routing: "r1"})
	got, err := other.Load(ctx)
	if err != nil || got.Foreign || got.GTIDs != somePosition().GTIDs || got.Routing != "r1" {
		t.Errorf("Load returned %+v, %v", got, err)
	}
	if err := other.Save(ctx, somePosition()); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(ctx, somePosition()); !errors.Is(err, position.ErrFenced) {
		t.Errorf("Save of the older term returned %v, want ErrFenced", err)
	}
	moved := strings.Replace(canalCursor, "237944863", "4", 1)
	if _, err := conn.Set(chroot+cursorAt, []byte(moved), -1); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Load(ctx); err != nil || !got.Foreign || got.Offset != 4 || got.GTIDs != "" {
		t.Errorf("Load after an operator's change returned %+v, %v", got, err)
	}
}

// TestStackRealServerRefusedSave, case PC-01: a write of the cursor that the server refuses is told with what can be done,
// ends nothing, and the next one succeeds when it may.
func TestStackRealServerRefusedSave(t *testing.T) {
	chroot, conn := tree(t)
	client, stop := startClient(t, real(t, "a:1", chroot))
	defer stop()
	k := client.Cursor(dest, zookeeper.CursorConfig{})
	if _, err := k.Load(t.Context()); !errors.Is(err, position.ErrNone) {
		t.Fatal(err)
	}
	if err := k.Save(t.Context(), somePosition()); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.SetACL(chroot+cursorAt, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Save(t.Context(), somePosition()); err == nil || errors.Is(err, position.ErrFenced) || !strings.Contains(err.Error(), "canal.relay.zookeeper.auth") {
			t.Errorf("a refused write: %v", err)
		}
	}
	if _, err := conn.SetACL(chroot+cursorAt, zk.WorldACL(zk.PermAll), -1); err != nil {
		t.Fatal(err)
	}
	if err := k.Save(t.Context(), somePosition()); err != nil {
		t.Errorf("when it may: %v", err)
	}
}

func TestStackRealServerIdentity(t *testing.T) {
	chroot, conn := tree(t)
	ask := func(id string) string {
		client, stop := startClient(t, real(t, id, chroot))
		defer stop()
		identity, err := client.Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return identity
	}
	first := ask("a:1")
	if again := ask("b:1"); again != first {
		t.Errorf("one tree has the identities %s and %s", first, again)
	}
	remove(t, conn, chroot)
	if anew := ask("a:1"); anew == first {
		t.Errorf("a tree that was set up anew still has %s", anew)
	}
}

// With credentials, nobody else can touch what the node owns.
func TestStackRealServerCredentials(t *testing.T) {
	chroot, conn := tree(t)
	c := real(t, "a:1", chroot)
	c.Auth = "relay:secret"
	l := newLog()
	a := start(t, c, &starter{node: "a", log: l})
	l.eventually(t, "a starts", 1, time.Minute)
	if err := conn.Delete(chroot+runningAt, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("deleting the running node without credentials: %v, want %v", err, zk.ErrNoAuth)
	}
	if err := conn.AddAuth("digest", []byte("relay:secret")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.Get(chroot + runningAt); err != nil {
		t.Errorf("reading it with the same credentials: %v", err)
	}
	a.stop()
}
