package zookeeper_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
	"github.com/canal-relay/canal-relay/relay/position"
)

const skipAt = "/otter/canal/destinations/" + dest + "/relay/skip"

func order(t *testing.T, s *zktest.Server, at string) *position.Skip {
	t.Helper()
	old, err := zookeeper.OrderSkip(t.Context(), config(s, "").Config, dest,
		position.Skip{At: at, Reason: "ticket 4711", Who: "ops@host", When: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// obeying loads a cursor that finds an order, as a term does.
func obeying(t *testing.T, client *zookeeper.Client, at string) *zookeeper.Cursor {
	t.Helper()
	k := client.Cursor(dest, zookeeper.CursorConfig{})
	if saved, err := k.Load(t.Context()); err != nil && !errors.Is(err, position.ErrNone) || saved.Skip != at {
		t.Fatalf("loaded the order %q, %v, want %q", saved.Skip, err, at)
	}
	return k
}

func pending(t *testing.T, s *zktest.Server) (zookeeper.Seen, string) {
	t.Helper()
	all, err := zookeeper.Survey(t.Context(), config(s, "").Config, dest)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Order == nil {
		return all[0], ""
	}
	return all[0], all[0].Order.At
}

// TestOrderIsForgottenWhenCarriedOut: it goes with the first position behind
// what was left out, and not before; its reason stays with that position.
func TestOrderIsForgottenWhenCarriedOut(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		order(t, s, "binlog.000001:4")
		if old := order(t, s, "binlog.000001:99"); old == nil || old.At != "binlog.000001:4" {
			t.Errorf("an order in the place of %+v", old)
		}
		k := obeying(t, client, "binlog.000001:99")
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		if _, at := pending(t, s); at != "binlog.000001:99" {
			t.Errorf("before it was carried out, the order is %q", at)
		}
		k.Skipped()
		s.Lose("multi") // the answer is lost; the next Save finds out what became of it
		if err := k.Save(t.Context(), somePosition()); err == nil || errors.Is(err, position.ErrFenced) {
			t.Fatalf("Save whose answer was lost returned %v", err)
		}
		settle(3 * time.Second)
		for range 2 {
			if err := k.Save(t.Context(), somePosition()); err != nil {
				t.Fatal(err)
			}
		}
		seen, at := pending(t, s)
		if at != "" {
			t.Errorf("the order %s is there still", at)
		}
		n := 0
		for _, past := range seen.State.Past {
			if strings.HasPrefix(past.Reason, "left out binlog.000001:99 as ops@host ordered at ") && strings.HasSuffix(past.Reason, ": ticket 4711") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d of the last positions tell of it: %+v", n, seen.State.Past)
		}
		obeying(t, client, "")
	})
}

// TestOrderIsTakenBack: an operator deletes an order, or gives another one, that
// a term is carrying out. The newer one stands.
func TestOrderIsTakenBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		order(t, s, "binlog.000001:4")
		k := obeying(t, client, "binlog.000001:4")
		order(t, s, "binlog.000001:99")
		k.Skipped()
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
		if _, at := pending(t, s); at != "binlog.000001:99" {
			t.Errorf("the order is %q", at)
		}
		k = obeying(t, client, "binlog.000001:99")
		s.Remove(skipAt)
		k.Skipped()
		if err := k.Save(t.Context(), somePosition()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDamagedOrderIsRefusedByName: what an operator wants left out is not guessed.
func TestDamagedOrderIsRefusedByName(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stop := startClient(t, config(s, "a:1"))
		defer stop()
		s.Put(skipAt, []byte(`{"at":"everything","reason":"r"}`))
		if _, err := client.Cursor(dest, zookeeper.CursorConfig{}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), skipAt) {
			t.Errorf("Load returned %v", err)
		}
		if seen, _ := pending(t, s); seen.OrderErr == nil {
			t.Error("the survey says nothing")
		}
		order(t, s, "0-1-4711")
		obeying(t, client, "0-1-4711")
	})
}
