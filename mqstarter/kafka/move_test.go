package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/positions"
	"github.com/canal-relay/canal-relay/relay/position"
)

// TestMove: an operator who holds a destination fences its owner, and the next owner goes on where the operator said.
func TestMove(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "zk", nil)
	to := func(offset uint64) func(*positions.Record) (position.Resume, error) {
		return func(r *positions.Record) (position.Resume, error) {
			return position.Resume{Position: parcelOf(offset, 0).Resume}, nil
		}
	}
	if err := l.Move(t.Context(), 3, "zk", func(r *positions.Record) (position.Resume, error) {
		if r != nil {
			t.Errorf("before the first term the record is %+v", r)
		}
		return position.Resume{}, errors.New("better not")
	}); err == nil || err.Error() != "better not" {
		t.Errorf("refused: %v", err)
	}
	old, _, err := l.owner(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, old, parcelOf(100, 0, "a"), parcelOf(200, 0, "b")); err != nil {
		t.Fatal(err)
	}
	if err := l.Move(t.Context(), 4, "zk", to(100)); err == nil || !strings.Contains(err.Error(), "somebody else owns it") {
		t.Errorf("an older operator: %v", err)
	}
	if err := l.Move(t.Context(), 6, "zk", to(100)); err != nil {
		t.Fatal(err)
	}
	var a interface{ Again() bool }
	if err := deliver(t, old, parcelOf(300, 0, "stale")); !errors.As(err, &a) {
		t.Errorf("the fenced owner got %v", err)
	}
	if _, _, err := l.owner(t, 5); err == nil || !strings.Contains(err.Error(), "somebody else owns it") {
		t.Errorf("the fenced owner claims again: %v", err)
	}
	next, from, err := l.owner(t, 7)
	if err != nil || from.Offset != 100 {
		t.Fatalf("the next owner goes on at %+v, %v", from, err)
	}
	if err := deliver(t, next, parcelOf(200, 0, "b again"), parcelOf(300, 0, "end")); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, "changes", "end"); !slices.Equal(got, []string{"a", "b", "b again", "end"}) {
		t.Errorf("readers have %q", got)
	}
}

// TestMoveTakesOver from owners that another ZooKeeper elected, where readers are, also inside a source transaction.
func TestMoveTakesOver(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	old := ledger(t, c, "old", nil)
	p, _, err := old.owner(t, 500)
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, p, parcelOf(100, 2, "a", "1", "2")); err != nil {
		t.Fatal(err)
	}
	l := ledger(t, c, "new", nil)
	_, _, err = l.owner(t, 7)
	if err == nil || !strings.Contains(err.Error(), "canal-relay cursor set record --destination shop --release --reason WHY") {
		t.Fatalf("the error does not name the command: %v", err)
	}
	if err := l.Move(t.Context(), 8, "new", func(r *positions.Record) (position.Resume, error) { return r.Resume(), nil }); err != nil {
		t.Fatal(err)
	}
	_, from, err := l.owner(t, 9)
	if err != nil || from.Offset != 100 || from.Sent != 2 {
		t.Errorf("goes on at %+v, %v", from, err)
	}
	if _, _, err := old.owner(t, 501); err == nil || !strings.Contains(err.Error(), "of another ZooKeeper") {
		t.Errorf("the old fleet claims again: %v", err)
	}
}

// TestLook shows what is committed, and claims nothing.
func TestLook(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"), kfake.AllowAutoTopicCreation())
	l := ledger(t, c, "zk", nil)
	options, err := l.config.Options()
	if err != nil {
		t.Fatal(err)
	}
	all, err := positions.Look(t.Context(), options, "test-positions")
	if err != nil || len(all) != 0 {
		t.Fatalf("without a topic: %v, %v", all, err)
	}
	if c.TopicInfo("test-positions") != nil {
		t.Fatal("the topic was made, as brokers make topics, and may lose its records")
	}
	p, _, err := l.owner(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []uint64{100, 200} {
		if err := deliver(t, p, parcelOf(offset, 0, "a")); err != nil {
			t.Fatal(err)
		}
		all, err := positions.Look(context.Background(), options, "test-positions")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := positions.Parse(all["shop"]); err != nil || r.Position.Offset != offset || r.Epoch != 5 || r.ZooKeeper != "zk" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
