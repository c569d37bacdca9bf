package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/repeats"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

var (
	_ mqstarter.Producer = (*kafka.Producer)(nil)
	_ mqstarter.Limiter  = (*kafka.Producer)(nil)
	_ repeats.Scanner    = (*kafka.Producer)(nil)
)

// statements is a source of one DDL a batch, on the tables named, and then the
// end of the files.
type statements struct {
	mu     sync.Mutex
	tables []string
	id     uint64
}

func (s *statements) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (s *statements) Next(context.Context) (*event.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tables) == 0 {
		return nil, io.EOF
	}
	table := s.tables[0]
	s.tables = s.tables[1:]
	s.id++
	return &event.Batch{
		ID:      s.id,
		Changes: []event.Change{{Kind: event.Truncate, DDL: true, Schema: "shop", Table: table, SQL: "truncate " + table, Rows: 1}},
		Resume:  position.Position{File: fmt.Sprint(s.id), Offset: 4},
	}, nil
}

func (s *statements) Release(*event.Batch) {}

// cursor remembers the latest position saved.
type cursor struct{ file string }

func (c *cursor) Load(context.Context) (position.Saved, error) {
	return position.Saved{}, position.ErrNone
}

func (c *cursor) Skipped() {}

func (c *cursor) Save(_ context.Context, p position.Position) error {
	c.file = p.File
	return nil
}

// run runs a term over tables until they are all sent, or it fails. It returns
// the position saved.
func run(t *testing.T, c *kfake.Cluster, routes route.Config, window int, tables ...string) (saved string, err error) {
	t.Helper()
	config := mqstarter.DefaultConfig()
	config.Destination, config.Window, config.Builders = "shop", window, 1
	if config.Router, err = route.New(routes); err != nil {
		t.Fatal(err)
	}
	if err := config.Validate(); err != nil {
		t.Fatal(err)
	}
	kc := kafka.DefaultConfig()
	kc.Brokers = c.ListenAddrs()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cur := &cursor{}
	s := mqstarter.New(config, cur,
		func(position.Resume) (mqstarter.Source, error) { return &statements{tables: tables}, nil },
		func() (mqstarter.Producer, error) { return kafka.New(kc, log) }, nil, log)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err = s.Run(ctx, 7)
	return cur.file, err
}

func topics(t *testing.T, partitions int32, names ...string) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, names...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestTermSendsEverythingAndSaves(t *testing.T) {
	c := topics(t, 1, "changes")
	saved, err := run(t, c, route.Config{Topic: "changes"}, 64, slices.Repeat([]string{"orders"}, 300)...)
	if !errors.Is(err, io.EOF) || saved != "300" || c.PartitionInfo("changes", 0).HighWatermark != 300 {
		t.Errorf("got %v, saved %s, %d records; want io.EOF, 300, 300", err, saved, c.PartitionInfo("changes", 0).HighWatermark)
	}
}

// TestRefusalHoldsThePosition is the field case KD-03: what will never be written
// ends the term, and the position does not pass it; what may be written later is
// tried again, and nothing is lost.
func TestRefusalHoldsThePosition(t *testing.T) {
	routes := route.Config{Topic: "changes", DynamicTopic: "refused:shop.items"}
	for _, fault := range []*kerr.Error{kerr.PolicyViolation, kerr.InvalidRecord, kerr.TopicAuthorizationFailed} {
		t.Run(fault.Message, func(t *testing.T) {
			c := topics(t, 1, "changes", "refused")
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "refused", Err: fault, Count: -1})
			saved, err := run(t, c, routes, 1, "orders", "orders", "items", "orders", "orders")
			if !errors.Is(err, fault) || !strings.Contains(err.Error(), "shop.items") {
				t.Errorf("got %v, want the broker's refusal with the table", err)
			}
			if n := c.PartitionInfo("changes", 0).HighWatermark; saved != "2" || n != 2 {
				t.Errorf("saved %q, %d records; want what stands before the refused one, 2", saved, n)
			}
		})
	}
	for _, fault := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicas} {
		t.Run(fault.Message, func(t *testing.T) {
			c := topics(t, 1, "changes", "refused")
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "refused", Err: fault, Count: 3})
			saved, err := run(t, c, routes, 1, "orders", "orders", "items", "orders", "orders")
			if n, late := c.PartitionInfo("changes", 0).HighWatermark, c.PartitionInfo("refused", 0).HighWatermark; !errors.Is(err, io.EOF) || saved != "5" || n != 4 || late != 1 {
				t.Errorf("got %v, saved %q, %d and %d records; want all", err, saved, n, late)
			}
		})
	}
}

func TestMissingPartitionEndsTheTerm(t *testing.T) {
	c := topics(t, 2, "changes")
	saved, err := run(t, c, route.Config{Topic: "changes", Partition: 4}, 64, "orders")
	if err == nil || !strings.Contains(err.Error(), "topic changes has 2 partitions, partition 4 is wanted (table shop.orders)") {
		t.Errorf("got %v", err)
	}
	if saved != "" {
		t.Errorf("saved %s", saved)
	}
}
