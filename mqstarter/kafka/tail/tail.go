package tail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// DefaultTimeout bounds one Scan, whatever was found by then.
const DefaultTimeout = time.Second

// windows are how many records from the end are looked at, in steps: most often
// the last record is our own.
var windows = [...]int64{16, 512, 10_000}

const (
	fetchWait      = 100 * time.Millisecond
	fetchBytes     = 8 << 20
	partitionBytes = 1 << 20
)

// part is what is read of one place.
type part struct {
	place       message.Place
	start, end  int64 // offsets that there are
	from, until int64 // offsets of the step under way
	next        int64 // offset to be read next
	tail        *message.Tail
}

// Scan looks, in each place, for the last record whose r-dest is the
// destination: at most 10,000 records from the end, and until the context ends.
// Records of transactions that were aborted or are not committed do not count.
// A place that cannot be read is not found, with the reason.
func Scan(ctx context.Context, options []kgo.Opt, destination string, places []message.Place) []message.Tail {
	tails := make([]message.Tail, len(places))
	parts := make([]*part, len(places))
	for i, place := range places {
		parts[i] = &part{place: place, tail: &tails[i]}
	}
	if err := bounds(ctx, options, parts); err != nil {
		for i := range tails {
			tails[i].Err = cmp.Or(tails[i].Err, err)
		}
		return tails
	}
	for step := range windows {
		if !read(ctx, options, destination, parts, step) {
			break
		}
	}
	return tails
}

// bounds asks where the places begin and end for a reader of what is committed.
func bounds(ctx context.Context, options []kgo.Opt, parts []*part) error {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	var topics []string
	for _, p := range parts {
		topics = append(topics, p.place.Topic)
	}
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list offsets: %w", err)
	}
	ends, err := admin.ListCommittedOffsets(ctx, topics...)
	if err != nil {
		return fmt.Errorf("list offsets: %w", err)
	}
	for _, p := range parts {
		start, _ := starts.Lookup(p.place.Topic, p.place.Partition)
		end, found := ends.Lookup(p.place.Topic, p.place.Partition)
		p.tail.Err = cmp.Or(start.Err, end.Err)
		if !found {
			p.tail.Err = kerr.UnknownTopicOrPartition
		}
		if p.tail.Err == nil {
			p.start, p.end, p.until = start.Offset, end.Offset, end.Offset
			p.tail.Empty = p.start >= p.end
		}
	}
	return nil
}

// read looks at one more step of the places in which nothing was found yet. It
// reports whether another one may help.
func read(ctx context.Context, options []kgo.Opt, destination string, parts []*part, step int) bool {
	from := make(map[string]map[int32]kgo.Offset)
	open := make(map[message.Place]*part)
	for _, p := range parts {
		if p.tail.Found || p.tail.Err != nil || p.start >= p.until {
			continue
		}
		p.from = max(p.start, p.end-windows[step])
		p.next = p.from
		if from[p.place.Topic] == nil {
			from[p.place.Topic] = make(map[int32]kgo.Offset)
		}
		from[p.place.Topic][p.place.Partition] = kgo.NewOffset().At(p.from)
		open[p.place] = p
	}
	if len(open) == 0 {
		return false
	}
	// A step has its own client: moving one that reads ahead would mean to tell
	// old answers from new ones.
	client, err := kgo.NewClient(append(options[:len(options):len(options)], kgo.ConsumePartitions(from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(fetchWait),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(partitionBytes))...)
	if err != nil {
		for _, p := range open {
			p.tail.Err = err
		}
		return false
	}
	defer client.Close()
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			place := message.Place{Topic: f.Topic, Partition: f.Partition}
			if p := open[place]; p != nil && p.take(destination, f) {
				delete(open, place)
			}
		})
		if err := ctx.Err(); err != nil {
			for _, p := range open {
				p.tail.Err = errors.New("there was not enough time")
			}
			return false
		}
	}
	return true
}

// take looks at what was fetched, and reports whether the step is over for its
// place.
func (p *part) take(destination string, f kgo.FetchTopicPartition) (done bool) {
	for _, r := range f.Records {
		if r.Offset >= p.until {
			p.next = r.Offset
			break
		}
		p.next = r.Offset + 1
		if t, ok := ours(destination, r); ok {
			*p.tail = t
		}
	}
	if f.Err != nil && !kerr.IsRetriable(f.Err) && !errors.Is(f.Err, context.DeadlineExceeded) && !errors.Is(f.Err, context.Canceled) {
		p.tail.Err = f.Err
		return true
	}
	if p.next < p.until {
		return false
	}
	p.until = p.from
	return true
}

// ours reads the headers of a record that the destination wrote.
func ours(destination string, r *kgo.Record) (t message.Tail, ok bool) {
	if r.Attrs.IsControl() {
		return t, false
	}
	t = message.Tail{Epoch: -1, Time: r.Timestamp, Value: r.Value}
	row := errors.New("none")
	for _, h := range r.Headers {
		switch h.Key {
		case message.HeaderDestination:
			t.Found = string(h.Value) == destination
		case message.HeaderPosition:
			t.Tx = string(h.Value)
		case message.HeaderRow:
			t.Row, row = strconv.ParseUint(string(h.Value), 10, 64)
		case message.HeaderEpoch:
			if epoch, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil {
				t.Epoch = epoch
			}
		}
	}
	return t, t.Found && t.Tx != "" && row == nil
}
