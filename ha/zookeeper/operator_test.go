package zookeeper_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
	"github.com/canal-relay/canal-relay/relay/position"
)

// duel starts an owner, a:1, and a standby, b:1. Each notes the cursor with which it starts.
func duel(t *testing.T, s *zktest.Server, l *log) (a, b *node) {
	t.Helper()
	note := func(name string) *starter {
		return &starter{node: name, log: l, fail: func() error {
			n, _ := s.Get(cursorAt)
			_, offset, _ := strings.Cut(string(n.Data), `"position":`)
			offset, _, _ = strings.Cut(strings.TrimRight(offset, "}"), ",")
			l.add("%s finds %s", name, offset)
			return nil
		}}
	}
	a = start(t, config(s, "a:1"), note("a"))
	settle(time.Second)
	b = start(t, config(s, "b:1"), note("b"))
	settle(time.Second)
	return a, b
}

func saved(t *testing.T, c *zookeeper.Client, p position.Position) {
	t.Helper()
	k := c.Cursor(dest, zookeeper.CursorConfig{Routing: "r1"})
	if _, err := k.Load(t.Context()); err != nil && !errors.Is(err, position.ErrNone) {
		t.Fatal(err)
	}
	if err := k.Save(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func TestSurveySeesEveryDestination(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := duel(t, s, newLog())
		defer a.stop()
		defer b.stop()
		saved(t, a.client, somePosition())
		s.Put("/otter/canal/destinations/other/1001/cursor", []byte(canalCursor))
		s.Put("/otter/canal/destinations/broken/1001/cursor", []byte("{"))
		all, err := zookeeper.Survey(t.Context(), config(s, "").Config)
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		broken, example, other := all[0], all[1], all[2]
		if broken.Name != "broken" || broken.Err == nil || errors.Is(broken.Err, position.ErrNone) {
			t.Errorf("broken: %+v", broken)
		}
		if example.Owner.Address != "a:1" || example.Owner.Epoch != owner(t, s).Czxid || example.Owner.Leaving || !slices.Equal(example.Standbys(), []string{"b:1"}) {
			t.Errorf("owner and standbys: %+v", example)
		}
		if example.Err != nil || example.Saved.Offset != somePosition().Offset || example.Saved.GTIDs != somePosition().GTIDs || len(example.State.Past) != 1 {
			t.Errorf("position: %+v", example)
		}
		if other.Owner.Epoch != 0 || other.Nodes != nil || !other.Saved.Foreign || other.Saved.File != "binlog.000002" {
			t.Errorf("other: %+v", other)
		}
	})
}

func TestReleaseHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a, b := duel(t, s, l)
		defer b.stop()
		defer a.stop()
		from, to, err := zookeeper.Release(t.Context(), config(s, "").Config, dest)
		if err != nil || from.Address != "a:1" || to.Address != "b:1" || to.Epoch == from.Epoch {
			t.Fatalf("from %+v to %+v: %v", from, to, err)
		}
		settle(time.Second)
		sameLines(t, l, "a starts", "a finds ", "a drained", "b starts", "b finds ")
	})
}

func TestReleaseIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := config(s, "").Config
		if _, _, err := zookeeper.Release(t.Context(), c, dest); !errors.Is(err, zookeeper.ErrNobody) {
			t.Errorf("without an owner: %v", err)
		}
		l := newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		defer a.stop()
		settle(time.Second)
		if _, _, err := zookeeper.Release(t.Context(), c, dest); !errors.Is(err, zookeeper.ErrAlone) {
			t.Errorf("without a standby: %v", err)
		}
		settle(time.Second)
		sameLines(t, l, "a starts")
	})
}

// TestLazyNodes: a node that only knows a destination is no standby, until it is one.
func TestLazyNodes(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, l := config(s, "").Config, newLog()
		a := start(t, config(s, "a:1"), &starter{node: "a", log: l})
		defer a.stop()
		b, stop := startClient(t, config(s, "b:1"))
		defer stop()
		settings := zookeeper.DefaultElectorConfig()
		settings.Lazy = true
		lazy := b.Elector(dest, settings)
		if err := lazy.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		see := func(standbys, lazy string) {
			t.Helper()
			all, err := zookeeper.Survey(t.Context(), c, dest)
			if err != nil || strings.Join(all[0].Standbys(), ",") != standbys || strings.Join(all[0].Lazy, ",") != lazy || len(all[0].Nodes) != 2 {
				t.Errorf("%+v, %v", all, err)
			}
		}
		see("", "b:1")
		if _, _, err := zookeeper.Release(t.Context(), c, dest); !errors.Is(err, zookeeper.ErrAlone) {
			t.Errorf("with a lazy node alone: %v", err)
		}
		n, _ := s.Get("/otter/canal/destinations/" + dest + "/cluster/b:1")
		s.Expire(n.Owner) // the node comes back as it was
		settle(20 * time.Second)
		see("", "b:1")
		if err := b.Elector(dest, zookeeper.DefaultElectorConfig()).Register(t.Context()); err != nil { // without an Unregister that got through
			t.Fatal(err)
		}
		settle(time.Second)
		see("b:1", "")
		if err := lazy.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle(time.Second)
		see("", "b:1")
	})
}

// TestReleaseSaysWhoDoesNotLetGo: another kind of node owns it and does not listen.
func TestReleaseSaysWhoDoesNotLetGo(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"java:11111"}`))
		s.Put("/otter/canal/destinations/example/cluster/b:1", nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, _, err := zookeeper.Release(ctx, config(s, "").Config, dest)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "java:11111 was asked to let go") {
			t.Error(err)
		}
		if string(owner(t, s).Data) != `{"active":false,"address":"java:11111"}` {
			t.Errorf("running node %s", owner(t, s).Data)
		}
	})
}

func TestSetCursorIsRefusedWhileOwned(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a, b := duel(t, s, l)
		defer b.stop()
		defer a.stop()
		saved(t, a.client, somePosition())
		before, _ := s.Get(cursorAt)
		_, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, zookeeper.Move{To: position.Position{File: "binlog.000001", Offset: 4}, Reason: "r"})
		if !errors.Is(err, zookeeper.ErrOwned) || !strings.Contains(err.Error(), "a:1") {
			t.Errorf("returned %v", err)
		}
		if after, _ := s.Get(cursorAt); after.Version != before.Version {
			t.Errorf("the cursor was written: %s", after.Data)
		}
		settle(time.Second)
		sameLines(t, l, "a starts", "a finds ")
	})
}

// TestSetCursorReleasesAndNobodyStartsBeforeIt: the next owner finds the new position, whoever it is.
func TestSetCursorReleasesAndNobodyStartsBeforeIt(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a, b := duel(t, s, l)
		defer b.stop()
		defer a.stop()
		saved(t, a.client, somePosition())
		moved, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest,
			zookeeper.Move{To: position.Position{File: "binlog.000001", Offset: 157}, Reason: "r", Release: true})
		if err != nil || moved.From.Address != "a:1" || moved.Old.Offset != somePosition().Offset {
			t.Fatalf("%+v, %v", moved, err)
		}
		settle(time.Second)
		sameLines(t, l, "a starts", "a finds ", "a drained", "b starts", "b finds 157")
		if _, there := s.Get("/otter/canal/destinations/example/relay/held"); there {
			t.Error("the destination is still held back")
		}
	})
}

// TestSetCursorLosesToWhoDoesNotHold: a node of Canal takes over at once, and nothing is written.
func TestSetCursorLosesToWhoDoesNotHold(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"java1:11111"}`))
		first := owner(t, s).Czxid
		go func() {
			time.Sleep(time.Millisecond) // who asked looks again only later, not in between
			for strings.Contains(string(owner(t, s).Data), "true") {
				time.Sleep(time.Millisecond)
			}
			s.Remove(runningAt)
			s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"java2:11111"}`))
		}()
		_, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest,
			zookeeper.Move{To: position.Position{File: "binlog.000001", Offset: 4}, Reason: "r", Release: true})
		if !errors.Is(err, zookeeper.ErrOwned) || !strings.Contains(err.Error(), "java2:11111") {
			t.Errorf("returned %v", err)
		}
		if _, there := s.Get(cursorAt); there || owner(t, s).Czxid == first {
			t.Error("the cursor was written")
		}
	})
}

func TestSetCursorRecordsWhatItDid(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		old := somePosition()
		saved(t, client, old)
		to := position.Position{File: "binlog.000003", Offset: 4711, ServerUUID: old.ServerUUID, Host: old.Host, Port: old.Port, GTIDs: old.GTIDs + ":262101"}
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, zookeeper.Move{To: to, Reason: "skip one"}); err != nil {
			t.Fatal(err)
		}
		got, err := client.Cursor(dest, zookeeper.CursorConfig{}).Load(t.Context())
		if err != nil || got.Foreign || got.Offset != 4711 || got.GTIDs != to.GTIDs || got.Routing != "" {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(got.Prepared) != 1 {
			t.Errorf("prepared XA transactions %+v, want the one that was undecided before", got.Prepared)
		}
		all, err := zookeeper.Survey(t.Context(), config(s, "").Config, dest)
		if err != nil {
			t.Fatal(err)
		}
		past := all[0].State.Past
		if len(past) != 3 || past[0].Offset != 4711 || past[0].Reason != "set by an operator: skip one" || past[1].Offset != old.Offset || past[1].Reason != "replaced by an operator" {
			t.Errorf("earlier positions %+v", past)
		}
		if cursor, _ := s.Get(cursorAt); strings.Contains(string(cursor.Data), "262101") {
			t.Errorf("Canal's cursor shows GTIDs although they are off: %s", cursor.Data)
		}
	})
}

// TestSetCursorWithoutOne: nothing is stored yet, and the target is a GTID set alone.
func TestSetCursorWithoutOne(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		const set = "6be1439e-ecaa-11f1-aa2a-02fc00000001:1-5"
		moved, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, zookeeper.Move{To: position.Position{GTIDs: set}, Reason: "r"})
		if err != nil || !moved.Old.IsZero() {
			t.Fatalf("%+v, %v", moved, err)
		}
		got, err := zookeeper.Peek(t.Context(), config(s, "").Config, dest)
		if err != nil || got.GTIDs != set || got.File != "" || got.Foreign {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestSetCursorRepairsOneThatCannotBeRead, but does not touch the state of a newer build.
func TestSetCursorRepairsOneThatCannotBeRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Put(cursorAt, []byte("{"))
		m := zookeeper.Move{To: position.Position{File: "binlog.000001", Offset: 4}, Reason: "r"}
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m); err != nil {
			t.Fatal(err)
		}
		if got, err := zookeeper.Peek(t.Context(), config(s, "").Config, dest); err != nil || got.File != "binlog.000001" {
			t.Errorf("%+v, %v", got, err)
		}
		s.Put(stateAt, []byte(`{"version":99}`))
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("the state of a newer build: %v", err)
		}
	})
}

// TestSetCursorBefore: what is to be done before the position is stored is done when the owner has let go and nobody can start,
// under an epoch between that of the owner and that of the next one. When it fails, nothing is stored.
func TestSetCursorBefore(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		l := newLog()
		a, b := duel(t, s, l)
		defer a.stop()
		defer b.stop()
		first := owner(t, s).Czxid
		identity, err := a.client.Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		to := position.Position{File: "binlog.000003", Offset: 4711, Host: "db", Port: 3306}
		refused := errors.New("refused")
		var held zookeeper.Hold
		m := zookeeper.Move{Reason: "r", Release: true, Delivery: position.ExactlyOnce, Before: func(_ context.Context, h zookeeper.Hold) (position.Position, error) {
			settle(10 * time.Second)
			if _, there := s.Get(runningAt); there {
				t.Error("somebody started meanwhile")
			}
			held = h
			return to, refused
		}}
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m); !errors.Is(err, refused) {
			t.Errorf("returned %v", err)
		}
		settle(10 * time.Second)
		second := owner(t, s).Czxid
		if got, err := zookeeper.Peek(t.Context(), config(s, "").Config, dest); !errors.Is(err, position.ErrNone) {
			t.Errorf("stored %+v, %v", got, err)
		}
		if held.Epoch <= first || held.Epoch >= second || held.Identity != identity {
			t.Errorf("held %+v, between the owners %d and %d of %s", held, first, second, identity)
		}
		refused = nil
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m); err != nil {
			t.Fatal(err)
		}
		if got, err := zookeeper.Peek(t.Context(), config(s, "").Config, dest); err != nil || got.Offset != 4711 || got.Delivery != position.ExactlyOnce || got.Foreign {
			t.Errorf("stored %+v, %v", got, err)
		}
		settle(10 * time.Second)
	})
}

// TestSetCursorAsksWhoStartsAtThatMoment: a node that had looked before the destination was held back starts it after its owner has
// let go. It is asked, too.
func TestSetCursorAsksWhoStartsAtThatMoment(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		var epochs []int64
		m := zookeeper.Move{Reason: "r", Before: func(_ context.Context, h zookeeper.Hold) (position.Position, error) {
			if epochs = append(epochs, h.Epoch); len(epochs) == 1 {
				s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"late:1"}`))
				go func() {
					for strings.Contains(string(owner(t, s).Data), "true") {
						time.Sleep(time.Millisecond)
					}
					epochs = append(epochs, owner(t, s).Czxid)
					s.Remove(runningAt)
				}()
			}
			return position.Position{File: "binlog.000001", Offset: 157, Host: "db", Port: 3306}, nil
		}}
		m.Release = true
		moved, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m)
		if err != nil || moved.From.Address != "late:1" {
			t.Fatalf("%+v, %v", moved, err)
		}
		if got, err := zookeeper.Peek(t.Context(), config(s, "").Config, dest); err != nil || got.Offset != 157 {
			t.Errorf("stored %+v, %v", got, err)
		}
		if len(epochs) != 3 || !slices.IsSorted(epochs) { // whoever started is fenced
			t.Errorf("holds and the owner between them have the epochs %d", epochs)
		}
		s.PutEphemeral(runningAt, []byte(`{"active":true,"address":"late:1"}`))
		m.Release = false
		if _, err := zookeeper.SetCursor(t.Context(), config(s, "").Config, dest, m); !errors.Is(err, zookeeper.ErrOwned) {
			t.Errorf("without a release: %v", err)
		}
	})
}

// TestIdentity is the same for every client of a tree, also in a later session, and another one for a tree that was set up anew.
func TestIdentity(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		seen := map[string]bool{}
		for _, id := range []string{"a:1", "b:1", "a:1"} {
			client, stop := startClient(t, config(s, id))
			identity, err := client.Identity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen[identity] = true
			stop()
		}
		if len(seen) != 1 {
			t.Errorf("one tree has the identities %v", seen)
		}
		time.Sleep(time.Second)
		anew := config(s, "a:1")
		anew.Servers += "/anew"
		client, stop := startClient(t, anew)
		defer stop()
		if identity, err := client.Identity(t.Context()); err != nil || seen[identity] {
			t.Errorf("another tree has %s, %v", identity, err)
		}
	})
}
