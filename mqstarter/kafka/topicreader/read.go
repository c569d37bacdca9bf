package topicreader

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lane is one partition.
type lane struct {
	Range
	next   int64 // offset from which nothing was fetched yet
	held   []*kgo.Record
	bytes  int  // of held
	paused bool // not fetched for now
}

func (l *lane) done() bool { return l.next >= l.End }

// Read hands every record up to the ends to each, and returns its error if it
// has one. Records of a partition come in their order, and those of several
// partitions by their times, as far as these grow within partitions. After
// Extend it may be called again.
func (r *Reader) Read(ctx context.Context, each func(*Record) error) error {
	index := make(map[place]*lane, len(r.lanes))
	for _, l := range r.lanes {
		index[place{l.Topic, l.Partition}] = l
	}
	for {
		if err := r.hand(each); err != nil {
			return err
		}
		if r.finished() {
			return nil
		}
		fetches := r.client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read topic %s, partition %d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if l := index[place{p.Topic, p.Partition}]; l != nil {
				r.take(l, p.Records)
			}
		})
	}
}

// hungry reports whether some partition must be fetched before more can be
// handed out.
func (r *Reader) hungry() bool {
	for _, l := range r.lanes {
		if len(l.held) == 0 && !l.done() {
			return true
		}
	}
	return false
}

// finished reports whether everything before the ends was handed out.
func (r *Reader) finished() bool {
	for _, l := range r.lanes {
		if !l.done() || len(l.held) > 0 && l.held[0].Offset < l.End {
			return false
		}
	}
	return true
}

// take keeps what was fetched. What stands behind the end stays for Extend.
func (r *Reader) take(l *lane, records []*kgo.Record) {
	idle := len(l.held) == 0
	for _, record := range records {
		l.next = record.Offset + 1
		if record.Attrs.IsControl() { // it only tells how far one is
			continue
		}
		l.held = append(l.held, record)
		l.bytes += len(record.Value)
	}
	if idle && len(l.held) > 0 {
		heap.Push(&r.waiting, l)
	}
	if !l.paused && l.bytes > maxHeld {
		l.paused = true
		r.client.PauseFetchPartitions(map[string][]int32{l.Topic: {l.Partition}})
	}
}

// hand gives out records for as long as every partition has one or is done.
func (r *Reader) hand(each func(*Record) error) error {
	var out Record
	var parked []*lane // whose next record is behind the end
	defer func() {
		for _, l := range parked {
			heap.Push(&r.waiting, l)
		}
	}()
	for hungry := r.hungry(); len(r.waiting) > 0 && !hungry; {
		l := r.waiting[0]
		record := l.held[0]
		if record.Offset >= l.End {
			parked = append(parked, heap.Pop(&r.waiting).(*lane))
			continue
		}
		l.held[0] = nil
		l.held = l.held[1:]
		l.bytes -= len(record.Value)
		if len(l.held) == 0 {
			heap.Pop(&r.waiting)
			hungry = !l.done()
		} else {
			heap.Fix(&r.waiting, 0)
		}
		if l.paused && l.bytes < maxHeld/2 {
			l.paused = false
			r.client.ResumeFetchPartitions(map[string][]int32{l.Topic: {l.Partition}})
		}
		out = Record{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset, Time: record.Timestamp, Value: record.Value, headers: record.Headers}
		if err := each(&out); err != nil {
			return err
		}
	}
	return nil
}

// byTime orders lanes by the time of their next record.
type byTime []*lane

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].held[0].Timestamp.Before(h[j].held[0].Timestamp) }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(l any)        { *h = append(*h, l.(*lane)) }
func (h *byTime) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h = old[:len(old)-1]
	return l
}
