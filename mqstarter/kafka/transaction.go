package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Defaults of a TransactionConfig.
const (
	DefaultTransactionTime  = 50 * time.Millisecond
	DefaultTransactionRows  = 100_000
	DefaultTransactionBytes = 16 << 20

	MinTransactionTime = time.Millisecond
	MaxTransactionTime = 5 * time.Second // well below the time after which brokers abort
)

const (
	// transactionTimeout is after how long without an end a broker aborts a
	// transaction; until then read_committed readers wait behind it.
	transactionTimeout = 15 * time.Second
	// pace is the shortest time between two beginnings: a broker refuses the
	// first records after a commit until its markers are written.
	pace = 20 * time.Millisecond
	// lull is how long a transaction waits for one more parcel.
	lull = 2 * time.Millisecond
	// settling is in which time a broker mostly writes the markers of a commit.
	settling     = 2 * time.Millisecond
	settlingMost = 50 * time.Millisecond // it is asked for that long

	fencingsBorne = 3 // in fencingsSpan, without an election
	fencingsSpan  = time.Minute
)

// TransactionConfig is what exactly-once needs beside a Config.
type TransactionConfig struct {
	ID          string // the transactional id, which the owner of a destination has to itself
	Topic       string // the position topic
	Destination string // key of its records
	Routing     string // hash of the routing in force

	// Limits of a transaction. Time is not for the rest of a source transaction
	// that has begun; rows and bytes cut it.
	MaxTime  time.Duration
	MaxRows  int
	MaxBytes int // of messages

	// Identity names the ZooKeeper that epochs come from. Nil: there is none.
	Identity func(context.Context) (string, error)
}

// Transactions makes a destination's transactional producers, one for each
// term, and remembers how often they were fenced.
type Transactions struct {
	config Config
	own    TransactionConfig
	log    *slog.Logger

	mu     sync.Mutex
	fenced []time.Time
}

// NewTransactions returns a source of producers. It does no I/O.
func NewTransactions(c Config, own TransactionConfig, l *slog.Logger) *Transactions {
	return &Transactions{config: c, own: own, log: l}
}

// Transactional is a Producer that commits messages together with the position
// that they lead to. Whoever reads read_committed sees each of them once.
type Transactional struct {
	*Producer
	all *Transactions

	epoch    int64
	identity string
	last     position.Resume // what readers have
	began    time.Time       // the latest transaction
	queue    chan *flight    // not loaded
	running  bool
	failed   error         // why there is no further transaction
	ended    chan struct{} // closed when run has ended
}

// Producer makes the producer of a term. It dials nothing.
func (t *Transactions) Producer() (*Transactional, error) {
	p, err := newProducer(t.config, t.log, kgo.TransactionalID(t.own.ID), kgo.TransactionTimeout(transactionTimeout))
	if err != nil {
		return nil, err
	}
	p.vital = t.own.Topic
	return &Transactional{Producer: p, all: t, queue: make(chan *flight, 64), ended: make(chan struct{})}, nil
}

// Claim fences whoever had the transactional id before, which ends its open
// transaction, and reads where what readers have ends: position.ErrNone if
// there is no record of that. It is an error that somebody with a higher epoch
// has written.
func (p *Transactional) Claim(ctx context.Context, epoch int64) (position.Resume, error) {
	p.epoch = epoch
	if p.all.own.Identity != nil {
		var err error
		if p.identity, err = p.all.own.Identity(ctx); err != nil {
			return position.Resume{}, refusal.Again{Err: fmt.Errorf("tell ZooKeepers apart: %w", err)}
		}
	}
	if _, err := p.Producer.Claim(ctx, epoch); !errors.Is(err, position.ErrNone) {
		return position.Resume{}, p.failure(err)
	}
	if err := p.makePositions(ctx); err != nil {
		return position.Resume{}, p.failure(err)
	}
	last, err := p.readPosition(ctx)
	if err != nil {
		return position.Resume{}, p.failure(fmt.Errorf("read topic %s: %w", p.all.own.Topic, err))
	}
	if err := p.judge(last); err != nil {
		return position.Resume{}, err
	}
	if last == nil || last.Position.IsZero() {
		return position.Resume{}, position.ErrNone
	}
	return last.Resume(), nil
}

// Begin writes the first record of the term: who claims the destination, at the
// position that it goes on from.
func (p *Transactional) Begin(ctx context.Context, from position.Resume) error {
	defer context.AfterFunc(ctx, p.cut)()
	p.last = from
	err := p.client.BeginTransaction()
	if err == nil {
		err = p.commit(from)
	}
	if err != nil {
		return p.failure(fmt.Errorf("write to topic %s: %w", p.all.own.Topic, err))
	}
	p.running = true
	go p.run()
	return nil
}

// Send puts a parcel into the next transaction. It waits while one is being
// committed and many parcels are waiting.
func (p *Transactional) Send(ctx context.Context, parcel *message.Parcel, done func(error)) {
	if err := p.accept(ctx, parcel.Messages); err != nil {
		done(err)
		return
	}
	select {
	case p.queue <- p.newFlight(parcel, done):
	case <-p.live.Done():
		done(kgo.ErrClientClosed)
	}
}

// unload lets go of what a parcel in an open transaction takes: it is Kafka's to
// keep now, and an arena that waits for the commit would hold up those who build.
func (f *flight) unload(err error) {
	if err != nil {
		return
	}
	f.records, f.headers = nil, nil
	if f.parcel.Landed != nil {
		f.parcel.Landed()
	}
}

// run makes transactions until the producer is closed.
func (p *Transactional) run() {
	defer close(p.ended)
	for {
		select {
		case f := <-p.queue:
			p.transaction(f)
		case <-p.live.Done():
			return
		}
	}
}

// transaction is one under way.
type transaction struct {
	flights      []*flight
	resume       position.Resume // what readers have after it
	rows, bytes  int
	began, paced time.Time // paced: when it may end
	latest       time.Time // when a parcel was last added
}

// transaction sends parcels, the first of which is given, and commits them.
func (p *Transactional) transaction(f *flight) {
	now := time.Now()
	t := &transaction{resume: p.last, began: now, paced: p.began.Add(pace)}
	p.began = now
	err := context.Cause(p.record)
	if err == nil {
		err = p.client.BeginTransaction()
	}
	for ; f != nil; f = p.more(t) {
		f.landed = f.unload
		f.load()
		t.add(f)
		if err != nil {
			break
		}
		for i := range f.records {
			p.client.Produce(p.live, &f.records[i], f.settle)
		}
		f.land()
	}
	if err == nil {
		err = p.commit(t.resume)
	}
	switch {
	case err == nil:
		p.last = t.resume
	case p.failed == nil:
		p.failed = p.failure(err)
		p.fail(p.failed)
	}
	if err != nil {
		err = p.failed
	}
	for _, f := range t.flights {
		f.done(err)
	}
}

// add counts a parcel in.
func (t *transaction) add(f *flight) {
	t.flights, t.latest = append(t.flights, f), time.Now()
	t.rows += f.parcel.Count
	for i := range f.records {
		t.bytes += len(f.records[i].Value)
	}
	if !f.parcel.Resume.IsZero() {
		t.resume = position.Resume{Position: f.parcel.Resume}
	}
	if f.parcel.Rows > 0 {
		t.resume.Sent, t.resume.Tx = f.parcel.Rows, string(f.parcel.Tx)
	}
}

// more returns the next parcel of a transaction, nil when it is to end. While
// a source transaction is incomplete, that is when it is too large, or when
// nothing more comes: then those who wait for the commit hold all the memory.
func (p *Transactional) more(t *transaction) *flight {
	own := &p.all.own
	cuttable := t.resume.Sent == 0 || !t.resume.IsZero()
	full := t.rows >= own.MaxRows || t.bytes >= own.MaxBytes
	if context.Cause(p.record) != nil || cuttable && full {
		return nil
	}
	until := t.latest.Add(own.MaxTime)
	if t.resume.Sent == 0 {
		end := t.began.Add(own.MaxTime)
		if time.Now().After(end) {
			return nil
		}
		if until = t.latest.Add(lull); until.Before(t.paced) {
			until = t.paced
		}
		if end.Before(until) {
			until = end
		}
	}
	var over <-chan time.Time
	if cuttable {
		over = time.After(time.Until(until))
	}
	select {
	case f := <-p.queue:
		return f
	default:
	}
	select {
	case f := <-p.queue:
		return f
	case <-over:
	case <-p.record.Done():
	}
	return nil
}

// commit adds the position record to the open transaction and commits it.
// Whatever error it returns leaves open whether that was done. It ends when
// records of another transaction can probably be sent.
func (p *Transactional) commit(to position.Resume) error {
	r, err := p.positionRecord(to)
	if err != nil {
		return err
	}
	p.client.Produce(p.live, r, func(_ *kgo.Record, err error) {
		if err != nil {
			p.fail(fmt.Errorf("write the position: %w", err))
		}
	})
	err = p.client.Flush(p.live)
	if err = cmp.Or(context.Cause(p.record), err); err != nil {
		return err
	}
	// franz-go sends the first records of a topic before it shows the topic's
	// partitions to EndTransaction, which aborts and returns nil when it finds
	// none that was written to, and does not number the next records anew. The
	// lock under which both is done is taken by this, which aborts nothing, since
	// all is flushed.
	if err := p.client.AbortBufferedRecords(p.live); err != nil {
		return err
	}
	if err := p.client.EndTransaction(p.live, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit a Kafka transaction: %w", err)
	}
	p.settle()
	return nil
}

// settle waits until the markers of a commit are written: records that come
// earlier a broker tries again only 20 ms later. To do so before anything is
// acknowledged, while all who wait for memory are still, keeps the timer from
// being late by the time slices of those who build.
func (p *Transactional) settle() {
	ctx, cancel := context.WithTimeout(p.live, settlingMost)
	defer cancel()
	ask := kmsg.NewPtrDescribeTransactionsRequest()
	ask.TransactionalIDs = []string{p.all.own.ID}
	for {
		answer, err := ask.RequestWith(ctx, p.client)
		if err != nil || len(answer.TransactionStates) != 1 || answer.TransactionStates[0].ErrorCode != 0 {
			time.Sleep(settling) // an old broker, or one that does not let us know
			return
		}
		if answer.TransactionStates[0].State != "PrepareCommit" {
			return
		}
		time.Sleep(settling / 2)
	}
}

// failure tells what another term can mend from what it cannot.
func (p *Transactional) failure(err error) error {
	var known refusal.Again
	is := func(e error) bool { return errors.Is(err, e) }
	switch {
	case err == nil || errors.As(err, &known) || refusal.Lasts(err):
		return err
	case (is(kerr.InvalidProducerEpoch) || is(kerr.ProducerFenced)) && p.all.fencedOften() && p.epoch == 0:
		return refusal.Named("another process uses this cluster and destination: transactional id %s was taken from this one %d times in %s: "+
			"stop the other process, or give each its own canal.relay.cluster (%v)", p.all.own.ID, fencingsBorne, fencingsSpan, err)
	}
	return refusal.Again{Err: err}
}

// fencedOften notes a fencing, and reports whether there were too many of late.
func (t *Transactions) fencedOften() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.fenced = slices.DeleteFunc(append(t.fenced, now), func(at time.Time) bool { return now.Sub(at) > fencingsSpan })
	return len(t.fenced) >= fencingsBorne
}

// Close lets go of all connections at once. A transaction that is open then is
// aborted by the next owner's claim, or by the broker after a while.
func (p *Transactional) Close(ctx context.Context) error {
	err := p.Producer.Close(ctx)
	if !p.running {
		return err
	}
	select {
	case <-p.ended:
		return err
	case <-time.After(closeGrace):
		return errors.Join(err, errors.New("a Kafka transaction is still being ended"))
	}
}
