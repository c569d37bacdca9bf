package mqstarter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// The producer is used as it is.
var (
	_ Producer = (*kafka.Producer)(nil)
	_ Limiter  = (*kafka.Producer)(nil)
)

// onKafka runs a term against a cluster until the source ends or it fails.
func onKafka(t *testing.T, brokers string, f *fixture) error {
	t.Helper()
	c := kafka.DefaultConfig()
	c.Brokers = strings.Split(brokers, ",")
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	dial := func() (Producer, error) { return kafka.New(c, log) }
	s := New(f.config, f.cursor, func(position.Resume) (Source, error) { return f.source, nil }, dial, nil, log)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return s.Run(ctx, 7)
}

func TestTermOnKafka(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var batches []*event.Batch
	for id := range uint64(300) {
		batches = append(batches, whole(id+1, fmt.Sprint(id+1)))
	}
	f := newFixture(t, batches...)
	f.source.broken <- io.EOF
	want(t, "result", onKafka(t, c.ListenAddrs()[0], f), io.EOF)
	want(t, "saved last", f.cursor.saved[len(f.cursor.saved)-1], "300")
	want(t, "records", c.PartitionInfo("changes", 0).HighWatermark, 300)
}

func TestRefusalOnKafkaHoldsThePosition(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "changes", "refused"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "refused", Err: kerr.PolicyViolation, Count: -1})
	f := newFixture(t)
	if f.config.Router, err = route.New(route.Config{Topic: "changes", DynamicTopic: "refused:shop.items"}); err != nil {
		t.Fatal(err)
	}
	f.config.Window, f.config.Builders = 1, 1
	for id := range uint64(5) {
		b := whole(id+1, fmt.Sprint(id+1))
		if id == 2 {
			b.Changes[0].Table = "items"
		}
		f.source.batches <- b
	}
	if err := onKafka(t, c.ListenAddrs()[0], f); !errors.Is(err, kerr.PolicyViolation) || !strings.Contains(err.Error(), "shop.items") {
		t.Errorf("result: %v", err)
	}
	want(t, "saved", f.cursor.list(), "2")
	want(t, "records", c.PartitionInfo("changes", 0).HighWatermark, 2)
}

func TestMissingPartitionEndsTheTerm(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f := newFixture(t, whole(1, "a"))
	if f.config.Router, err = route.New(route.Config{Topic: "changes", Partition: 4}); err != nil {
		t.Fatal(err)
	}
	if err := onKafka(t, c.ListenAddrs()[0], f); err == nil || !strings.Contains(err.Error(), "topic changes has 2 partitions, partition 4 is wanted (table shop.orders)") {
		t.Errorf("result: %v", err)
	}
	want(t, "saved", f.cursor.list(), "")
}

// BenchmarkKafka is a term on the local stack's broker: everything but reading
// the binlog.
func BenchmarkKafka(b *testing.B) {
	broker := os.Getenv("CANAL_RELAY_KAFKA")
	if broker == "" {
		b.Skip("no broker: CANAL_RELAY_KAFKA is not set")
	}
	for _, each := range []int{45, 1} {
		for _, compression := range []string{"none", "lz4"} {
			b.Run(fmt.Sprintf("rows=%d/%s", each, compression), func(b *testing.B) {
				c := kafka.DefaultConfig()
				c.Brokers, c.Compression = []string{broker}, compression
				benchmark(b, each, "", func() (Producer, error) { return kafka.New(c, slog.New(slog.DiscardHandler)) })
			})
		}
	}
}

// last tells when the last parcel is acknowledged.
type last struct {
	Producer
	left int
	all  chan struct{}
}

func (l *last) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	l.left--
	end := l.left == 0
	l.Producer.Send(ctx, p, func(err error) {
		if err != nil {
			panic(err)
		}
		done(nil)
		if end {
			close(l.all)
		}
	})
}
