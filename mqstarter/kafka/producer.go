package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/dial"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
	"github.com/canal-relay/canal-relay/relay/position"
)

// AskPause is the time between two attempts to ask a cluster something.
const AskPause = 500 * time.Millisecond

const (
	askTimeout  = 5 * time.Second // of one attempt to ask a cluster something
	shutTimeout = 4 * time.Second // of a broker that accepts connections and closes them

	closeGrace  = 200 * time.Millisecond // of closing when there is no time left
	idleTimeout = 5 * time.Minute        // of connections; brokers close them after ten minutes

	backOffMin = 250 * time.Millisecond
	backOffMax = time.Second
)

// Producer writes messages in the order in which they are sent, each to the
// partition it names. It serves one term: a message that failed for good fails
// all that follow.
type Producer struct {
	config Config
	client *kgo.Client
	log    *slog.Logger

	live   context.Context // of the connections
	cut    context.CancelFunc
	record context.Context // of records not yet in a request
	fail   context.CancelCauseFunc

	reached atomic.Bool    // a broker has let us in
	closing sync.WaitGroup // of what a refusal closes; begun under mu, while not closed
	closed  bool           // Close was called

	born time.Time
	away dial.Absences
	shut atomic.Int64 // since when brokers close each connection, in age; 0 if they do not

	flying  atomic.Int64  // parcels that are not acknowledged
	moved   atomic.Int64  // when their number last fell, or rose from 0, in age
	watched bool          // the topics are looked after
	vital   string        // a topic that only another term makes again; may be empty
	asking  chan struct{} // a lock, held while a topic is looked up
	mu      sync.Mutex    // covers topics, watched and closed; never held while waiting
	topics  map[string]topic
}

// New makes a Producer. It dials nothing.
func New(c Config, l *slog.Logger) (*Producer, error) { return newProducer(c, l) }

func newProducer(c Config, l *slog.Logger, more ...kgo.Opt) (*Producer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := c.Options()
	if err != nil {
		return nil, err
	}
	if c.Create == CreateBroker {
		options = append(options, kgo.AllowAutoTopicCreation())
	}
	p := &Producer{config: c, log: l, born: time.Now(), asking: make(chan struct{}, 1), topics: make(map[string]topic)}
	p.live, p.cut = context.WithCancel(context.Background())
	p.record, p.fail = context.WithCancelCause(p.live)
	p.client, err = kgo.NewClient(append(append(options, more...), kgo.WithContext(p.live), kgo.WithHooks(p), kgo.ProducerBatchMaxBytesFn(p.batchLimit))...)
	if err != nil {
		p.cut()
		return nil, fmt.Errorf("set up Kafka client: %w", err)
	}
	return p, nil
}

// Claim waits until the cluster answers and looks at the topics that are known
// before the first record. It keeps no record of what readers have, so that it
// returns position.ErrNone when all is well. An error of authentication or
// authorisation, and a topic that is missing or has too few partitions, are
// errors at once.
func (p *Producer) Claim(ctx context.Context, _ int64) (position.Resume, error) {
	if err := p.reach(ctx); err != nil {
		return position.Resume{}, fmt.Errorf("reach Kafka at %s: %w", strings.Join(p.config.Brokers, ","), err)
	}
	for _, name := range slices.Sorted(maps.Keys(p.config.Topics)) {
		t, err := p.topic(ctx, name)
		if err != nil {
			return position.Resume{}, err
		}
		if wanted := p.config.Topics[name]; t.partitions < wanted {
			return position.Resume{}, refusal.Named("topic %s has %d partitions, the routing needs %d: add them with %s",
				name, t.partitions, wanted, p.command(name, "alter", wanted))
		}
	}
	p.watch()
	return position.Resume{}, position.ErrNone
}

// watch has the topics looked after for as long as the producer lives.
func (p *Producer) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.watched && !p.closed {
		p.watched = true
		p.closing.Go(func() { topics.Watch(p.live, p.client, p.log, p.waiting, p.vital, p.abandon) })
	}
}

// waiting returns the topics of the term, and the partitions that they had, when
// nothing has been acknowledged for long.
func (p *Producer) waiting() map[string]int32 {
	if p.flying.Load() == 0 || p.age()-p.moved.Load() < int64(topics.Patience) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	had := make(map[string]int32, len(p.topics)+1)
	for name, t := range p.topics {
		had[name] = t.partitions
	}
	return had
}

// reach returns nil when a broker has answered, and let us produce.
func (p *Producer) reach(ctx context.Context) error {
	err := p.ask(ctx, func(ctx context.Context) error {
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{}
		if _, err := request.RequestWith(ctx, p.client); err != nil || !p.config.idempotent() {
			return err
		}
		_, _, err := p.client.ProducerID(ctx)
		return err
	})
	if err == nil {
		p.reached.Store(true)
	}
	return err
}

// ask repeats a question to the cluster until it is answered, or refused in a
// way that asking again does not mend. Only who is away is waited for, and not
// a broker that keeps closing connections: it wants other settings of TLS or
// SASL, or does not know the password, which some do not say.
func (p *Producer) ask(ctx context.Context, question func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, askTimeout)
		look := time.AfterFunc(shutTimeout, func() {
			if p.shuts() {
				cancel()
			}
		})
		err := question(attempt)
		look.Stop()
		cancel()
		if why := refusal.Shut(p.reason(err)); refusal.Is(why) && ctx.Err() == nil {
			return why
		}
		if err == nil {
			p.away.Remove(dial.Everybody)
		}
		if err == nil || ctx.Err() != nil || p.live.Err() != nil {
			return err
		}
		if p.shuts() {
			return refusal.Named("the broker closes connections: settings of TLS or SASL do not fit, or the password is wrong")
		}
		p.note(dial.Everybody, err)
		select {
		case <-time.After(AskPause):
		case <-ctx.Done():
			return ctx.Err()
		case <-p.live.Done():
			return kgo.ErrClientClosed
		}
	}
}

// note logs once that a broker, or the cluster as a whole, is away.
func (p *Producer) note(who string, err error) {
	if p.away.Add(who, err) {
		p.log.Warn("Kafka does not answer, waiting for it", "brokers", p.config.Brokers, "err", err)
	}
}

// age is the producer's own time, in ns, which nobody sets; never 0.
func (p *Producer) age() int64 { return max(1, int64(time.Since(p.born))) }

// shuts reports whether brokers have been closing connections for long.
func (p *Producer) shuts() bool {
	since := p.shut.Load()
	return since != 0 && p.age()-since > int64(shutTimeout*3/4)
}

// OnBrokerConnect is called by franz-go after each attempt to connect.
func (p *Producer) OnBrokerConnect(broker kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		p.shut.CompareAndSwap(0, p.age())
	} else {
		p.shut.Store(0)
	}
	who := net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
	err = refusal.Shut(err)
	switch {
	case p.live.Err() != nil:
	case err != nil && p.reached.Load() && refusal.Is(err):
		p.abandon(fmt.Errorf("connect to %s: %w", who, err))
	case err != nil:
		p.note(who, fmt.Errorf("connect to %s: %w", who, err))
	case p.away.Remove(who):
		p.log.Info("Kafka answers again", "broker", who)
	}
}

// abandon fails everything that was not acknowledged: franz-go would try again
// without end to log in where nobody lets us in any more.
func (p *Producer) abandon(err error) {
	p.fail(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closing.Go(func() {
			p.cut()
			p.client.Close()
		})
	}
}

// Close lets go of all connections at once, also when ctx is over. Records that
// were not acknowledged fail; those whose request is under way may still be
// written by the broker.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cut()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.client.Close()
		p.closing.Wait()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-closed: // connections go first, and take no time
		return nil
	case <-time.After(closeGrace):
		return errors.New("the Kafka client is still closing")
	}
}
