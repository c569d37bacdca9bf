// Package topics asks a Kafka cluster which topics there are.
package topics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
)

// Count asks once how many partitions a topic has; with create the broker may
// make it first, if it is set to. A topic without a leader is one that is away.
func Count(ctx context.Context, c *kgo.Client, name string, create bool) (int32, error) {
	answer, err := ask(ctx, c, create, name)
	if err != nil {
		return 0, err
	}
	if len(answer) != 1 {
		return 0, fmt.Errorf("the answer is about %d topics instead of one", len(answer))
	}
	return int32(len(answer[0].Partitions)), kerr.ErrorForCode(answer[0].ErrorCode)
}

// createTimeout is how long brokers may take to make a topic.
const createTimeout = 5 * time.Second

// Create asks once that a topic be made. One that exists by now is fine.
func Create(ctx context.Context, c *kgo.Client, name string, partitions int32, replication int16) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = int32(createTimeout.Milliseconds())
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = name, partitions, replication
	request.Topics = append(request.Topics, wanted)
	response, err := request.RequestWith(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range response.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case err == nil || errors.Is(err, kerr.TopicAlreadyExists):
		case t.ErrorMessage != nil:
			return fmt.Errorf("%w (%s)", err, *t.ErrorMessage)
		default:
			return err
		}
	}
	return nil
}

func ask(ctx context.Context, c *kgo.Client, create bool, names ...string) ([]kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = create
	for _, name := range names {
		wanted := kmsg.NewMetadataRequestTopic()
		wanted.Topic = &name
		request.Topics = append(request.Topics, wanted)
	}
	response, err := request.RequestWith(ctx, c)
	if err != nil {
		return nil, err
	}
	return response.Topics, nil
}

// Patience is how long a record may wait for its acknowledgement before its
// topic is looked at.
const Patience = 5 * time.Second

// Watch looks after the topics for whose acknowledgements somebody has been
// waiting for Patience: each with the partitions that it had. franz-go waits
// without end for one that is gone. A topic that is away is waited for, which is
// said once; one that has lost partitions fails: records for them can never be
// written. So does the vital one when it is away, but then another term may make
// it again. Watch ends with its context.
func Watch(ctx context.Context, c *kgo.Client, l *slog.Logger, waiting func() map[string]int32, vital string, fail func(error)) {
	tick := time.NewTicker(Patience)
	defer tick.Stop()
	away := make(map[string]bool)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		had := waiting()
		if had != nil && vital != "" {
			had[vital] = 1
		}
		if len(had) == 0 && len(away) == 0 {
			continue
		}
		if err := look(ctx, c, l, had, away, vital); err != nil {
			fail(err)
			return
		}
	}
}

// look asks once. A cluster that does not answer says nothing of its topics.
func look(ctx context.Context, c *kgo.Client, l *slog.Logger, had map[string]int32, away map[string]bool, vital string) error {
	for name := range away {
		if _, still := had[name]; !still { // what waited for it was written, or nothing waits
			delete(away, name)
			l.Info("the topic is there again", "topic", name)
		}
	}
	if len(had) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	answer, err := ask(ctx, c, false, slices.Sorted(maps.Keys(had))...)
	if err != nil {
		return nil
	}
	for _, t := range answer {
		if t.Topic == nil {
			continue
		}
		name, n := *t.Topic, int32(len(t.Partitions))
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition) && name == vital:
			return refusal.Again{Err: fmt.Errorf("topic %s, which is ours, is gone: has it been deleted?", name)}
		case errors.Is(err, kerr.UnknownTopicOrPartition) && !away[name]:
			away[name] = true
			l.Warn("a topic is gone: waiting for it, and for what goes elsewhere behind it", "topic", name)
		case err == nil && n > 0 && n < had[name]:
			return refusal.Named("topic %s had %d partitions and has %d: it was made anew with fewer, and what it held is gone", name, had[name], n)
		}
	}
	return nil
}
