package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

const (
	destination = "example"
	below       = "/otter/canal/destinations/" + destination
	runningAt   = below + "/running"
	cursorAt    = below + "/1001/cursor"

	session = 6 * time.Second
	window  = 16 // batches of a term between the source and the stored position
	// stale is how long a request must have been under way to reach Kafka
	// after another node was elected: what is left of the session when the
	// lease ends.
	stale = session / 3
)

// partitions of each topic.
var partitions = map[string]int32{"orders": 3, "items": 1}

// world is everything of one seed.
type world struct {
	seed  uint64
	plant *plant // a bug; nil for none
	r     *rand.Rand
	log   *slog.Logger
	start time.Time

	zk      *zktest.Server
	kafka   *kfake.Cluster
	network *kfake.VirtualNetwork
	history *history
	router  *route.Router
	style   event.Style
	scans   bool // owners look for what a former one has sent
	once    bool // exactly-once
	cut     int  // rows of a Kafka transaction then, at most
	nodes   []*node
	all     sync.WaitGroup // processes, also those that were killed

	mu         sync.Mutex
	running    owner
	owners     int              // running nodes so far
	aliases    map[int64]string // sessions of planted clients, by node
	terms      map[int64]*process
	saved      []save
	began      map[int64]int // terms of each ownership
	violations []string
	stales     int           // requests that were under way when another node took over
	reached    int           // the first transaction that the latest term has to send
	recovery   time.Duration // from the end of the faults until everything was sent
}

// owner is the running node.
type owner struct {
	epoch   int64 // 0 when there is none
	session int64
	address string
}

// save is one write of the cursor.
type save struct {
	next  int              // the first transaction behind it
	ends  map[string]int64 // of partitions then
	since time.Duration
}

func newWorld(t testing.TB, seed uint64, p *plant, log io.Writer) *world {
	w := &world{
		seed: seed, plant: p, r: rand.New(rand.NewPCG(seed, 0)), start: time.Now(),
		aliases: map[int64]string{}, terms: map[int64]*process{}, began: map[int64]int{},
		network: &kfake.VirtualNetwork{}, zk: zktest.New(),
	}
	w.log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: w.since}))
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(9092), kfake.ListenFn(w.network.Listen)}
	for topic, n := range partitions {
		options = append(options, kfake.SeedTopics(n, topic))
	}
	var err error
	if w.kafka, err = kfake.NewCluster(options...); err != nil {
		t.Fatal(err)
	}
	if w.history, err = newHistory(w.r, 150+w.r.IntN(200), 40*time.Second); err != nil {
		t.Fatal(err)
	}
	c := route.DefaultConfig()
	n := partitions["orders"]
	c.DynamicTopic, c.PartitionHash, c.PartitionsNum = "orders:shop\\.orders;items:shop\\.items", "shop\\.orders:$pk$", &n
	if w.router, err = route.New(c); err != nil {
		t.Fatal(err)
	}
	if w.style, err = event.NewStyle(nil, false, ""); err != nil {
		t.Fatal(err)
	}
	w.scans = w.r.IntN(2) == 0
	w.once, w.cut = w.r.IntN(2) == 0, []int{kafka.DefaultTransactionRows, 8, 3}[w.r.IntN(3)]
	if p != nil {
		w.once = p.once
	}
	w.zk.Observe(w.observe)
	for i := range 2 + w.r.IntN(2) {
		w.nodes = append(w.nodes, &node{world: w, address: fmt.Sprintf("10.0.0.%d:11111", i+1)})
	}
	return w
}

// since shows virtual time from the beginning.
func (w *world) since(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Duration("at", a.Value.Time().Sub(w.start))
	}
	return a
}

// violated notes that a promise was broken.
func (w *world) violated(format string, args ...any) {
	text := fmt.Sprintf("%v: %s", time.Since(w.start), fmt.Sprintf(format, args...))
	w.log.Error("BROKEN " + text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, text)
}

func (w *world) broken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.violations...)
}

// observe follows the tree.
func (w *world) observe(c zktest.Change) {
	switch c.Path {
	case runningAt:
		w.owned(c)
	case cursorAt:
		w.wroteCursor(c)
	default:
		if address, ok := alias(c.Path); ok && !c.Deleted {
			w.mu.Lock()
			w.aliases[c.Session] = address
			w.mu.Unlock()
		}
	}
}

// owned notes the owner. Everything of a term must have ended before.
func (w *world) owned(c zktest.Change) {
	w.mu.Lock()
	was := w.running
	if c.Deleted {
		w.running = owner{}
	} else {
		var r struct{ Address string }
		_ = json.Unmarshal(c.Node.Data, &r)
		w.running = owner{epoch: c.Node.Czxid, session: c.Node.Owner, address: r.Address}
		if was.epoch != c.Node.Czxid {
			w.owners++
		}
	}
	now, p := w.running, w.terms[was.epoch]
	w.mu.Unlock()
	w.log.Debug("OWNER", "address", now.address, "epoch", now.epoch)
	if p != nil && c.Deleted && !p.excused() {
		w.violated("the running node of epoch %d went while its term still ran", was.epoch)
	}
}

// wroteCursor notes a stored position, and what Kafka has at that moment. Only
// the owner may store one.
func (w *world) wroteCursor(c zktest.Change) {
	p, err := position.ParseCanal(c.Node.Data)
	if err != nil {
		w.violated("the cursor cannot be read: %v", err)
		return
	}
	s := save{next: next(p), ends: map[string]int64{}, since: time.Since(w.start)}
	for topic, n := range partitions {
		for i := range n {
			s.ends[name(topic, i)] = w.kafka.PartitionInfo(topic, i).LastStableOffset
		}
	}
	w.mu.Lock()
	w.saved = append(w.saved, s)
	o, by := w.running, w.aliases[c.Session]
	before := 0
	if n := len(w.saved); n > 1 {
		before = w.saved[n-2].next
	}
	w.mu.Unlock()
	w.log.Debug("CURSOR", "next", s.next)
	if o.session != c.Session && (by == "" || by != o.address) {
		w.violated("the cursor was moved to transaction %d by a session that does not own the destination (%s does)", s.next, o.address)
	}
	if s.next < before {
		w.violated("the cursor was moved back from transaction %d to %d", before, s.next)
	}
}

func name(topic string, partition int32) string { return fmt.Sprintf("%s/%d", topic, partition) }

// wrote is told when a node sends records.
func (w *world) wrote(epochs []int64) {
	if w.plant != nil && w.plant.readers {
		return
	}
	w.mu.Lock()
	o := w.running
	w.mu.Unlock()
	for _, e := range epochs {
		if e != o.epoch {
			w.violated("records of epoch %d were sent when the owner's was %d", e, o.epoch)
		}
	}
}

// arrived is told when records reach Kafka. Those that were under way for long
// may be another owner's than the present one: that is what a paused process or
// a slow network does, and only exactly-once is proof against it, where the next
// owner does not wait either. A node that takes back what it has lost does not
// wait for its own, but has another epoch.
func (w *world) arrived(node string, epochs []int64, written time.Time) {
	w.mu.Lock()
	o := w.running
	w.mu.Unlock()
	for _, e := range epochs {
		if e == o.epoch || o.epoch == 0 {
			continue
		}
		if d := time.Since(written); d < stale && node != o.address && !w.once {
			w.violated("records of epoch %d arrived after only %v, when the owner's was %d", e, d, o.epoch)
		}
		w.mu.Lock()
		w.stales++
		w.mu.Unlock()
	}
}

// node is an address at which one process at a time runs.
type node struct {
	world   *world
	address string
	starts  uint64
	process *process // nil while none runs
	due     time.Time
}

// process is one run of canal-relay.
type process struct {
	node      *node
	zk, kafka *cable
	client    *zookeeper.Client
	elector   *zookeeper.Elector
	monitor   *ha.Monitor
	starter   ha.Starter
	raw       *zookeeper.Client // of a plant that needs it: a client that knows no leases
	stop      context.CancelCauseFunc
	ended     chan struct{} // closed when all of it has ended

	mu     sync.Mutex
	killed bool
	paused chan struct{} // closed at the end of a pause; nil if there is none
	pauses int
}

// excused says that a process cannot do in time what it should.
func (p *process) excused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed || p.pauses > 0
}

// start starts a process on a node.
func (n *node) start() error {
	w := n.world
	n.starts++
	log := w.log.With("node", n.address, "run", n.starts)
	seed := mix(w.seed ^ mix(n.starts<<8|uint64(n.address[7])))
	p := &process{node: n, ended: make(chan struct{})}
	p.zk = newCable("zookeeper", n.address, seed, nil, func(ctx context.Context) (net.Conn, error) { return w.zk.Dial(ctx, "", "") })
	p.kafka = newCable("kafka", n.address, seed^1, w, func(ctx context.Context) (net.Conn, error) {
		return w.network.DialContext(ctx, "tcp", "localhost:9092")
	})
	c := zookeeper.DefaultConfig()
	c.Servers, c.ID, c.Dial, c.SessionTimeout = "zk:2181", n.address, p.zk.dial, session
	p.client = zookeeper.New(c, log)
	e := zookeeper.DefaultElectorConfig()
	if w.once {
		e.TakeoverDelay = 0
	}
	p.elector = p.client.Elector(destination, e)
	var elector ha.Elector = &stoppable{p.elector, p}
	var err error
	if p.starter, err = p.newStarter(log); err != nil {
		return err
	}
	if w.plant != nil && w.plant.elector != nil {
		elector = w.plant.elector(elector)
	}
	p.monitor = ha.NewMonitor(destination, elector, p.starter, ha.DefaultConfig(), log)
	n.process = p
	w.log.Debug("START", "node", n.address)
	var ctx context.Context
	ctx, p.stop = context.WithCancelCause(context.Background())
	w.all.Go(func() { p.run(ctx) })
	return nil
}

// run is what serve does with one destination.
func (p *process) run(ctx context.Context) {
	defer close(p.ended)
	session, endSession := context.WithCancel(context.Background())
	defer endSession()
	var around sync.WaitGroup
	around.Go(func() { _ = p.client.Run(session) })
	if p.raw != nil {
		around.Go(func() { _ = p.raw.Run(session) })
	}
	err := p.monitor.Run(ctx)
	if err != nil {
		if errors.Is(err, ha.ErrExitTimeout) && !p.excused() {
			p.node.world.violated("a term of %s did not stop in time: %v", p.node.address, err)
		}
		p.kill()
	}
	endSession()
	around.Wait()
	time.Sleep(time.Second)
	for _, c := range []*cable{p.zk, p.kafka} {
		if n := c.open(); n > 0 && !p.excused() {
			p.node.world.violated("%s has ended, and %d connections to %s were not closed", p.node.address, n, c.name)
		}
		c.kill()
	}
}

// kill is SIGKILL: nothing reaches the outside any more.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
	p.mu.Unlock()
	p.zk.kill()
	p.kafka.kill()
	p.stop(nil)
}

// awake waits until the process is not paused, and reports whether it was.
func (p *process) awake() bool {
	p.mu.Lock()
	paused := p.paused
	p.mu.Unlock()
	if paused != nil {
		<-paused
	}
	return paused != nil
}

// allowed is the guard's question. A process that was stopped asks when it wakes up.
func (p *process) allowed() bool {
	p.awake()
	return p.client.Holds(destination)
}

// pause is SIGSTOP, as seen from outside: what was written before is still
// delivered, and what is written meanwhile only afterwards. The process's
// goroutines go on, but are not told that the lease was lost, and what they send
// to Kafka waits where leave is asked for.
func (p *process) pause() {
	p.mu.Lock()
	if p.paused == nil && !p.killed {
		p.paused = make(chan struct{})
		p.pauses++
	}
	p.mu.Unlock()
	for _, c := range []*cable{p.zk, p.kafka} {
		c.change(func() { c.frozen, c.keeps = [2]bool{true, true}, true })
	}
}

func (p *process) resume() {
	p.mu.Lock()
	if p.paused != nil {
		close(p.paused)
		p.paused = nil
	}
	p.mu.Unlock()
	p.zk.heal()
	p.kafka.heal()
}

// stoppable is an elector whose leases tell a paused process nothing.
type stoppable struct {
	*zookeeper.Elector
	process *process
}

func (s *stoppable) Campaign(ctx context.Context) (ha.Lease, error) {
	inner, err := s.Elector.Campaign(ctx)
	if err != nil {
		return nil, err
	}
	l := &slow{Lease: inner, lost: make(chan error, 2), over: make(chan struct{})}
	s.process.node.world.all.Go(func() {
		for {
			select {
			case err := <-inner.Lost():
				if s.process.awake() { // a machine that is busy then
					time.Sleep(s.process.zk.latency(back) * 400)
				}
				l.lost <- err
			case <-l.over:
				return
			case <-s.process.ended: // a term that drains when the context has ended may still lose its lease
				return
			}
		}
	})
	return l, nil
}

type slow struct {
	ha.Lease
	lost chan error
	over chan struct{}
	once sync.Once
}

func (l *slow) Lost() <-chan error { return l.lost }

func (l *slow) Resign(ctx context.Context, handover bool) error {
	l.once.Do(func() { close(l.over) })
	return l.Lease.Resign(ctx, handover)
}

func (p *process) newStarter(log *slog.Logger) (ha.Starter, error) {
	w := p.node.world
	c := mqstarter.DefaultConfig()
	c.Destination, c.Router, c.Message, c.Builders, c.Window = destination, w.router, message.Config{Style: w.style}, 2, window
	c.Routing = w.router.Fingerprint()
	c.DrainTimeout = ha.DefaultConfig().DrainTimeout
	k := kafka.DefaultConfig()
	k.Brokers, k.Dial, k.Create = []string{"localhost:9092"}, p.kafka.dial, kafka.CreateNever
	k.Allowed = p.allowed
	if w.plant != nil && w.plant.raw {
		z := zookeeper.DefaultConfig()
		z.Servers, z.ID, z.Dial, z.SessionTimeout = "zk:2181", aliasMark+p.node.address, p.zk.dial, session
		p.raw = zookeeper.New(z, log)
	}
	var cursor mqstarter.Cursor = p.client.Cursor(destination, zookeeper.CursorConfig{Routing: c.Routing})
	if w.plant != nil && w.plant.allowed {
		k.Allowed = func() bool { p.awake(); return true }
	}
	if w.plant != nil && w.plant.cursor != nil {
		cursor = w.plant.cursor(cursor)
	}
	connect := func() (mqstarter.Producer, error) { return kafka.New(k, log) }
	if w.once {
		transactions := kafka.NewTransactions(k, w.transactions(p, c.Routing), log)
		connect = func() (mqstarter.Producer, error) { return transactions.Producer() }
	}
	dial := func() (mqstarter.Producer, error) {
		if w.plant != nil && w.plant.producer != nil {
			return w.plant.producer(connect)
		}
		return connect()
	}
	open := func(from position.Resume) (mqstarter.Source, error) {
		w.mu.Lock()
		w.reached = next(from.Position)
		w.mu.Unlock()
		if w.scans {
			return ending{w.history.from(from)}, nil
		}
		return w.history.from(from), nil
	}
	if err := errors.Join(c.Validate(), k.Validate()); err != nil {
		return nil, err
	}
	var s ha.Starter = &noted{p, mqstarter.New(c, cursor, open, dial, nil, log)}
	if w.plant != nil && w.plant.starter != nil {
		s = w.plant.starter(p, cursor, s)
	}
	return s, nil
}

// transactions is what exactly-once needs in a process.
func (w *world) transactions(p *process, routing string) kafka.TransactionConfig {
	c := kafka.TransactionConfig{
		ID: "canal-relay-" + destination, Topic: "canal-relay-positions", Destination: destination, Routing: routing,
		MaxTime: kafka.DefaultTransactionTime, MaxRows: w.cut, MaxBytes: kafka.DefaultTransactionBytes, Identity: p.client.Identity,
	}
	if w.plant != nil && w.plant.strangers {
		c.ID += p.node.address
	}
	return c
}

// noted is a starter whose terms are known to the world.
type noted struct {
	process *process
	ha.Starter
}

func (n *noted) Run(ctx context.Context, epoch int64) error {
	w := n.process.node.world
	w.mu.Lock()
	w.terms[epoch] = n.process
	w.began[epoch]++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.terms, epoch)
	}()
	return n.Starter.Run(ctx, epoch)
}

// simulate runs a seed under a schedule of faults and returns which promises were
// broken.
func simulate(t testing.TB, seed uint64, p *plant, log io.Writer, faults func(*world)) *world {
	w := newWorld(t, seed, p, log)
	for _, n := range w.nodes {
		if err := n.start(); err != nil {
			t.Fatal(err)
		}
		if w.r.IntN(3) > 0 {
			time.Sleep(time.Duration(w.r.Int64N(int64(time.Second))))
		}
	}
	faults(w)
	healed := time.Now()
	if len(w.broken()) == 0 || p == nil {
		w.finish()
	}
	w.recovery = time.Since(healed)
	for _, n := range w.nodes {
		if n.process != nil {
			n.process.stop(nil)
			<-n.process.ended
		}
	}
	if len(w.broken()) == 0 {
		w.check(t)
	}
	for _, n := range w.nodes {
		if n.process != nil {
			n.process.kill()
		}
	}
	w.all.Wait()
	w.kafka.Close()
	w.zk.Close()
	synctest.Wait()
	return w
}

// finish waits until everything that the source had is sent. With exactly-once it
// is the position topic that says so: the cursor may be behind for as long as the
// source has nothing more.
func (w *world) finish() {
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		w.mu.Lock()
		done := len(w.saved) > 0 && w.saved[len(w.saved)-1].next == len(w.history.transactions) ||
			w.once && w.reached == len(w.history.transactions)
		broken := len(w.violations) > 0 && w.plant != nil
		w.mu.Unlock()
		if done || broken {
			return
		}
		if time.Now().After(limit) {
			w.violated("without any more faults, the end of the source was not reached in five minutes")
			return
		}
		w.revive()
	}
}
