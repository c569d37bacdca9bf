//go:build stack

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

var (
	soakFaults   = flag.Int("faults", 0, "how many faults TestStackFaults makes; 0 is a short fixed list, or as many as -soak allows")
	soakFor      = flag.Duration("soak", 0, "how long TestStackFaults makes faults")
	soakDelivery = flag.String("delivery", "at-least-once", "delivery mode of TestStackFaults")
	soakKinds    = flag.String("kinds", "", "the faults of TestStackFaults, in this order, at most one of them \"replace source\"; behind a name \" twice\" kills the node that takes over, \" at once\" does not wait until the fault before is behind; with -faults or -soak, what they are drawn from")
	soakServer   = flag.String("server", "", "server of TestStackFaults; empty for both")
)

// TestStackFaults: two nodes under at least 20,000 rows a second, most of them in transactions of several batches, while the
// owner is killed, paused beyond its session, stopped, and cut off from each server, at moments that a seed decides: many
// within such a transaction, some right after a take-over. Every change is in the topic, in order, and repeats begin where a
// transaction begins.
func TestStackFaults(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		if *soakServer != "" && *soakServer != server {
			continue
		}
		t.Run(server, func(t *testing.T) {
			s := newSoak(t, server)
			long := *soakFaults > 0 || *soakFor > 0
			ctx, cancel := context.WithCancel(t.Context())
			if !long {
				ctx, cancel = context.WithTimeout(t.Context(), 6*time.Minute)
			}
			defer cancel()
			s.run(ctx, long)
		})
	}
}

// soak is a world whose two nodes reach each server through a link.
type soak struct {
	*world
	rand  *rand.Rand
	slots [2]*slot
	load  *workload
	watch *watch
	done  []result

	front   *netLink // the writer's and the audit's way to the source
	replica *replica // takes the source's place on "replace source"; nil without that
}

// slot is one of the two places for a node.
type slot struct {
	node                    *local.Node
	paused                  bool
	zookeeper, kafka, mysql *netLink
}

// result is what came of a fault.
type result struct {
	kind         string
	gap          time.Duration // without a record; negative: that of the next fault in the list
	next         time.Duration // until the next owner's first record; 0 where the owner did not have to change
	inside, near bool          // a transaction of several batches; a take-over
}

func newSoak(t *testing.T, server string) *soak {
	t.Helper()
	n := *seed
	if n == 0 {
		n = 1
		if *soakFaults > 0 || *soakFor > 0 {
			n = rand.Uint64()
		}
	}
	t.Logf("seed %d", n)
	s := &soak{world: newWorld(t, server, map[string]string{"canal.relay.delivery": *soakDelivery}), rand: rand.New(rand.NewPCG(n, 1))}
	s.conf.Server["canal.relay.cluster"] = s.name
	addr, err := s.Server(server)
	s.must(err)
	if len(s.KafkaProxies) < len(s.slots) {
		t.Fatal("CANAL_RELAY_KAFKA_PROXIES names no listeners")
	}
	for i := range s.slots {
		s.slots[i] = &slot{zookeeper: newNetLink(t, "", s.ZooKeeper), mysql: newNetLink(t, "", addr), kafka: newNetLink(t, s.KafkaProxies[i][0], s.KafkaProxies[i][1])}
	}
	if strings.Contains(*soakKinds, "replace source") {
		s.exec(s.admin(), "DROP DATABASE IF EXISTS numbers") // of an earlier run: the replica has none
		w := *s.world                                        // the source as it is now
		s.replica = newReplica(t.Context(), &w, s.name, "numbers")
		s.front = newNetLink(t, "", addr)
		s.MySQL, s.MariaDB = s.front.addr(), s.front.addr()
	}
	s.load = &workload{w: s.world, rand: rand.New(rand.NewPCG(n, 2)), rate: 26_000}
	return s
}

// launch starts a node in a slot.
func (s *soak) launch(at *slot) {
	all := s.conf
	defer func() { s.conf = all }()
	server, keys := maps.Clone(all.Server), maps.Clone(all.Destinations[s.name])
	server["canal.zkServers"], server["kafka.bootstrap.servers"] = at.zookeeper.addr(), at.kafka.addr()
	keys["canal.instance.master.address"] = at.mysql.addr()
	s.conf = local.Conf{Server: server, Destinations: map[string]map[string]string{s.name: keys}}
	at.node, at.paused = s.start(), false
}

// active reports whether a slot's node owns the destination.
func (s *soak) active(ctx context.Context, at *slot) bool {
	if at.paused {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return at.node.Active(ctx, s.name)
}

// owner waits for one.
func (s *soak) owner(ctx context.Context) *slot {
	s.Helper()
	var owner *slot
	s.until(ctx, "an owner", func() bool {
		for _, at := range s.slots {
			if s.active(ctx, at) {
				owner = at
			}
		}
		return owner != nil
	})
	return owner
}

func (s *soak) other(than *slot) *slot {
	if s.slots[0] == than {
		return s.slots[1]
	}
	return s.slots[0]
}

func (s *soak) run(ctx context.Context, long bool) {
	s.load.prepare(func() {
		if s.replica != nil {
			s.replica.begin(ctx)
		}
	})
	for _, at := range s.slots {
		s.launch(at)
	}
	s.owner(ctx)
	s.watch = s.world.watch(ctx)
	var writer sync.WaitGroup
	enough := make(chan struct{})
	writer.Go(func() { s.load.run(enough) })
	stop := sync.OnceFunc(func() { close(enough); writer.Wait() })
	defer stop()
	began := time.Now()
	if long {
		for n := 0; (*soakFaults == 0 || n < *soakFaults) && (*soakFor == 0 || time.Since(began) < *soakFor); n = len(s.done) {
			s.random(ctx)
		}
	} else {
		for _, kind := range strings.Split(cmp.Or(*soakKinds, shortKinds), ",") {
			kind, near := strings.CutSuffix(kind, " twice")
			s.fault(ctx, kind, true, near)
		}
	}
	stop()
	rate := float64(s.load.rows.Load()) / time.Since(began).Seconds()
	conn := s.admin()
	s.exec(conn, "USE "+s.name, "CREATE TABLE finished (id INT PRIMARY KEY)")
	s.owner(ctx)
	audited := time.Now()
	changes, repeats := s.prove(ctx, conn)
	s.Logf("%d changes at %.0f a second, %d records sent twice; audited in %v", changes, rate, repeats, time.Since(audited).Round(time.Second))
	s.tell()
	if rate < 20_000 && long {
		s.Errorf("%.0f rows a second are too few", rate)
	}
}

// shortKinds is the list of CI.
const shortKinds = "SIGKILL twice,SIGSTOP,cut ZooKeeper,SIGTERM,cut Kafka,cut source"

// kinds of faults, by how many of a hundred there are.
var kinds = []struct {
	name  string
	share int
}{
	{"SIGKILL", 30}, {"SIGSTOP", 18}, {"cut ZooKeeper", 12}, {"cut Kafka", 10}, {"cut source", 10}, {"SIGTERM", 6},
	{"reset Kafka", 3}, {"reset source", 3}, {"reset ZooKeeper", 2}, {"restart ZooKeeper", 2}, {"restart Kafka", 2}, {"restart source", 2},
}

func (s *soak) random(ctx context.Context) {
	n, kind := s.rand.IntN(100), ""
	for _, k := range kinds {
		if kind = k.name; n < k.share {
			break
		}
		n -= k.share
	}
	if *soakKinds != "" {
		drawn := strings.Split(*soakKinds, ",")
		kind = drawn[s.rand.IntN(len(drawn))]
	}
	s.fault(ctx, kind, s.rand.IntN(100) < 60, s.rand.IntN(100) < 25)
}

// fault makes one, waits until all is well again, and notes what came of it. With inside it waits for a transaction of
// several batches. With near, the node that takes over is killed within 200 ms of that.
func (s *soak) fault(ctx context.Context, kind string, inside, near bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	owner := s.owner(ctx)
	kind, atOnce := strings.CutSuffix(kind, " at once")
	if before := s.watch.now().records; !atOnce {
		s.until(ctx, "records", func() bool { return s.watch.now().records > before+100 })
		time.Sleep(s.upTo(500 * time.Millisecond))
	}
	if inside && !atOnce {
		s.until(ctx, "a large transaction", func() bool { n := s.watch.now(); return n.inside() && n.row < n.size*2/3 })
	}
	s.watch.begin()
	made, last := time.Now(), s.watch.now()
	done := result{kind: kind, inside: last.inside()}
	mend := s.disturb(ctx, kind, owner)
	if kind == "SIGKILL" || kind == "SIGSTOP" {
		time.Sleep(300 * time.Millisecond) // no other node can be at work yet
		done.inside = s.watch.now().inside()
	}
	if kind == "SIGKILL" || kind == "SIGSTOP" || kind == "cut ZooKeeper" {
		if kind == "cut ZooKeeper" { // it works on for a while
			s.until(ctx, "take-over after "+kind, func() bool { return s.active(ctx, s.other(owner)) })
		}
		if next := s.owner(ctx); near {
			s.again(ctx, next)
			done.kind += ", twice" // two sessions end, one after the other
		}
	}
	mend()
	if kind == "SIGKILL" || kind == "SIGSTOP" || kind == "SIGTERM" {
		s.until(ctx, "the next owner's records", func() bool { return s.watch.now().epoch != last.epoch })
		done.next = s.watch.now().since.Sub(made)
	}
	s.settled(ctx)
	done.gap = s.watch.longest().length
	if atOnce {
		done.kind += " at once"
	}
	if n := len(s.done); n > 0 && kind == "SIGTERM" && strings.HasPrefix(s.done[n-1].kind, "restart") {
		done.kind += ", " + s.done[n-1].kind // which is still connected to anew, or slow
	}
	s.done = append(s.done, done)
	after := ""
	if done.next > 0 {
		after = fmt.Sprintf("; the next owner's after %v", done.next.Round(time.Millisecond))
	}
	s.Logf("fault %d: %s: %v without a record%s; inside %v", len(s.done), done.kind, done.gap.Round(time.Millisecond), after, done.inside)
}

// again kills the node that has just taken over.
func (s *soak) again(ctx context.Context, next *slot) {
	time.Sleep(s.upTo(150 * time.Millisecond))
	s.kill(next)
	time.Sleep(300 * time.Millisecond)
	s.done = append(s.done, result{kind: "SIGKILL again", near: true, inside: s.watch.now().inside(), gap: -1})
	s.Logf("fault %d: SIGKILL again, right after the take-over; inside %v", len(s.done), s.done[len(s.done)-1].inside)
	s.owner(ctx)
}

// upTo is a random time.
func (s *soak) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

// settled waits until there is an owner and records flow.
func (s *soak) settled(ctx context.Context) {
	s.owner(ctx)
	before := s.watch.now().records
	s.until(ctx, "records after the fault", func() bool { return s.watch.now().records > before+20 })
}

// kill kills a node and starts another one in its place.
func (s *soak) kill(at *slot) {
	_ = at.node.Stop(syscall.SIGKILL, 30*time.Second)
	s.launch(at)
}

// disturb makes a fault, and returns what ends it.
func (s *soak) disturb(ctx context.Context, kind string, owner *slot) (mend func()) {
	what, of, _ := strings.Cut(kind, " ")
	link := map[string]*netLink{"ZooKeeper": owner.zookeeper, "Kafka": owner.kafka, "source": owner.mysql}[of]
	switch what {
	case "SIGKILL":
		s.kill(owner)
	case "SIGTERM":
		if err := owner.node.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
			s.Errorf("SIGTERM: %v", err)
		}
		s.launch(owner)
	case "SIGSTOP":
		s.must(owner.node.Signal(syscall.SIGSTOP))
		owner.paused = true
		return func() {
			time.Sleep(s.upTo(time.Second))
			s.must(owner.node.Signal(syscall.SIGCONT))
			owner.paused = false
			s.standsBy(ctx, owner)
		}
	case "cut":
		link.hold()
		if of == "ZooKeeper" {
			return func() {
				time.Sleep(s.upTo(time.Second))
				link.mend()
				s.standsBy(ctx, owner)
			}
		}
		time.Sleep(time.Second + s.upTo(3*time.Second))
		link.mend()
	case "reset":
		link.reset()
	case "replace":
		s.replaceSource(ctx)
	case "restart":
		s.servers("restart", map[string]string{"ZooKeeper": "zookeeper", "Kafka": "kafka", "source": s.server}[of])
	}
	return func() {}
}

// standsBy waits until a node that lost the destination knows it, or is gone.
func (s *soak) standsBy(ctx context.Context, at *slot) {
	gone := false
	s.until(ctx, "the old owner on standby", func() bool {
		select {
		case <-at.node.Done():
			gone = true
			return true
		default:
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		state := s.state(ctx, at.node, s.name).State
		return state == "standby" || state == "active" && !s.active(ctx, s.other(at))
	})
	if gone {
		s.Logf("the old owner %s has ended by itself", at.node.Address)
		s.launch(at)
	}
}

// tell shows how long the stream stood still, and whether the faults were as hard as they should be.
func (s *soak) tell() {
	inside, near := 0, 0
	gaps := map[string][]time.Duration{}
	for _, r := range s.done {
		if r.gap >= 0 {
			gaps[r.kind] = append(gaps[r.kind], r.gap)
			gaps["all"] = append(gaps["all"], r.gap)
		}
		if what := r.kind + ", next owner"; strings.HasPrefix(what, "SIGTERM") {
			gaps[what] = append(gaps[what], r.next)
		}
		if r.inside {
			inside++
		}
		if r.near {
			near++
		}
	}
	s.Log("without a record, and until the next owner's first one:")
	for _, kind := range slices.Sorted(maps.Keys(gaps)) {
		g := gaps[kind]
		slices.Sort(g)
		at := func(part int) time.Duration { return g[(len(g)-1)*part/100].Round(time.Millisecond) }
		s.Logf("%-28s %3d faults: median %v, 90 %% %v, longest %v", kind, len(g), at(50), at(90), at(100))
	}
	n := len(s.done)
	s.Logf("%d faults, %d inside a transaction of several batches, %d within 200 ms of a take-over", n, inside, near)
	if n >= 50 && (inside*100 < 30*n || near*100 < 10*n) {
		s.Error(fmt.Sprint("too few faults at the hard moments; seed ", *seed))
	}
}
