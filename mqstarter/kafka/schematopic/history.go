package schematopic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/settings"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// historyFormat is the version of the records that are written; a newer one is refused.
const historyFormat = 1

// History keeps the schema history of a destination in a topic that all
// destinations of a cluster share: one partition, key = destination, value =
// JSON, kept for ever. It is made for a term and closed at its end.
type History struct {
	config             kafka.Config
	topic, destination string
	log                *slog.Logger
	client             *kgo.Client // from the first use on
	away               bool        // it was said that the cluster is away
}

// historyRecord is the value of a record.
type historyRecord struct {
	Format int `json:"format"`
	schema.Entry
}

// New returns the history of a destination in a topic. It does no I/O.
func New(c kafka.Config, topic, destination string, l *slog.Logger) *History {
	return &History{config: c, topic: topic, destination: destination, log: l}
}

// Close lets go of the connections.
func (h *History) Close() {
	if h.client != nil {
		h.client.Close()
		h.client = nil
	}
}

// connect makes the client and, when it is missing, the topic.
func (h *History) connect(ctx context.Context) error {
	if h.client != nil {
		return nil
	}
	options, err := h.config.Options()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(options, kgo.ProducerBatchMaxBytes(int32(h.config.BatchLimit())))...)
	if err != nil {
		return fmt.Errorf("set up Kafka client: %w", err)
	}
	forever, policy := "-1", "delete"
	_, err = kadm.NewClient(client).CreateTopic(ctx, 1, h.config.Replication,
		map[string]*string{"cleanup.policy": &policy, "retention.ms": &forever, "retention.bytes": &forever}, h.topic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		if losing, _ := settings.Losing(ctx, client, h.config.Brokers, h.topic, false); losing != "" {
			h.log.Warn("the schema topic may lose records that must stay", "topic", h.topic, "settings", losing)
		}
	} else if err != nil {
		client.Close()
		if away(err) {
			return fmt.Errorf("create topic %s: %w", h.topic, err)
		}
		return fmt.Errorf("create topic %s: %w: an administrator may create it with kafka-topics --bootstrap-server %s --create --topic %s "+
			"--partitions 1 --config cleanup.policy=delete --config retention.ms=-1 --config retention.bytes=-1", h.topic, err, strings.Join(h.config.Brokers, ","), h.topic)
	}
	h.client = client
	return nil
}

// wait repeats a step for as long as it fails because the cluster is away.
func (h *History) wait(ctx context.Context, step func() error) error {
	for {
		err := step()
		if err == nil || ctx.Err() != nil || !away(err) {
			return err
		}
		if !h.away {
			h.log.Warn("Kafka is away, waiting for it with the schema history", "topic", h.topic, "err", err)
		}
		h.away = true
		select {
		case <-time.After(kafka.AskPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// away tells a cluster that cannot be asked at the moment from an answer. The
// term's producer was let in with the same settings, so that a broker which
// closes a connection at once is one that shuts down.
func away(err error) bool {
	var network *net.OpError
	return !refusal.Is(err) && (errors.As(err, &network) || errors.Is(err, io.EOF) || kgo.IsRetryableBrokerErr(err) || kerr.IsRetriable(err))
}

// Load reads the topic to its present end. It waits for a cluster that is away.
func (h *History) Load(ctx context.Context, _ position.Position) (entries []schema.Entry, err error) {
	err = h.wait(ctx, func() error {
		entries, err = h.load(ctx)
		return err
	})
	return entries, err
}

func (h *History) load(ctx context.Context) ([]schema.Entry, error) {
	var entries []schema.Entry
	err := h.each(ctx, func(r *kgo.Record) error {
		if string(r.Key) != h.destination {
			return nil
		}
		e, err := h.entry(r)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// each reads the topic to its present end.
func (h *History) each(ctx context.Context, f func(*kgo.Record) error) error {
	if err := h.connect(ctx); err != nil {
		return err
	}
	admin := kadm.NewClient(h.client)
	starts, err := admin.ListStartOffsets(ctx, h.topic)
	ends, err2 := admin.ListEndOffsets(ctx, h.topic)
	if err = cmp.Or(err, starts.Error(), err2, ends.Error()); err != nil {
		return fmt.Errorf("find the ends of topic %s: %w", h.topic, err)
	}
	start, _ := starts.Lookup(h.topic, 0)
	end, _ := ends.Lookup(h.topic, 0)
	options, err := h.config.Options()
	if err != nil {
		return err
	}
	reader, err := kgo.NewClient(append(options, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{h.topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		return fmt.Errorf("set up Kafka client: %w", err)
	}
	defer reader.Close()
	for next := start.Offset; next < end.Offset; {
		fetches := reader.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read topic %s: %w", h.topic, errs[0].Err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			next = r.Offset + 1
			if err := f(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry reads a record.
func (h *History) entry(r *kgo.Record) (schema.Entry, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(r.Value, &head); err == nil && head.Format > historyFormat { // the rest may be of another kind
		return schema.Entry{}, fmt.Errorf("topic %s holds records of format %d at offset %d, written by a newer canal-relay: this one reads up to %d",
			h.topic, head.Format, r.Offset, historyFormat)
	}
	var record historyRecord
	if err := json.Unmarshal(r.Value, &record); err != nil {
		return record.Entry, fmt.Errorf("read topic %s at offset %d: %w", h.topic, r.Offset, err)
	}
	return record.Entry, nil
}

// Trim deletes the records that no destination of the topic needs: those before
// the newest snapshots that were taken before a time. A destination that has no
// such snapshot needs all of its records.
func (h *History) Trim(ctx context.Context, before time.Time) error {
	entries, offsets := map[string][]schema.Entry{}, map[string][]int64{}
	err := h.each(ctx, func(r *kgo.Record) error {
		e, err := h.entry(r)
		d := string(r.Key)
		entries[d], offsets[d] = append(entries[d], e), append(offsets[d], r.Offset)
		return err
	})
	if err != nil {
		return err
	}
	needed := int64(math.MaxInt64)
	for d, list := range entries {
		needed = min(needed, offsets[d][schema.Needless(list, before)])
	}
	if len(entries) == 0 {
		return nil
	}
	var to kadm.Offsets
	to.AddOffset(h.topic, 0, needed, -1)
	answers, err := kadm.NewClient(h.client).DeleteRecords(ctx, to)
	if err = cmp.Or(err, answers.Error()); err != nil {
		h.log.Warn("old schema history stays in its topic", "topic", h.topic, "err", err)
	}
	return nil
}

// Append stores an entry and waits until all replicas in sync have it, also for
// a cluster that is away.
func (h *History) Append(ctx context.Context, e schema.Entry) error {
	value, err := json.Marshal(historyRecord{Format: historyFormat, Entry: e})
	if err != nil {
		return err
	}
	return h.wait(ctx, func() error {
		if err := h.connect(ctx); err != nil {
			return err
		}
		if err := h.produce(ctx, &kgo.Record{Topic: h.topic, Key: []byte(h.destination), Value: value}); err != nil {
			return fmt.Errorf("write to topic %s: %w", h.topic, err)
		}
		return nil
	})
}

// produce writes a record and waits for its acknowledgement, or for the context:
// the client does not give up a record that it has sent once, and a term that
// ends could not wait for that. Whether the record is there is then open, as it
// is when a process is killed.
func (h *History) produce(ctx context.Context, record *kgo.Record) error {
	done := make(chan error, 1)
	h.client.Produce(ctx, record, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
