package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

const source = "6be1439e-ecaa-11f1-aa2a-02fc00000001"

// replay is a source of one statement a transaction and batch, from one to
// another: number n stands at offset 100 n.
type replay struct{ next, until int }

func (s *replay) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (s *replay) End(context.Context) (position.Position, error) { return placed(1_000), nil }

func (s *replay) Next(context.Context) (*event.Batch, error) {
	if s.next >= s.until {
		return nil, io.EOF
	}
	n := s.next
	s.next++
	return &event.Batch{
		ID: uint64(n + 1),
		Changes: []event.Change{{Kind: event.Truncate, DDL: true, Schema: "shop", Table: fmt.Sprintf("t%d", n%5), SQL: fmt.Sprint("truncate ", n), Rows: 1,
			Tx: fmt.Appendf(nil, "binlog.000001:%d@%s", 100*n, source)}},
		Resume: placed(n + 1),
	}, nil
}

func (s *replay) Release(*event.Batch) {}

func placed(n int) position.Position {
	return position.Position{File: "binlog.000001", Offset: uint64(100 * n), ServerUUID: source}
}

// kept is a cursor of one position.
type kept struct{ saved position.Saved }

func (c *kept) Load(context.Context) (position.Saved, error) { return c.saved, nil }

func (c *kept) Skipped() {}

func (c *kept) Save(context.Context, position.Position) error { return nil }

// replayTerm runs a term whose cursor stands before one statement, until another one.
func replayTerm(t *testing.T, c *kfake.Cluster, epoch int64, from, until int, change func(*mqstarter.Config, *position.Saved)) (log string) {
	t.Helper()
	return replayBy(t, c, epoch, from, until, "", change)
}

// replayBy is replayTerm, exactly once if there is a position topic.
func replayBy(t *testing.T, c *kfake.Cluster, epoch int64, from, until int, positions string, change func(*mqstarter.Config, *position.Saved)) (log string) {
	t.Helper()
	var err error
	config := mqstarter.DefaultConfig()
	config.Destination, config.Builders, config.Routing = "shop", 1, "r1"
	if config.Router, err = route.New(route.Config{Topic: "changes", DynamicTopic: "one:shop\\.t1,two:shop\\.t2"}); err != nil {
		t.Fatal(err)
	}
	cur := &kept{position.Saved{Position: placed(from), Routing: "r1", Since: 1}}
	if change != nil {
		change(&config, &cur.saved)
	}
	kc := kafka.DefaultConfig()
	kc.Brokers, kc.TailTimeout = c.ListenAddrs(), time.Minute // what is found does not depend on the machine
	var b bytes.Buffer
	l := slog.New(slog.NewTextHandler(&b, nil))
	s := mqstarter.New(config, cur,
		func(from position.Resume) (mqstarter.Source, error) {
			return &replay{int(from.Offset / 100), until}, nil
		},
		func() (mqstarter.Producer, error) {
			if positions == "" {
				return kafka.New(kc, l)
			}
			own := kafka.TransactionConfig{ID: "t-shop", Topic: positions, Destination: "shop", Routing: "r1",
				MaxTime: kafka.DefaultTransactionTime, MaxRows: 7, MaxBytes: kafka.DefaultTransactionBytes}
			return kafka.NewTransactions(kc, own, l).Producer()
		}, nil, l)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Run(ctx, epoch); !errors.Is(err, io.EOF) {
		t.Fatalf("term: %v\n%s", err, b.String())
	}
	return b.String()
}

// numbers are the statements in a topic.
func numbers(t *testing.T, c *kfake.Cluster, topic string) (all []int) {
	t.Helper()
	n := c.PartitionInfo(topic, 0).HighWatermark
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.KeepControlRecords(), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for next := int64(0); next < n && ctx.Err() == nil; {
		for it := cl.PollFetches(ctx).RecordIter(); !it.Done(); {
			r := it.Next()
			next = r.Offset + 1
			if r.Attrs.IsControl() {
				continue
			}
			var i int
			if _, err := fmt.Sscanf(string(r.Value[bytes.Index(r.Value, []byte("truncate ")):]), "truncate %d", &i); err != nil {
				t.Fatal(err)
			}
			all = append(all, i)
		}
	}
	return all
}

// TestRestartRepeatsNothing: terms that ended without saving a position, or
// with one far behind, are followed by one that sends only what is not there;
// each topic has got to another place.
func TestRestartRepeatsNothing(t *testing.T) {
	c := topics(t, 1, "changes", "one", "two")
	replayTerm(t, c, 2, 0, 40, nil)
	log := replayTerm(t, c, 3, 7, 55, nil)
	replayTerm(t, c, 3, 55, 56, nil)
	replayTerm(t, c, 4, 0, 100, nil)
	for topic, ours := range map[string]func(int) bool{
		"one": func(n int) bool { return n%5 == 1 }, "two": func(n int) bool { return n%5 == 2 },
		"changes": func(n int) bool { return n%5 != 1 && n%5 != 2 },
	} {
		var want []int
		for n := range 100 {
			if ours(n) {
				want = append(want, n)
			}
		}
		if got := numbers(t, c, topic); !slices.Equal(got, want) {
			t.Errorf("%s: %v", topic, got)
		}
	}
	if n := strings.Count(log, "taking them out"); n != 3 {
		t.Errorf("%d places were said to be cut, want 3:\n%s", n, log)
	}
}

// TestRestartWithoutTheRecord: where the record of what readers have is gone, with its topic or from it, or was never written, the
// cursor, which is behind, decides: what readers have is found in the topics and not sent again.
func TestRestartWithoutTheRecord(t *testing.T) {
	const gone = "the record of what readers have is gone"
	once := func(_ *mqstarter.Config, s *position.Saved) { s.Delivery = position.ExactlyOnce }
	c := topics(t, 1, "changes", "one", "two", "positions", "others")
	replayTerm(t, c, 2, 0, 20, nil) // at least once until here
	if log := replayBy(t, c, 3, 10, 40, "positions", nil); strings.Contains(log, gone) {
		t.Errorf("at the first term with it:\n%s", log)
	}
	if log := replayBy(t, c, 4, 30, 60, "positions", once); strings.Contains(log, gone) || strings.Contains(log, "taking them out") {
		t.Errorf("with the record:\n%s", log)
	}
	if log := replayBy(t, c, 5, 42, 80, "others", once); strings.Count(log, gone) != 1 {
		t.Errorf("without it:\n%s", log)
	}
	var want []int
	for n := 1; n < 80; n += 5 {
		want = append(want, n)
	}
	if got := numbers(t, c, "one"); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestRestartRepeatsWhatIsAskedFor: where it cannot be told what readers have,
// or an operator wants it again, everything is sent, which is said once.
func TestRestartRepeatsWhatIsAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mqstarter.Config, *position.Saved)
		said   string
	}{
		"routing changed": {func(_ *mqstarter.Config, s *position.Saved) { s.Routing = "r0" }, "settings that decide what is sent where have changed"},
		"partitions from the topic": {func(c *mqstarter.Config, _ *position.Saved) {
			c.Router, _ = route.New(route.Config{Topic: "changes", DynamicTopic: "one:shop\\.t1,two:shop\\.t2", PartitionHash: ".*:id", FromTopic: true})
		}, "partitions that topics have now"},
		"headers off":               {func(c *mqstarter.Config, _ *position.Saved) { c.Headers = false }, "headers are off"},
		"written by somebody else":  {func(_ *mqstarter.Config, s *position.Saved) { s.Foreign, s.Routing = true, "" }, "set by somebody else"},
		"moved a few terms earlier": {func(_ *mqstarter.Config, s *position.Saved) { s.Since = 3 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := topics(t, 1, "changes", "one", "two")
			replayTerm(t, c, 2, 0, 20, nil)
			log := replayTerm(t, c, 3, 10, 20, tt.change)
			if got := numbers(t, c, "one"); !slices.Equal(got, []int{1, 6, 11, 16, 11, 16}) {
				t.Errorf("got %v", got)
			}
			if tt.said != "" && strings.Count(log, tt.said) != 1 {
				t.Errorf("want it said once: %q\n%s", tt.said, log)
			}
		})
	}
}
