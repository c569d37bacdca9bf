package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/settings"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
)

const (
	// batchOverhead is the header of a record batch, and recordOverhead what a
	// record has besides key, value and headers (all lengths at their longest):
	// https://kafka.apache.org/documentation/#messageformat
	batchOverhead  = 61
	recordOverhead = 48
	// topicWait is how long a topic may take to appear after the broker was
	// asked for it, which also makes it create the topic.
	topicWait  = 5 * time.Second
	topicPause = 100 * time.Millisecond
)

// topic is what a term knows of a topic.
type topic struct {
	partitions int32
	limit      int // bytes of a batch: max.message.bytes
}

// Limit returns the bytes that key, value and headers of a record of a topic
// may have together, before compression: the smaller of the request size and
// the topic's max.message.bytes, less overhead.
func (p *Producer) Limit(ctx context.Context, name string) (int, error) {
	t, err := p.topic(ctx, name)
	if err != nil {
		return 0, err
	}
	return min(t.limit, p.config.MaxRequestBytes) - batchOverhead - recordOverhead, nil
}

// batchLimit tells franz-go how large batches of a topic may get. It is asked
// with locks held, so that it must not wait: the topic was looked up before
// its first record was produced.
func (p *Producer) batchLimit(name string) int32 {
	p.mu.Lock()
	t, ok := p.topics[name]
	p.mu.Unlock()
	limit := p.config.BatchLimit()
	if ok {
		limit = min(limit, t.limit)
	}
	return int32(max(limit, 512))
}

// topic looks a topic up, once a term. It waits for a cluster that is away,
// and for a moment for a topic that is being created.
func (p *Producer) topic(ctx context.Context, name string) (topic, error) {
	if t, ok := p.known(name); ok {
		return t, nil
	}
	select {
	case p.asking <- struct{}{}:
	case <-ctx.Done():
		return topic{}, ctx.Err()
	}
	defer func() { <-p.asking }()
	if t, ok := p.known(name); ok {
		return t, nil
	}
	var t topic
	var err error
	if t.partitions, err = p.count(ctx, name); err != nil {
		return topic{}, err
	}
	if t.limit, err = p.messageLimit(ctx, name); err != nil {
		return topic{}, fmt.Errorf("read max.message.bytes of topic %s: %w", name, err)
	}
	p.mu.Lock()
	p.topics[name] = t
	p.mu.Unlock()
	return t, nil
}

func (p *Producer) known(name string) (topic, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.topics[name]
	return t, ok
}

// count returns how many partitions a topic has, after having it created
// if that is wanted.
func (p *Producer) count(ctx context.Context, name string) (int32, error) {
	var n int32
	who, partitions := p.config.making(name)
	// Answers that it is missing are counted, not the time since the first: the
	// cluster may go away in between.
	for missing := 0; ; missing++ {
		err := p.ask(ctx, func(ctx context.Context) (err error) {
			n, err = topics.Count(ctx, p.client, name, who == CreateBroker)
			if errors.Is(err, kerr.UnknownTopicOrPartition) {
				n, err = 0, nil
			}
			return err
		})
		switch {
		case err != nil:
			return 0, fmt.Errorf("look up topic %s: %w", name, err)
		case n > 0:
			return n, nil
		case missing == 0 && who == CreateRelay:
			if err := p.create(ctx, name, partitions); err != nil {
				return 0, err
			}
		case missing > 0 && who == CreateNever || missing > int(topicWait/topicPause):
			return 0, refusal.Named("topic %s does not exist, and was not created: create it with %s", name, p.command(name, "create", partitions))
		}
		select {
		case <-time.After(topicPause):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// create has a topic created as configured. One that exists by now is fine.
func (p *Producer) create(ctx context.Context, name string, partitions int32) error {
	err := p.ask(ctx, func(ctx context.Context) error {
		return topics.Create(ctx, p.client, name, partitions, p.config.Replication)
	})
	if err != nil && refusal.Is(err) {
		return refusal.Named("topic %s cannot be created: %v: an administrator may create it with %s", name, err, p.command(name, "create", partitions))
	}
	return err
}

// messageLimit returns a topic's max.message.bytes. Where it may not be read,
// the request size has to do, and a record that the broker finds too large
// ends the term all the same.
func (p *Producer) messageLimit(ctx context.Context, name string) (int, error) {
	limit := p.config.BatchLimit()
	err := p.ask(ctx, func(ctx context.Context) error {
		n, err := settings.MessageLimit(ctx, p.client, name)
		if err == nil && n > 0 {
			limit = n
		}
		return err
	})
	if errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.ClusterAuthorizationFailed) {
		p.log.Info("max.message.bytes may not be read, taking the request size", "topic", name, "bytes", limit)
		err = nil
	}
	return limit, err
}

// command is what an administrator would type.
func (p *Producer) command(name, verb string, partitions int32) string {
	return fmt.Sprintf("kafka-topics --bootstrap-server %s --%s --topic %s --partitions %d",
		strings.Join(p.config.Brokers, ","), verb, name, max(partitions, 1))
}

// Partitions returns how many partitions a topic had when the term first looked
// at it.
func (p *Producer) Partitions(ctx context.Context, name string) (int32, error) {
	t, err := p.topic(ctx, name)
	return t.partitions, err
}
