//go:build !race

package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// timed is a starter that notes when its term ended.
type timed struct {
	ha.Starter
	mu    sync.Mutex
	runs  int
	ended time.Time
}

func (s *timed) Run(ctx context.Context, epoch int64) error {
	err := s.Starter.Run(ctx, epoch)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs, s.ended = s.runs+1, time.Now()
	return err
}

// TestManyDestinationsLoseTheSessionAtOnce: all of them stop within the exit
// limit, although Kafka does not answer any more either.
func TestManyDestinationsLoseTheSessionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { loseMany(t, 200) })
}

func loseMany(t *testing.T, n int) {
	zk, network, log := zktest.New(), &kfake.VirtualNetwork{}, slog.New(slog.DiscardHandler)
	defer zk.Close()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(9092), kfake.ListenFn(network.Listen), kfake.SeedTopics(3, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	toZooKeeper := newCable("zookeeper", "a", 1, nil, func(ctx context.Context) (net.Conn, error) { return zk.Dial(ctx, "", "") })
	toKafka := newCable("kafka", "a", 2, nil, func(ctx context.Context) (net.Conn, error) {
		return network.DialContext(ctx, "tcp", "localhost:9092")
	})
	z := zookeeper.DefaultConfig()
	z.Servers, z.ID, z.Dial = "zk:2181", "10.0.0.1:11111", toZooKeeper.dial
	client := zookeeper.New(z, log)
	h, err := newHistory(rand.New(rand.NewPCG(1, 1)), 50, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	router, err := route.New(route.Config{Topic: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	style, err := event.NewStyle(nil, false, "")
	if err != nil {
		t.Fatal(err)
	}
	limits := ha.DefaultConfig()
	session, endSession := context.WithCancel(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	var around, monitors sync.WaitGroup
	around.Go(func() { _ = client.Run(session) })
	starters := make([]*timed, n)
	for i := range starters {
		d := fmt.Sprint("d", i)
		c := mqstarter.DefaultConfig()
		c.Destination, c.Router, c.Message = d, router, message.Config{Style: style}
		k := kafka.DefaultConfig()
		k.Brokers, k.Dial, k.Allowed = []string{"localhost:9092"}, toKafka.dial, func() bool { return client.Holds(d) }
		starters[i] = &timed{Starter: mqstarter.New(c, client.Cursor(d, zookeeper.CursorConfig{}),
			func(from position.Resume) (mqstarter.Source, error) { return h.from(from), nil },
			func() (mqstarter.Producer, error) { return kafka.New(k, log) }, nil, log)}
		m := ha.NewMonitor(d, client.Elector(d, zookeeper.DefaultElectorConfig()), starters[i], limits, log)
		monitors.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		})
	}
	time.Sleep(10 * time.Second)
	for i := range starters {
		if !client.Holds(fmt.Sprint("d", i)) {
			t.Fatalf("destination %d is not owned after ten seconds", i)
		}
	}
	toZooKeeper.change(func() { toZooKeeper.frozen = [2]bool{true, true} })
	toKafka.change(func() { toKafka.frozen = [2]bool{true, true} })
	for client.Holds("d0") {
		time.Sleep(time.Millisecond)
	}
	over := time.Now()
	time.Sleep(limits.ExitTimeout)
	synctest.Wait()
	var last time.Duration
	for i, s := range starters {
		s.mu.Lock()
		if s.runs != 1 {
			t.Errorf("destination %d: %d terms have ended when the exit limit was over, want 1", i, s.runs)
		}
		last = max(last, s.ended.Sub(over))
		s.mu.Unlock()
	}
	t.Logf("%d terms ended within %v of the lease's end", n, last)
	toZooKeeper.heal()
	toKafka.heal()
	stop()
	monitors.Wait()
	endSession()
	around.Wait()
	toZooKeeper.kill()
	toKafka.kill()
}
