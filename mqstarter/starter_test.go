package mqstarter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source yields batches that the test puts into it.
type source struct {
	mu       sync.Mutex
	batches  chan *event.Batch // closed at the end
	broken   chan error        // ends Run
	end      error             // why batches is closed
	taken    int
	released []uint64
	stopped  bool // Run's context ended
}

func newSource(batches ...*event.Batch) *source {
	s := &source{batches: make(chan *event.Batch, 4096), broken: make(chan error, 1)}
	for _, b := range batches {
		s.batches <- b
	}
	return s
}

func (s *source) Run(ctx context.Context) error {
	select {
	case s.end = <-s.broken:
		close(s.batches)
		return s.end
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = true
		return nil
	}
}

func (s *source) Next(ctx context.Context) (*event.Batch, error) {
	select {
	case b, ok := <-s.batches:
		if !ok {
			return nil, s.end
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken++
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *source) Release(b *event.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, b.ID)
}

// producer keeps parcels until the test acknowledges them.
type producer struct {
	mu     sync.Mutex
	claim  func() (position.Resume, error)
	auto   func(n int, done func(error)) // called for the n-th parcel, from 1; nil leaves it to the test
	limits map[string]int

	partitions map[string]int32
	sent       []sent
	closed     bool
	epoch      int64
}

type sent struct {
	messages []message.Message // copies
	landed   func()
	done     func(error)
}

var errClosed = errors.New("producer closed")

func (p *producer) Claim(_ context.Context, epoch int64) (position.Resume, error) {
	p.epoch = epoch
	if p.claim != nil {
		return p.claim()
	}
	return position.Resume{}, position.ErrNone
}

func (p *producer) Send(_ context.Context, parcel *message.Parcel, done func(error)) {
	p.mu.Lock()
	s := sent{landed: parcel.Landed}
	var once sync.Once
	s.done = func(err error) { once.Do(func() { done(err) }) }
	for _, m := range parcel.Messages {
		m.Value, m.Key = bytes.Clone(m.Value), bytes.Clone(m.Key)
		m.Headers.Tx, m.Headers.Row = bytes.Clone(m.Headers.Tx), bytes.Clone(m.Headers.Row)
		s.messages = append(s.messages, m)
	}
	p.sent = append(p.sent, s)
	n, auto := len(p.sent), p.auto
	p.mu.Unlock()
	if auto != nil {
		auto(n, s.done)
	}
}

func (p *producer) Close(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.sent {
		s.done(errClosed)
	}
	return nil
}

func (p *producer) Limit(_ context.Context, topic string) (int, error) {
	if n, ok := p.limits[topic]; ok {
		return n, nil
	}
	return DefaultLimit, nil
}

func (p *producer) Partitions(_ context.Context, topic string) (int32, error) {
	return p.partitions[topic], nil
}

// ack settles the n-th parcel, from 1.
func (p *producer) ack(n int, err error) {
	p.mu.Lock()
	s := p.sent[n-1]
	p.mu.Unlock()
	s.done(err)
}

func (p *producer) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent)
}

// cursor remembers what was saved, by the files' names.
type cursor struct {
	mu    sync.Mutex
	load  position.Position
	fail  func() error
	saved []string
	skip  string // as in position.Saved
	done  bool   // what skip names was left out, and the next Save knows
}

func (c *cursor) Load(context.Context) (position.Saved, error) {
	if c.load.IsZero() {
		return position.Saved{}, position.ErrNone
	}
	return position.Saved{Position: c.load, Skip: c.skip}, nil
}

func (c *cursor) Skipped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = true
}

func (c *cursor) Save(_ context.Context, p position.Position) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		if err := c.fail(); err != nil {
			return err
		}
	}
	if c.done {
		p.File += "-skipped"
	}
	c.saved, c.done = append(c.saved, p.File), false
	return nil
}

func (c *cursor) list() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.saved, " ")
}

// drain is a cause that lets the term settle.
type drain struct{ cut chan struct{} }

func (drain) Error() string          { return "shutdown" }
func (drain) Drain() bool            { return true }
func (d drain) Cut() <-chan struct{} { return d.cut }

var errLost = errors.New("the lease may be lost")

// fixture is a term under test.
type fixture struct {
	source   *source
	producer *producer
	cursor   *cursor
	config   Config
	log      bytes.Buffer
	from     position.Resume // what the source was opened with

	cancel context.CancelCauseFunc
	result chan error
}

func newFixture(t *testing.T, batches ...*event.Batch) *fixture {
	t.Helper()
	router, err := route.New(route.Config{Topic: "changes"})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{source: newSource(batches...), producer: &producer{}, cursor: &cursor{}, config: DefaultConfig()}
	f.config.Destination, f.config.Router, f.config.Builders = "shop", router, 2
	return f
}

// start runs a term of epoch 7.
func (f *fixture) start(t *testing.T) {
	t.Helper()
	if err := f.config.Validate(); err != nil {
		t.Fatal(err)
	}
	open := func(r position.Resume) (Source, error) { f.from = r; return f.source, nil }
	dial := func() (Producer, error) { return f.producer, nil }
	s := New(f.config, f.cursor, open, dial, nil, slog.New(slog.NewTextHandler(&f.log, nil)))
	var ctx context.Context
	ctx, f.cancel = context.WithCancelCause(t.Context())
	f.result = make(chan error, 1)
	go func() { f.result <- s.Run(ctx, 7) }()
}

// ended waits for the term's end.
func (f *fixture) ended(t *testing.T) error {
	t.Helper()
	err := <-f.result
	if !f.producer.closed {
		t.Error("the producer was not closed")
	}
	return err
}

// whole is a batch of one statement that ends a transaction at file.
func whole(id uint64, file string) *event.Batch {
	b := part(id)
	b.Resume = position.Position{File: file, Offset: 4}
	return b
}

// part is a batch in the middle of a transaction.
func part(id uint64) *event.Batch {
	return &event.Batch{ID: id, Changes: []event.Change{{
		Kind: event.Create, DDL: true, Schema: "shop", Table: "orders", SQL: fmt.Sprintf("create table t%d (id int)", id),
		Rows: 1, Tx: []byte(fmt.Sprintf("tx%d", id)), File: "mysql-bin.000001", Offset: id,
	}}, Rows: 1}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wait lets d pass and everything that is due happen.
func wait(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestPositionFollowsTheAcknowledgedPrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"), whole(3, "c"))
		f.start(t)
		synctest.Wait()
		want(t, "parcels sent without an acknowledgement", f.producer.count(), 3)
		f.producer.ack(3, nil)
		f.producer.ack(2, nil)
		wait(3 * f.config.FlushPeriod)
		want(t, "saved while the first parcel is open", f.cursor.list(), "")
		want(t, "released", f.source.released, []uint64{})
		f.producer.ack(1, nil)
		wait(2 * f.config.FlushPeriod)
		want(t, "saved", f.cursor.list(), "c")
		want(t, "released", f.source.released, []uint64{1, 2, 3})
		wait(3 * f.config.FlushPeriod)
		want(t, "saved again without a move", f.cursor.list(), "c")
		f.cancel(errLost)
		want(t, "result", f.ended(t), nil)
	})
}

func TestPositionStandsAtTransactionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), part(2), part(3), whole(4, "d"))
		f.start(t)
		synctest.Wait()
		for n := 1; n <= 3; n++ {
			f.producer.ack(n, nil)
		}
		wait(2 * f.config.FlushPeriod)
		want(t, "saved in the middle of a transaction", f.cursor.list(), "a")
		f.producer.ack(4, nil)
		wait(2 * f.config.FlushPeriod)
		want(t, "saved", f.cursor.list(), "a d")
		f.cancel(errLost)
		f.ended(t)
	})
}

// TestLandedParcels: what landed gives its memory back once, in whatever order,
// and moves no position before it is acknowledged.
func TestLandedParcels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"), whole(3, "c"))
		f.start(t)
		synctest.Wait()
		f.producer.sent[1].landed()
		f.producer.sent[0].landed()
		wait(3 * f.config.FlushPeriod)
		want(t, "released by landing", f.source.released, []uint64{2, 1})
		want(t, "saved before an acknowledgement", f.cursor.list(), "")
		for n := 1; n <= 3; n++ {
			f.producer.ack(n, nil)
		}
		wait(2 * f.config.FlushPeriod)
		want(t, "released", f.source.released, []uint64{2, 1, 3})
		want(t, "saved", f.cursor.list(), "c")
		f.source.batches <- whole(4, "d")
		synctest.Wait()
		want(t, "statement built where others were", strings.Contains(string(f.producer.sent[3].messages[0].Value), "create table t4"), true)
		f.cancel(errLost)
		f.ended(t)
	})
}

// TestOrderGoesWithItsPosition: the cursor learns that an order was carried out
// with the position behind it, and not with an earlier one.
func TestOrderGoesWithItsPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := whole(2, "b")
		left.Skipped = true
		f := newFixture(t, whole(1, "a"), left, whole(3, "c"))
		f.cursor.load, f.cursor.skip = position.Position{File: "start"}, "b:4"
		f.start(t)
		for n := 1; n <= 3; n++ {
			synctest.Wait()
			f.producer.ack(n, nil)
			wait(2 * f.config.FlushPeriod)
		}
		want(t, "order told to the source", f.from.Skip, "b:4")
		want(t, "saved", f.cursor.list(), "a b-skipped c")
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestEmptyBatchMovesThePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, &event.Batch{ID: 1, Resume: position.Position{File: "idle"}})
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		f.start(t)
		wait(2 * f.config.FlushPeriod)
		want(t, "saved", f.cursor.list(), "idle")
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestLostLeaseSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		synctest.Wait()
		began := time.Now()
		f.cancel(errLost)
		want(t, "result", f.ended(t), nil)
		want(t, "time to stop", time.Since(began), time.Duration(0))
		want(t, "saved", f.cursor.list(), "")
	})
}

func TestDrainSettlesAndSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		f.cancel(drain{})
		synctest.Wait()
		if !f.source.stopped {
			t.Error("the source still runs")
		}
		f.source.batches <- whole(3, "c")
		wait(time.Second)
		f.producer.ack(1, nil)
		f.producer.ack(2, nil)
		want(t, "result", f.ended(t), nil)
		want(t, "saved", f.cursor.list(), "b")
		want(t, "sent", f.producer.count(), 2)
	})
}

func TestDrainTimeoutSavesWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		began := time.Now()
		f.cancel(drain{})
		if err := f.ended(t); !errors.Is(err, ErrUnsettled) {
			t.Errorf("result: got %v, want ErrUnsettled", err)
		}
		want(t, "time to stop", time.Since(began), f.config.DrainTimeout)
		want(t, "saved", f.cursor.list(), "a")
	})
}

// TestDrainWaitsForTheCursor: ZooKeeper is away when the node is told to stop. The hand-over waits for it, up to the drain
// timeout, and no longer than the lease.
func TestDrainWaitsForTheCursor(t *testing.T) {
	for name, c := range map[string]struct {
		away, lost, took time.Duration
		saved            string
	}{
		"back in time":      {away: 3 * time.Second, took: 3 * time.Second, saved: "b"},
		"away for good":     {away: time.Hour, took: DefaultDrainTimeout},
		"the lease is gone": {away: time.Hour, lost: time.Second, took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, whole(1, "a"), whole(2, "b"))
				began := time.Now()
				f.cursor.fail = func() error {
					if time.Since(began) < c.away {
						return errors.New("not connected")
					}
					return nil
				}
				f.start(t)
				synctest.Wait()
				f.producer.ack(1, nil)
				f.producer.ack(2, nil)
				d := drain{cut: make(chan struct{})}
				if c.lost > 0 {
					time.AfterFunc(c.lost, func() { close(d.cut) })
				}
				f.cancel(d)
				err := f.ended(t)
				if clean := err == nil; clean != (c.saved != "") {
					t.Errorf("result: %v", err)
				}
				want(t, "saved", f.cursor.list(), c.saved)
				if took := time.Since(began); took < c.took || took > c.took+saveAgain {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func TestLeaseLostWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		d := drain{cut: make(chan struct{})}
		f.cancel(d)
		synctest.Wait()
		began := time.Now()
		close(d.cut)
		if err := f.ended(t); err != nil && !errors.Is(err, ErrUnsettled) {
			t.Errorf("result: %v", err)
		}
		want(t, "time to stop", time.Since(began), time.Duration(0))
		want(t, "saved", f.cursor.list(), "")
	})
}

func TestEndOfFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.source.broken <- io.EOF
		f.producer.auto = func(_ int, done func(error)) {
			time.AfterFunc(2*f.config.DrainTimeout+f.config.FlushPeriod/2, func() { done(nil) }) // a reader in no hurry
		}
		f.start(t)
		want(t, "result", f.ended(t), io.EOF)
		want(t, "saved", f.cursor.list(), "b")
	})
}

func TestRefusedMessageStopsEverythingAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("INVALID_RECORD")
		f := newFixture(t, whole(1, "a"), whole(2, "b"), whole(3, "c"))
		f.start(t)
		synctest.Wait()
		f.producer.ack(3, nil)
		f.producer.ack(2, refused)
		f.source.batches <- whole(4, "d")
		synctest.Wait()
		want(t, "sent", f.producer.count(), 3)
		f.producer.ack(1, nil)
		if err := f.ended(t); !errors.Is(err, refused) {
			t.Errorf("result: got %v, want the refusal", err)
		}
		want(t, "saved", f.cursor.list(), "a")
	})
}

// A request that is under way when another message is refused may still reach
// Kafka: the term ends, and with it the ownership, only when it has.
func TestRefusalWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("INVALID_RECORD")
		f := newFixture(t, whole(1, "a"), whole(2, "b"), whole(3, "c"))
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		f.producer.ack(2, refused)
		time.Sleep(time.Second)
		f.producer.mu.Lock()
		closed := f.producer.closed
		f.producer.mu.Unlock()
		if closed {
			t.Error("the producer was closed while a parcel was under way")
		}
		f.producer.ack(3, nil)
		if err := f.ended(t); !errors.Is(err, refused) {
			t.Errorf("result: got %v, want the refusal", err)
		}
		want(t, "saved", f.cursor.list(), "a")
	})
}

func TestFailureBehindTheEndOfFilesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("INVALID_RECORD")
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.source.broken <- io.EOF
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		f.producer.ack(2, refused)
		if err := f.ended(t); !errors.Is(err, refused) || errors.Is(err, io.EOF) {
			t.Errorf("result: got %v, want the refusal", err)
		}
		want(t, "saved", f.cursor.list(), "a")
	})
}

func TestRefusalWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("INVALID_RECORD")
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		f.cancel(drain{})
		synctest.Wait()
		f.producer.ack(1, nil)
		f.producer.ack(2, refused)
		if err := f.ended(t); !errors.Is(err, refused) || !errors.Is(err, ErrUnsettled) {
			t.Errorf("result: got %v, want ErrUnsettled with the refusal", err)
		}
		want(t, "saved", f.cursor.list(), "a")
	})
}

func TestSourceFailureKeepsWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.start(t)
		synctest.Wait()
		purged := errors.New("purged")
		f.source.broken <- purged
		synctest.Wait()
		f.producer.ack(1, nil)
		f.producer.ack(2, nil)
		if err := f.ended(t); !errors.Is(err, purged) {
			t.Errorf("result: got %v, want %v", err, purged)
		}
		want(t, "saved", f.cursor.list(), "b")
	})
}

func TestFencedCursorEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		f.cursor.fail = func() error { return fmt.Errorf("cursor: %w", position.ErrFenced) }
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		if err := f.ended(t); !errors.Is(err, position.ErrFenced) {
			t.Errorf("result: got %v, want ErrFenced", err)
		}
		want(t, "saved", f.cursor.list(), "")
	})
}

// TestFailedSaveIsTriedAgain, case PC-01: each period, however often it failed.
func TestFailedSaveIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"), whole(2, "b"))
		failures := 3
		f.cursor.fail = func() error {
			if failures--; failures >= 0 {
				return errors.New("no answer")
			}
			return nil
		}
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, nil)
		wait(2*f.config.FlushPeriod + f.config.FlushPeriod/2)
		f.producer.ack(2, nil)
		wait(3 * f.config.FlushPeriod)
		want(t, "saved", f.cursor.list(), "b")
		f.cancel(errLost)
		f.ended(t)
		want(t, "lines about it", strings.Count(f.log.String(), "position not saved"), 1)
	})
}

func TestWindowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for id := range uint64(200) {
			f.source.batches <- whole(id+1, "x")
		}
		f.config.Window = 5
		f.start(t)
		synctest.Wait()
		want(t, "taken", f.source.taken, 5)
		f.producer.ack(1, nil)
		synctest.Wait()
		want(t, "taken after an acknowledgement", f.source.taken, 6)
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestStartPosition(t *testing.T) {
	claimed := position.Resume{Position: position.Position{File: "binlog.000002", Offset: 4}, Sent: 3}
	stored := position.Position{File: "binlog.000001", Offset: 4}
	for name, c := range map[string]struct {
		claim  func() (position.Resume, error)
		cursor position.Position
		want   position.Resume
	}{
		"what readers see":      {func() (position.Resume, error) { return claimed, nil }, stored, claimed},
		"cursor":                {nil, stored, position.Resume{Position: stored}},
		"nothing is stored yet": {nil, position.Position{}, position.Resume{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.producer.claim, f.cursor.load = c.claim, c.cursor
				f.start(t)
				synctest.Wait()
				f.cancel(errLost)
				f.ended(t)
				want(t, "position", f.from, c.want)
				want(t, "epoch", f.producer.epoch, 7)
			})
		})
	}
}

func TestClaimFailureEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		denied := errors.New("denied")
		f.producer.claim = func() (position.Resume, error) { return position.Resume{}, denied }
		f.start(t)
		if err := f.ended(t); !errors.Is(err, denied) {
			t.Errorf("result: got %v, want %v", err, denied)
		}
	})
}

func TestOrderWithManyBuilders(t *testing.T) {
	f := newFixture(t)
	const n = 2000
	for id := range uint64(n) {
		f.source.batches <- whole(id+1, fmt.Sprint(id+1))
	}
	f.source.broken <- io.EOF
	f.config.Builders = 8
	f.producer.auto = func(_ int, done func(error)) { done(nil) }
	f.start(t)
	want(t, "result", f.ended(t), io.EOF)
	want(t, "sent", f.producer.count(), n)
	for i, s := range f.producer.sent {
		if text := fmt.Sprintf(`"id":%d,`, i+1); !bytes.Contains(s.messages[0].Value, []byte(text)) {
			t.Fatalf("parcel %d is out of order: %s", i+1, s.messages[0].Value)
		}
	}
	want(t, "saved last", f.cursor.saved[len(f.cursor.saved)-1], n)
}
