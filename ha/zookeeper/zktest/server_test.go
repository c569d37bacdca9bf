package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, address string, dial zk.Dialer) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{address}, time.Minute, zk.WithLogInfo(false), zk.WithDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}

// TestAnswers runs the script that TestStackAnswers runs against a real
// ZooKeeper; both must say the same.
func TestAnswers(t *testing.T) { script(t, zktest.Start(t).Addr()) }

func script(t *testing.T, address string) {
	conn, other := connect(t, address, net.DialTimeout), connect(t, address, net.DialTimeout)
	world := zk.WorldACL(zk.PermAll)
	root := fmt.Sprintf("/test-zktest-%d", time.Now().UnixNano())
	p := func(name string) string { return root + "/" + name }
	want := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	create := func(conn *zk.Conn, path, data string, flags int32) error {
		_, err := conn.Create(path, []byte(data), flags, world)
		return err
	}

	want("create", create(conn, root, "", 0), nil)
	defer conn.Delete(root, -1)
	want("create again", create(conn, root, "", 0), zk.ErrNodeExists)
	want("create without a parent", create(conn, p("x/y"), "", 0), zk.ErrNoNode)
	want("create ephemeral", create(other, p("e"), "e", zk.FlagEphemeral), nil)
	want("create below an ephemeral", create(conn, p("e/x"), "", 0), zk.ErrNoChildrenForEphemerals)

	_, stat, err := conn.Get(p("e"))
	want("get", err, nil)
	if stat.EphemeralOwner != other.SessionID() || stat.Version != 0 || stat.Czxid != stat.Mzxid || stat.DataLength != 1 {
		t.Errorf("stat of a new ephemeral node: %+v", stat)
	}
	_, _, err = conn.Get(p("none"))
	want("get absent", err, zk.ErrNoNode)
	_, _, absent, err := conn.ExistsW(p("later"))
	want("watch absent", err, nil)
	_, _, present, err := conn.GetW(p("e"))
	want("watch present", err, nil)
	_, _, children, err := conn.ChildrenW(root)
	want("watch children", err, nil)

	want("create watched", create(other, p("later"), "1", 0), nil)
	event(t, absent, zk.EventNodeCreated, p("later"))
	event(t, children, zk.EventNodeChildrenChanged, root)
	stat, err = other.Set(p("e"), []byte("ee"), 0)
	want("set", err, nil)
	if stat.Version != 1 || stat.Mzxid <= stat.Czxid || stat.DataLength != 2 {
		t.Errorf("stat after set: %+v", stat)
	}
	event(t, present, zk.EventNodeDataChanged, p("e"))
	_, err = other.Set(p("e"), nil, 0)
	want("set with an old version", err, zk.ErrBadVersion)
	_, err = other.Set(p("none"), nil, -1)
	want("set absent", err, zk.ErrNoNode)
	want("delete with an old version", other.Delete(p("e"), 0), zk.ErrBadVersion)
	want("delete a parent", other.Delete(root, -1), zk.ErrNotEmpty)

	multi(t, conn, p, world)

	_, err = conn.Sync(root)
	want("sync", err, nil)
	_, _, gone, err := conn.GetW(p("e"))
	want("watch", err, nil)
	other.Close() // ends the session
	event(t, gone, zk.EventNodeDeleted, p("e"))
	names, _, err := conn.Children(root)
	want("children", err, nil)
	slices.Sort(names)
	if !slices.Equal(names, []string{"later", "m1", "m2"}) {
		t.Errorf("children are %v", names)
	}
	for _, name := range names {
		want("delete", conn.Delete(p(name), -1), nil)
	}
}

func multi(t *testing.T, conn *zk.Conn, p func(string) string, world []zk.ACL) {
	t.Helper()
	_, err := conn.Multi(
		&zk.CreateRequest{Path: p("m1"), Data: []byte("a"), Acl: world},
		&zk.CreateRequest{Path: p("m2"), Data: []byte("b"), Acl: world},
		&zk.SetDataRequest{Path: p("later"), Data: []byte("2"), Version: 0})
	if err != nil {
		t.Fatal(err)
	}
	var zxids []int64
	for _, name := range []string{"m1", "m2", "later"} {
		_, stat, err := conn.Get(p(name))
		if err != nil {
			t.Fatal(err)
		}
		zxids = append(zxids, stat.Mzxid)
	}
	if zxids[0] != zxids[1] || zxids[1] != zxids[2] {
		t.Errorf("mzxids of one transaction are %v, want the same", zxids)
	}
	for _, tt := range []struct {
		last any
		want error
	}{
		{&zk.SetDataRequest{Path: p("later"), Data: []byte("3"), Version: 0}, zk.ErrBadVersion},
		{&zk.CheckVersionRequest{Path: p("later"), Version: 7}, zk.ErrBadVersion},
		{&zk.DeleteRequest{Path: p("none"), Version: -1}, zk.ErrNoNode},
		{&zk.CreateRequest{Path: p("m1"), Acl: world}, zk.ErrNodeExists},
	} {
		_, err := conn.Multi(&zk.DeleteRequest{Path: p("m2"), Version: 0}, tt.last)
		if !errors.Is(err, tt.want) {
			t.Errorf("multi that ends in %+v returned %v, want %v", tt.last, err, tt.want)
		}
		if there, _, err := conn.Exists(p("m2")); !there || err != nil {
			t.Errorf("multi that failed has deleted a node (%v)", err)
		}
	}
}

func event(t *testing.T, c <-chan zk.Event, kind zk.EventType, path string) {
	t.Helper()
	select {
	case e := <-c:
		if e.Type != kind || e.Path != path {
			t.Errorf("event %v of %s, want %v of %s", e.Type, e.Path, kind, path)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no event for %s", path)
	}
}

// What the server's handles do to a client.
func TestSessionOutlivesACutAndEndsWhenExpired(t *testing.T) {
	s := zktest.New()
	t.Cleanup(s.Close)
	// Over a pipe: the zk client reads its last transaction id without a lock
	// when it connects again, which only a pipe puts in order.
	conn := connect(t, "127.0.0.1:1", func(network, address string, _ time.Duration) (net.Conn, error) {
		return s.Dial(context.Background(), network, address)
	})
	if _, err := conn.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	_, _, watch, err := conn.GetW("/e")
	if err != nil {
		t.Fatal(err)
	}
	session := conn.SessionID()
	s.Cut()
	s.Put("/e", []byte("changed meanwhile"))
	event(t, watch, zk.EventNodeDataChanged, "/e")
	if conn.SessionID() != session {
		t.Error("a cut connection ended the session")
	}
	_, _, watch, err = conn.GetW("/e")
	if err != nil {
		t.Fatal(err)
	}
	s.Expire(session)
	if _, ok := s.Get("/e"); ok {
		t.Error("an ephemeral node outlived its session")
	}
	event(t, watch, zk.EventNotWatching, "/e")
}
