package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/relay/position"
)

const (
	dialTimeout = 3 * time.Second
	askTimeout  = 5 * time.Second        // of one attempt to ask a cluster something
	askPause    = 500 * time.Millisecond // between attempts
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

	away atomic.Bool // a broker could not be reached, and that was logged

	asking sync.Mutex // held while a topic is looked up
	mu     sync.Mutex // covers topics; never held while waiting
	topics map[string]topic
}

// New makes a Producer. It dials nothing.
func New(c Config, l *slog.Logger) (*Producer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	p := &Producer{config: c, log: l, topics: make(map[string]topic)}
	p.live, p.cut = context.WithCancel(context.Background())
	p.record, p.fail = context.WithCancelCause(p.live)
	p.client, err = kgo.NewClient(append(options, kgo.WithContext(p.live), kgo.WithHooks(p), kgo.ProducerBatchMaxBytesFn(p.batchLimit))...)
	if err != nil {
		p.cut()
		return nil, fmt.Errorf("set up Kafka client: %w", err)
	}
	return p, nil
}

// Claim waits until the cluster answers and looks at the topics that are known
// before the first record. It keeps no record of what readers have, so that it
// returns position.ErrNone when all is well. An error of authentication or
// authorisation, and a topic that is missing, are errors at once.
func (p *Producer) Claim(ctx context.Context, _ int64) (position.Resume, error) {
	if err := p.reach(ctx); err != nil {
		return position.Resume{}, fmt.Errorf("reach Kafka at %s: %w", strings.Join(p.config.Brokers, ","), err)
	}
	for _, name := range p.config.Topics {
		if _, err := p.topic(ctx, name); err != nil {
			return position.Resume{}, err
		}
	}
	return position.Resume{}, position.ErrNone
}

// reach returns nil when a broker has answered, and let us produce.
func (p *Producer) reach(ctx context.Context) error {
	return p.ask(ctx, func(ctx context.Context) error {
		request := kmsg.NewPtrMetadataRequest()
		request.Topics = []kmsg.MetadataRequestTopic{}
		if _, err := request.RequestWith(ctx, p.client); err != nil || !p.config.idempotent() {
			return err
		}
		_, _, err := p.client.ProducerID(ctx)
		return err
	})
}

// ask repeats a question to the cluster until it is answered, or refused in a
// way that asking again does not mend. Only who is away is waited for.
func (p *Producer) ask(ctx context.Context, question func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, askTimeout)
		err := question(attempt)
		cancel()
		if err == nil || ctx.Err() != nil || p.live.Err() != nil || refused(err) {
			return err
		}
		p.note(err)
		select {
		case <-time.After(askPause):
		case <-ctx.Done():
			return ctx.Err()
		case <-p.live.Done():
			return kgo.ErrClientClosed
		}
	}
}

// refused tells an answer that will not change from a cluster that is away.
func refused(err error) bool {
	var named *namedError
	if errors.As(err, &named) {
		return true
	}
	var answer *kerr.Error
	if errors.As(err, &answer) {
		return !answer.Retriable
	}
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var alert tls.AlertError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &alert)
}

// namedError is a failure that says what to do.
type namedError struct{ text string }

func (e *namedError) Error() string { return e.text }

func named(format string, args ...any) error { return &namedError{fmt.Sprintf(format, args...)} }

// note logs once that a broker is away.
func (p *Producer) note(err error) {
	if !p.away.Swap(true) {
		p.log.Warn("Kafka does not answer, waiting for it", "brokers", p.config.Brokers, "err", err)
	}
}

// OnBrokerConnect is called by franz-go after each attempt to connect.
func (p *Producer) OnBrokerConnect(broker kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	switch {
	case p.live.Err() != nil:
	case err != nil:
		p.note(fmt.Errorf("connect to %s:%d: %w", broker.Host, broker.Port, err))
	case p.away.Swap(false):
		p.log.Info("Kafka answers again", "host", broker.Host, "port", broker.Port)
	}
}

// Close lets go of all connections at once. Records that were not acknowledged
// fail; those whose request is under way may still be written by the broker.
func (p *Producer) Close(ctx context.Context) error {
	p.cut()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		p.client.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
	}
	// The connections are closed with the context: what is left ends by itself.
	return nil
}
