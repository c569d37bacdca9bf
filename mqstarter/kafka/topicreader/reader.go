package topicreader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
)

// Config is what a Reader is told.
type Config struct {
	Kafka     kafka.Config
	Topics    []string
	Optional  []string // read as well, if the cluster has them and lets them be read
	Committed bool     // pass over what transactions have not committed

	// From and To bound what is read in every partition. A zero Bound is the
	// beginning, and the end at the time of Open.
	From, To Bound
}

// Bound is a place in a partition: the first record at or after a time, else an
// offset.
type Bound struct {
	Time   time.Time
	Offset int64 // 0 for none
}

// ParseBound reads an offset, or a time of RFC 3339; empty text is the zero Bound.
func ParseBound(text string) (Bound, error) {
	if text == "" {
		return Bound{}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		return Bound{Offset: n}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return Bound{}, fmt.Errorf("%q: write a time as 2026-11-30T09:00:00Z, or an offset", text)
	}
	return Bound{Time: t}, nil
}

// Record is one record of a topic. Its bytes are the reader's until the
// function that got it returns.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Time      time.Time // by the producer's clock, unless the broker sets it
	Value     []byte
	headers   []kgo.RecordHeader
}

// Header returns the value of a header, nil if the record has none of that name.
func (r *Record) Header(key string) []byte {
	for i := range r.headers {
		if r.headers[i].Key == key {
			return r.headers[i].Value
		}
	}
	return nil
}

// Range is what is read of a partition: offsets from Start to before End.
// Whole says that the partition has nothing before Start and never had.
type Range struct {
	Topic      string
	Partition  int32
	Start, End int64
	Whole      bool
}

// maxHeld is how many bytes of a partition's records wait for the other
// partitions before no more of it is fetched.
const maxHeld = 4 << 20

// Reader reads topics. It belongs to one goroutine.
type Reader struct {
	config  Config // Topics are all that are read
	client  *kgo.Client
	lanes   []*lane
	waiting byTime // lanes that have a record, the earliest first
}

type place struct {
	topic     string
	partition int32
}

// Open finds the ranges to read. It fails at once when a topic is missing or
// the cluster cannot be asked.
func Open(ctx context.Context, c Config) (*Reader, error) {
	options, err := options(&c.Kafka)
	if err != nil {
		return nil, err
	}
	isolation := kgo.ReadUncommitted()
	if c.Committed {
		isolation = kgo.ReadCommitted()
	}
	// Control records tell how far a partition was read where nothing else is
	// at its end.
	options = append(options, kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(16<<20), kgo.FetchMaxPartitionBytes(2<<20), kgo.BrokerMaxReadBytes(1<<30), kgo.MaxConcurrentFetches(1))
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("set up Kafka client: %w", err)
	}
	r := &Reader{config: c, client: client}
	if err := r.locate(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return r, nil
}

// options are those of a client that reads.
func options(c *kafka.Config) ([]kgo.Opt, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c.Options()
}

// Partitions returns how many a topic has.
func Partitions(ctx context.Context, c *kafka.Config, topic string) (int32, error) {
	options, err := options(c)
	if err != nil {
		return 0, err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return 0, fmt.Errorf("set up Kafka client: %w", err)
	}
	defer client.Close()
	all, err := kadm.NewClient(client).ListTopics(ctx, topic)
	if err = cmp.Or(err, all.Error()); err != nil {
		return 0, fmt.Errorf("count the partitions of %s: %w", topic, err)
	}
	return int32(len(all[topic].Partitions)), nil
}

// Close lets go of the connections.
func (r *Reader) Close() { r.client.Close() }

// Ranges tells what is read.
func (r *Reader) Ranges() []Range {
	all := make([]Range, len(r.lanes))
	for i, l := range r.lanes {
		all[i] = l.Range
	}
	return all
}

// locate asks where the partitions begin and end.
func (r *Reader) locate(ctx context.Context) error {
	admin := kadm.NewClient(r.client)
	first, err := admin.ListStartOffsets(ctx, slices.Concat(r.config.Topics, r.config.Optional)...)
	if err == nil {
		r.choose(first)
		err = first.Error()
	}
	if err != nil {
		return fmt.Errorf("find the beginning of %s: %w", strings.Join(r.config.Topics, ", "), err)
	}
	starts, err := r.bound(ctx, r.config.From, first)
	if err != nil {
		return err
	}
	ends, err := r.ends(ctx)
	if err != nil {
		return err
	}
	assign := map[string]map[int32]kgo.Offset{}
	for _, o := range starts.Offsets().Sorted() {
		begin, _ := first.Lookup(o.Topic, o.Partition)
		at := max(o.At, begin.Offset)
		l := &lane{Range: Range{Topic: o.Topic, Partition: o.Partition, Start: at, End: max(at, ends[place{o.Topic, o.Partition}]), Whole: at == 0}, next: at}
		r.lanes = append(r.lanes, l)
		if assign[o.Topic] == nil {
			assign[o.Topic] = map[int32]kgo.Offset{}
		}
		assign[o.Topic][o.Partition] = kgo.NewOffset().At(at)
	}
	if len(r.lanes) == 0 {
		return errors.New("the topics have no partition")
	}
	r.client.AddConsumePartitions(assign)
	return nil
}

// choose adds the optional topics that are there to those that are read.
func (r *Reader) choose(listed kadm.ListedOffsets) {
	r.config.Topics = slices.Clone(r.config.Topics)
	for _, topic := range r.config.Optional {
		there := len(listed[topic]) > 0
		for _, o := range listed[topic] {
			there = there && !errors.Is(o.Err, kerr.UnknownTopicOrPartition) && !errors.Is(o.Err, kerr.TopicAuthorizationFailed)
		}
		if there {
			r.config.Topics = append(r.config.Topics, topic)
		} else {
			delete(listed, topic)
		}
	}
}

// bound turns a Bound into offsets; otherwise is what a zero one means.
func (r *Reader) bound(ctx context.Context, b Bound, otherwise kadm.ListedOffsets) (kadm.ListedOffsets, error) {
	switch {
	case !b.Time.IsZero():
		found, err := kadm.NewClient(r.client).ListOffsetsAfterMilli(ctx, b.Time.UnixMilli(), r.config.Topics...)
		if err = cmp.Or(err, found.Error()); err != nil {
			return nil, fmt.Errorf("find the offsets at %s: %w", b.Time.Format(time.RFC3339), err)
		}
		return found, nil
	case b.Offset > 0:
		set := kadm.ListedOffsets{}
		otherwise.Each(func(o kadm.ListedOffset) {
			if set[o.Topic] == nil {
				set[o.Topic] = map[int32]kadm.ListedOffset{}
			}
			o.Offset = b.Offset
			set[o.Topic][o.Partition] = o
		})
		return set, nil
	}
	return otherwise, nil
}

func (r *Reader) ends(ctx context.Context) (map[place]int64, error) {
	admin := kadm.NewClient(r.client)
	list := admin.ListEndOffsets
	if r.config.Committed {
		list = admin.ListCommittedOffsets
	}
	last, err := list(ctx, r.config.Topics...)
	if err = cmp.Or(err, last.Error()); err != nil {
		return nil, fmt.Errorf("find the end of %s: %w", strings.Join(r.config.Topics, ", "), err)
	}
	to, err := r.bound(ctx, r.config.To, last)
	if err != nil {
		return nil, err
	}
	ends := map[place]int64{}
	to.Each(func(o kadm.ListedOffset) {
		end, _ := last.Lookup(o.Topic, o.Partition)
		ends[place{o.Topic, o.Partition}] = min(o.Offset, end.Offset)
	})
	return ends, nil
}

// Extend moves the end to where it is now, and reports whether that is further
// on than before.
func (r *Reader) Extend(ctx context.Context) (moved bool, err error) {
	ends, err := r.ends(ctx)
	if err != nil {
		return false, err
	}
	for _, l := range r.lanes {
		if end := ends[place{l.Topic, l.Partition}]; end > l.End {
			l.End, moved = end, true
		}
	}
	return moved, nil
}
