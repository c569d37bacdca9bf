package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// ledger is one process's way to a destination.
func ledger(t *testing.T, c *kfake.Cluster, identity string, change func(*TransactionConfig)) *Transactions {
	t.Helper()
	config := DefaultConfig()
	config.Brokers = c.ListenAddrs()
	own := TransactionConfig{ID: "test-shop", Topic: "test-positions", Destination: "shop",
		MaxTime: DefaultTransactionTime, MaxRows: DefaultTransactionRows, MaxBytes: DefaultTransactionBytes}
	if identity != "" {
		own.Identity = func(context.Context) (string, error) { return identity, nil }
	}
	if change != nil {
		change(&own)
	}
	return NewTransactions(config, own, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

// owner claims a destination and begins; it is closed with the test.
func (t *Transactions) owner(tt *testing.T, epoch int64) (*Transactional, position.Resume, error) {
	tt.Helper()
	p, err := t.Producer()
	if err != nil {
		tt.Fatal(err)
	}
	tt.Cleanup(func() { _ = p.Close(context.Background()) })
	from, err := p.Claim(tt.Context(), epoch)
	if err != nil && !errors.Is(err, position.ErrNone) {
		return p, from, err
	}
	return p, from, p.Begin(tt.Context(), from)
}

func parcelOf(offset uint64, open uint64, values ...string) *message.Parcel {
	p := &message.Parcel{Rows: open, Count: len(values)}
	if offset > 0 {
		p.Resume = position.Position{File: "binlog.000001", Offset: offset, Time: time.Unix(1_790_000_000, 0).UTC()}
	}
	for _, v := range values {
		p.Messages = append(p.Messages, message.Message{Topic: "changes", Value: []byte(v)})
	}
	return p
}

// deliver sends parcels and returns what became of the last.
func deliver(t *testing.T, p *Transactional, parcels ...*message.Parcel) error {
	t.Helper()
	results := make(chan error, len(parcels))
	for _, parcel := range parcels {
		p.Send(t.Context(), parcel, func(err error) { results <- err })
	}
	var last error
	for range parcels {
		select {
		case last = <-results:
		case <-time.After(time.Minute):
			t.Fatal("a parcel is not settled")
		}
	}
	return last
}

// committed are the values that a read_committed reader has of a topic.
func committed(t *testing.T, c *kfake.Cluster, topic string, until string) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []string
	for ctx.Err() == nil {
		for it := cl.PollFetches(ctx).RecordIter(); !it.Done(); {
			all = append(all, string(it.Next().Value))
			if strings.Contains(all[len(all)-1], until) {
				return all
			}
		}
	}
	t.Fatalf("%s is not there: %q", until, all)
	return nil
}

// TestPositionGoesWithTheRecords: whoever claims next goes on behind what was
// committed, also inside a source transaction.
func TestPositionGoesWithTheRecords(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "zk", nil)
	p, from, err := l.owner(t, 5)
	if err != nil || !from.IsZero() {
		t.Fatalf("first claim: %+v, %v", from, err)
	}
	open := parcelOf(200, 2, "c", "d")
	open.Tx = []byte("0-1-7")
	if err := deliver(t, p, parcelOf(100, 0, "a", "b"), open); err != nil {
		t.Fatal(err)
	}
	_, from, err = l.owner(t, 6)
	want := position.Resume{Position: parcelOf(200, 0).Resume, Sent: 2, Tx: "0-1-7"}
	if err != nil || fmt.Sprint(from) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v, want %+v", from, err, want)
	}
	if got := committed(t, c, "changes", "d"); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("readers have %q", got)
	}
}

// TestFencedOwner: what an old owner sends after another one has claimed is not
// seen by readers, and its term may try again.
func TestFencedOwner(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	old, _, err := ledger(t, c, "zk", nil).owner(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, old, parcelOf(100, 0, "a")); err != nil {
		t.Fatal(err)
	}
	next, from, err := ledger(t, c, "zk", nil).owner(t, 6)
	if err != nil || from.Offset != 100 {
		t.Fatalf("claim: %+v, %v", from, err)
	}
	err = deliver(t, old, parcelOf(200, 0, "stale"))
	var a interface{ Again() bool }
	if !errors.As(err, &a) || !a.Again() {
		t.Errorf("the old owner got %v", err)
	}
	if err := deliver(t, next, parcelOf(200, 0, "b")); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, "changes", "b"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("readers have %q", got)
	}
}

// TestClaimIsRefused: to an epoch that was overtaken, under another ZooKeeper,
// and by a record of a newer format.
func TestClaimIsRefused(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	if _, _, err := ledger(t, c, "zk", nil).owner(t, 5); err != nil {
		t.Fatal(err)
	}
	for identity, want := range map[string]string{
		"zk":    "somebody else owns it",
		"other": "of another ZooKeeper (zk, here it is \"other\")",
		"":      "of another ZooKeeper",
	} {
		_, _, err := ledger(t, c, identity, nil).owner(t, 4)
		var a interface{ Again() bool }
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &a) {
			t.Errorf("%q: %v", identity, err)
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	cl.ProduceSync(t.Context(), &kgo.Record{Topic: "test-positions", Key: []byte("shop"), Value: []byte(`{"format":99}`)})
	if _, _, err := ledger(t, c, "zk", nil).owner(t, 9); err == nil || !strings.Contains(err.Error(), "written by a newer canal-relay") {
		t.Errorf("newer format: %v", err)
	}
}

// TestStaticOwnersFence: two processes without an election fence each other,
// and say so after a while.
func TestStaticOwnersFence(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	one, two := ledger(t, c, "", nil), ledger(t, c, "", nil)
	var err error
	for i := range uint64(3) {
		p, _, claim := one.owner(t, 0)
		if claim != nil {
			t.Fatal(claim)
		}
		if _, _, claim = two.owner(t, 0); claim != nil {
			t.Fatal(claim)
		}
		err = deliver(t, p, parcelOf(100+i, 0, "x"))
	}
	if err == nil || !strings.Contains(err.Error(), "another process uses this cluster and destination") {
		t.Errorf("got %v", err)
	}
}

// TestLargeTransactionIsCut: a source transaction beyond the limits is
// committed in parts, each with the number of its rows.
func TestLargeTransactionIsCut(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "", func(c *TransactionConfig) { c.MaxRows = 2 })
	p, _, err := l.owner(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, p, parcelOf(100, 0, "a")); err != nil {
		t.Fatal(err)
	}
	if err := deliver(t, p, parcelOf(0, 1, "1"), parcelOf(0, 2, "2"), parcelOf(0, 3, "3")); err != nil {
		t.Fatal(err)
	}
	_, from, err := l.owner(t, 0)
	if err != nil || from.Offset != 100 || from.Sent != 3 {
		t.Errorf("got %+v, %v", from, err)
	}
}

// TestMemoryIsNotHeldUntilTheCommit: what an open transaction has brought to
// Kafka is let go of, so that those who build go on.
func TestMemoryIsNotHeldUntilTheCommit(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	p, _, err := ledger(t, c, "", func(c *TransactionConfig) { c.MaxTime = MaxTransactionTime }).owner(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	landed, done := make(chan bool, 1), make(chan error, 1)
	open := parcelOf(100, 1, "a", "b") // the source has more of the transaction
	open.Landed = func() { landed <- true }
	p.Send(t.Context(), open, func(err error) { done <- err })
	select {
	case <-landed:
	case err := <-done:
		t.Errorf("committed (%v), and its memory was held until then", err)
	case <-time.After(time.Minute):
		t.Error("it did not land")
	}
}

// TestNewTopicsAreCommitted: the first records of a topic are committed like any
// others, also when a busy machine makes the client slow to note the topic.
func TestNewTopicsAreCommitted(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("changes-", i))
	}
	c := cluster(t, kfake.SeedTopics(1, names...))
	p, _, err := ledger(t, c, "", nil).owner(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		parcel := parcelOf(uint64(i+1), 0, name)
		parcel.Messages[0].Topic = name
		if err := deliver(t, p, parcel); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if got := committed(t, c, name, name); len(got) != 1 {
			t.Errorf("%s has %q", name, got)
		}
	}
}

// TestUnknownOutcome: a commit whose answer is an error is not acknowledged,
// and the next claim tells whether it was done.
func TestUnknownOutcome(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "zk", nil)
	p, _, err := l.owner(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, Err: kerr.UnknownServerError, Count: 1})
	err = deliver(t, p, parcelOf(100, 0, "a"))
	var a interface{ Again() bool }
	if !errors.As(err, &a) {
		t.Fatalf("got %v", err)
	}
	p, from, err := l.owner(t, 5)
	if err != nil || from.Offset != 0 {
		t.Fatalf("got %+v, %v", from, err)
	}
	if err := deliver(t, p, parcelOf(100, 0, "a"), parcelOf(101, 0, "end")); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, "changes", "end"); !slices.Equal(got, []string{"a", "end"}) {
		t.Errorf("readers have %q", got)
	}
}

// TestCommitWhoseAnswerIsLost: the broker commits, and the connection breaks before it says so. Readers have everything once,
// and whoever goes on knows.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	l := ledger(t, c, "zk", nil)
	p, _, err := l.owner(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	other, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var met atomic.Bool
	c.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if met.Swap(true) {
			return nil, nil, false
		}
		c.SleepControl(func() {
			same := *r.(*kmsg.EndTxnRequest)
			if answer, err := same.RequestWith(t.Context(), other); err != nil || answer.ErrorCode != 0 {
				t.Errorf("the commit itself: %+v, %v", answer, err)
			}
		})
		return nil, errDropped, true
	})
	err = deliver(t, p, parcelOf(100, 0, "a"))
	var a interface{ Again() bool }
	if err != nil && !errors.As(err, &a) {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	p, from, err := l.owner(t, 5)
	if err != nil || from.Offset != 100 {
		t.Fatalf("goes on at %+v, %v", from, err)
	}
	if err := deliver(t, p, parcelOf(101, 0, "end")); err != nil {
		t.Fatal(err)
	}
	if got := committed(t, c, "changes", "end"); !slices.Equal(got, []string{"a", "end"}) {
		t.Errorf("readers have %q", got)
	}
}

// TestCheckOfAnOldBroker: one that cannot tell transactions of a producer apart is warned of.
func TestCheckOfAnOldBroker(t *testing.T) {
	for name, tt := range map[string]struct {
		options []kfake.Opt
		warned  bool
	}{
		"new": {nil, false},
		"old": {[]kfake.Opt{kfake.MaxVersions(kversion.V3_9_0())}, true},
	} {
		c := cluster(t, append(tt.options, kfake.SeedTopics(1, "changes", "expiring"), kfake.SeedTopics(2, "wide"))...)
		if err := c.CreateTopic("test-positions", 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
			t.Fatal(err)
		}
		p, err := New(ledger(t, c, "", nil).config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close(context.Background()) })
		found := p.CheckTransactions(t.Context(), "test-positions")
		warned := len(found) == 1 && found[0].Warning && strings.Contains(found[0].Text, "transaction.version is 0")
		if warned != tt.warned || !tt.warned && len(found) > 0 {
			t.Errorf("%s: found %+v", name, found)
		}
		if found := p.CheckTransactions(t.Context(), "wide"); !slices.ContainsFunc(found, func(f Finding) bool { return !f.Warning && f.Topic == "wide" }) {
			t.Errorf("%s: of a topic with two partitions it finds %+v", name, found)
		}
		if found := p.CheckTransactions(t.Context(), "expiring"); !slices.ContainsFunc(found, func(f Finding) bool {
			return f.Warning && f.Topic == "expiring" && strings.Contains(f.Text, "retention.ms=")
		}) {
			t.Errorf("%s: of a topic that is not compacted it finds %+v", name, found)
		}
		if found := p.CheckTransactions(t.Context(), "none"); !slices.ContainsFunc(found, func(f Finding) bool { return f.Warning && f.Topic == "none" }) {
			t.Errorf("%s: of a missing topic it finds %+v", name, found)
		}
	}
}
