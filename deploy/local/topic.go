package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopic makes a topic with so many partitions, replacing an old one of
// that name is not done: names are chosen fresh.
func (s Stack) CreateTopic(ctx context.Context, topic string, partitions int32) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}

// DeleteTopic removes a topic.
func (s Stack) DeleteTopic(ctx context.Context, topic string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).DeleteTopics(ctx, topic)
	return err
}

// ReadTopic hands the records of a topic to each, as they come, from the
// beginning, until it returns false or the context ends.
func (s Stack) ReadTopic(ctx context.Context, topic string, each func(*kgo.Record) bool) error {
	return s.readTopic(ctx, topic, kgo.ReadUncommitted(), each)
}

// ReadCommitted is as ReadTopic, and passes over what was not committed.
func (s Stack) ReadCommitted(ctx context.Context, topic string, each func(*kgo.Record) bool) error {
	return s.readTopic(ctx, topic, kgo.ReadCommitted(), each)
}

func (s Stack) readTopic(ctx context.Context, topic string, level kgo.IsolationLevel, each func(*kgo.Record) bool) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxBytes(64<<20), kgo.BrokerMaxReadBytes(200<<20),
		kgo.UnknownTopicRetries(-1))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("read topic %s: %w", topic, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 && !errors.Is(errs[0].Err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("read topic %s: %w", topic, errs[0].Err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if !each(it.Next()) {
				return nil
			}
		}
	}
}

// SetTopic sets a configuration key of a topic.
func (s Stack) SetTopic(ctx context.Context, topic, key, value string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka))
	if err != nil {
		return err
	}
	defer cl.Close()
	all, err := kadm.NewClient(cl).AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	if err != nil {
		return err
	}
	answer, err := all.On(topic, nil)
	if err != nil {
		return err
	}
	return answer.Err
}

// TopicLength is the number of records that a topic has.
func (s Stack) TopicLength(ctx context.Context, topic string) (int, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.Kafka))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return 0, err
	}
	n := 0
	ends.Each(func(o kadm.ListedOffset) { n += int(o.Offset) })
	return n, ends.Error()
}
