//go:build stack

package main

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// watch follows the end of a topic, to know where in a transaction the stream is, and how long it stands still.
type watch struct {
	mu    sync.Mutex
	last  seen
	still []pause // since the last call of begin, those worth noting
}

// seen is the latest record.
type seen struct {
	at      time.Time
	records int
	epoch   string
	since   time.Time // the first record of the epoch
	row     int       // index in its transaction
	size    int       // rows of that, if it takes several batches; else 0
}

// inside reports whether the record stands within a transaction of several batches.
func (s seen) inside() bool { return s.row+1 < s.size }

// pause is a time without a record.
type pause struct {
	length time.Duration
	before seen
}

// multiBatch is a number of rows of the workload's large table that fills several batches.
const multiBatch = 10_000

func (w *world) watch(ctx context.Context) *watch {
	w.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka), kgo.ConsumeTopics(w.name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.UnknownTopicRetries(-1), kgo.MetadataMinAge(100*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	w.must(err)
	o := &watch{last: seen{at: time.Now()}}
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			for it := fetches.RecordIter(); !it.Done(); {
				o.take(it.Next())
			}
		}
	})
	w.Cleanup(func() { cl.Close(); work.Wait() })
	return o
}

func (o *watch) take(r *kgo.Record) {
	s := seen{at: time.Now()}
	for _, h := range r.Headers {
		switch h.Key {
		case message.HeaderRow:
			s.row, _ = strconv.Atoi(string(h.Value))
		case message.HeaderEpoch:
			s.epoch = string(h.Value)
		}
	}
	if _, after, ok := bytes.Cut(r.Value[:min(len(r.Value), 200)], []byte(`"size":"`)); ok {
		digits, _, _ := bytes.Cut(after, []byte(`"`))
		if n, _ := strconv.Atoi(string(digits)); n >= multiBatch {
			s.size = n
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s.records = o.last.records + 1
	if s.since = o.last.since; s.epoch != o.last.epoch {
		s.since = s.at
	}
	if length := s.at.Sub(o.last.at); length > 20*time.Millisecond {
		o.still = append(o.still, pause{length, o.last})
	}
	o.last = s
}

// now is the latest record.
func (o *watch) now() seen {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// begin forgets the pauses so far.
func (o *watch) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.still = nil
}

// longest is the longest pause since begin.
func (o *watch) longest() pause {
	o.mu.Lock()
	defer o.mu.Unlock()
	var longest pause
	for _, p := range o.still {
		if p.length > longest.length {
			longest = p
		}
	}
	return longest
}
