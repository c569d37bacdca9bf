package zookeeper_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/ha/zookeeper/zktest"
)

// many runs a monitor for each of n destinations, and returns what ends them.
func many(t *testing.T, client *zookeeper.Client, n int, run func(i int) ha.Starter) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		name := fmt.Sprintf("d%04d", i)
		m := ha.NewMonitor(name, client.Elector(name, zookeeper.DefaultElectorConfig()), run(i), ha.DefaultConfig(), quiet(t))
		all.Go(func() {
			if err := m.Run(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// starterFunc is a term.
type starterFunc func(ctx context.Context, epoch int64) error

func (f starterFunc) Run(ctx context.Context, epoch int64) error { return f(ctx, epoch) }

// 1,000 destinations on one node, of which ten take a minute to start: the
// others are at work at once, and hear of what concerns them.
func TestSlowActivationDelaysNobody(t *testing.T) {
	const slow, all = 10, 1000
	bubble(t, func(t *testing.T, s *zktest.Server) {
		client, stopClient := startClient(t, config(s, "a:1"))
		var at, released [all]time.Duration
		began := time.Now()
		stop := many(t, client, all, func(i int) ha.Starter {
			return starterFunc(func(ctx context.Context, _ int64) error {
				if i < slow {
					time.Sleep(time.Minute) // deaf to everything, as a server that does not answer
				}
				if at[i] == 0 {
					at[i] = time.Since(began)
				}
				<-ctx.Done()
				if released[i] == 0 {
					released[i] = time.Since(began)
				}
				return nil
			})
		})
		settle(2 * time.Second)
		for i := slow; i < all; i++ {
			if at[i] == 0 || at[i] > time.Second {
				t.Fatalf("destination %d started after %v", i, at[i])
			}
		}
		s.Put("/otter/canal/destinations/d0999/running", []byte(`{"active":false,"address":"a:1"}`))
		settle(time.Second)
		if released[999] == 0 {
			t.Error("a request to let go did not arrive while other destinations start")
		}
		settle(2 * time.Minute)
		for i := range slow {
			if at[i] < time.Minute || at[i] > 62*time.Second {
				t.Errorf("slow destination %d started after %v", i, at[i])
			}
		}
		stop()
		stopClient()
	})
}

// The session of 200 destinations is gone at once, by the clock or by word of
// the server: every term is told within the grace that is reckoned with, and
// has the exit limit to stop.
func TestManyDestinationsLoseTheSessionAtOnce(t *testing.T) {
	const all = 200
	for name, lose := range map[string]func(*zktest.Server, int64){
		"expired": (*zktest.Server).Expire,
		"silent":  (*zktest.Server).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *zktest.Server) {
				c := config(s, "a:1")
				cut := unreachable(&c)
				client, stopClient := startClient(t, c)
				var running, told atomic.Int32
				var latest atomic.Int64
				began := time.Now()
				stop := many(t, client, all, func(int) ha.Starter {
					return starterFunc(func(ctx context.Context, _ int64) error {
						running.Add(1)
						defer running.Add(-1)
						<-ctx.Done()
						told.Add(1)
						latest.Store(int64(time.Since(began)))
						time.Sleep(ha.DefaultConfig().ExitTimeout * 9 / 10)
						return nil
					})
				})
				settle(3 * time.Second)
				if running.Load() != all {
					t.Fatalf("%d destinations run", running.Load())
				}
				n, _ := s.Get("/otter/canal/destinations/d0000/running")
				lost := time.Since(began)
				cut.Store(true)
				lose(s, n.Owner)
				settle(5900 * time.Millisecond) // the server would let another node in at 6 s
				if running.Load() != 0 || told.Load() != all {
					t.Errorf("%d terms were told, %d still run", told.Load(), running.Load())
				}
				if d := time.Duration(latest.Load()) - lost; d > 4*time.Second+ha.DefaultConfig().Grace {
					t.Errorf("the last term was told %v after the loss", d)
				}
				cut.Store(false)
				settle(20 * time.Second)
				if running.Load() != all {
					t.Errorf("%d destinations run when ZooKeeper is back", running.Load())
				}
				stop()
				stopClient()
			})
		})
	}
}

// The link is silent for longer than the lease and comes back in the same
// session. The running nodes of before are to be removed then; those that are
// made in their place meanwhile are not.
func TestRunningNodesMadeAnewStay(t *testing.T) {
	const all = 100
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := config(s, "a:1")
		cut := unreachable(&c)
		client, stopClient := startClient(t, c)
		var running atomic.Int32
		var terms [all]atomic.Int32
		stop := many(t, client, all, func(i int) ha.Starter {
			return starterFunc(func(ctx context.Context, _ int64) error {
				running.Add(1)
				defer running.Add(-1)
				terms[i].Add(1)
				<-ctx.Done()
				return nil
			})
		})
		settle(3 * time.Second)
		n, _ := s.Get("/otter/canal/destinations/d0000/running")
		cut.Store(true)
		s.Pause(n.Owner)
		for running.Load() > 0 {
			settle(10 * time.Millisecond)
		}
		s.Delay(5 * time.Millisecond)
		cut.Store(false)
		settle(20 * time.Second)
		after, _ := s.Get("/otter/canal/destinations/d0000/running")
		if after.Owner != n.Owner {
			t.Fatalf("the session of %+v ended: the test is void", n)
		}
		for i := range all {
			if n := terms[i].Load(); n != 2 {
				t.Errorf("destination %d had %d terms, want one before and one after the silence", i, n)
			}
		}
		s.Delay(0)
		stop()
		stopClient()
	})
}
