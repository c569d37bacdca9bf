package topicreader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Now().Add(-time.Hour).Truncate(time.Second)

// topics is a cluster with topics a and b of two partitions.
func topics(t *testing.T) (c Config, client func(...kgo.Opt) *kgo.Client) {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "a", "b"), kfake.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	c = Config{Kafka: kafka.DefaultConfig(), Topics: []string{"a", "b"}}
	c.Kafka.Brokers = cluster.ListenAddrs()
	return c, func(o ...kgo.Opt) *kgo.Client {
		client, err := kgo.NewClient(append(o, kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
}

// record n belongs to one of the four partitions, in turn.
func record(n int) *kgo.Record {
	return &kgo.Record{Topic: []string{"a", "b"}[n%2], Partition: int32(n / 2 % 2), Value: fmt.Append(nil, n), Timestamp: began.Add(time.Duration(n) * time.Second),
		Headers: []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, n)}}}
}

func produce(t *testing.T, cl *kgo.Client, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := cl.ProduceSync(t.Context(), record(n)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// read opens a reader and reads to the end; it is closed when the test ends.
func open(t *testing.T, c Config) *Reader {
	t.Helper()
	r, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func read(t *testing.T, r *Reader) (got []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := r.Read(ctx, func(record *Record) error {
		if string(record.Header("n")) != string(record.Value) || record.Header("none") != nil {
			t.Errorf("header %q of %q", record.Header("n"), record.Value)
		}
		got = append(got, string(record.Value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func numbers(from, to int) (all []string) {
	for n := from; n < to; n++ {
		all = append(all, fmt.Sprint(n))
	}
	return all
}

// TestByTime: records of all partitions come by their times, up to where the topics ended, and on from there when asked.
func TestByTime(t *testing.T) {
	c, client := topics(t)
	produce(t, client(), 0, 40)
	r := open(t, c)
	produce(t, client(), 40, 43)
	if got := read(t, r); !slices.Equal(got, numbers(0, 40)) {
		t.Errorf("got %v", got)
	}
	for _, want := range []bool{true, false} {
		moved, err := r.Extend(t.Context())
		if err != nil || moved != want {
			t.Errorf("moved %v, %v, want %v", moved, err, want)
		}
		if got := read(t, r); want && !slices.Equal(got, numbers(40, 43)) || !want && got != nil {
			t.Errorf("got %v", got)
		}
	}
	for _, p := range r.Ranges() {
		if !p.Whole || p.Start != 0 || p.End < 10 {
			t.Errorf("%+v", p)
		}
	}
}

func TestBounds(t *testing.T) {
	c, client := topics(t)
	produce(t, client(), 0, 40)
	c.From, c.To = Bound{Time: began.Add(10 * time.Second)}, Bound{Time: began.Add(30 * time.Second)}
	if got := read(t, open(t, c)); !slices.Equal(got, numbers(10, 30)) {
		t.Errorf("by time: %v", got)
	}
	c.From, c.To = Bound{Offset: 2}, Bound{Offset: 3}
	r := open(t, c)
	if got := read(t, r); !slices.Equal(got, numbers(8, 12)) || r.Ranges()[0].Whole {
		t.Errorf("by offset: %v, %+v", got, r.Ranges())
	}
	c.From, c.To = Bound{Offset: 100}, Bound{}
	if got := read(t, open(t, c)); got != nil {
		t.Errorf("behind the end: %v", got)
	}
}

// TestCommitted: what a transaction did not commit is passed over, also at the end of a partition.
func TestCommitted(t *testing.T) {
	c, client := topics(t)
	cl := client(kgo.TransactionalID("x"))
	for n, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		produce(t, cl, n*8, n*8+8)
		if err := cl.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, open(t, c)); len(got) != 32 {
		t.Errorf("uncommitted: %v", got)
	}
	c.Committed = true
	if got := read(t, open(t, c)); !slices.Equal(got, append(numbers(0, 8), numbers(16, 24)...)) {
		t.Errorf("committed: %v", got)
	}
}

// TestManyRecords: a partition that is far ahead of another one waits for it.
func TestManyRecords(t *testing.T) {
	c, client := topics(t)
	cl := client()
	value := make([]byte, 100_000)
	var records []*kgo.Record
	for n := range 300 {
		records = append(records, &kgo.Record{Topic: "a", Value: value, Timestamp: began.Add(time.Duration(n) * time.Second)})
	}
	records = append(records, &kgo.Record{Topic: "b", Value: []byte("last"), Timestamp: began.Add(time.Hour)})
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	r, n := open(t, c), 0
	err := r.Read(t.Context(), func(record *Record) error {
		if n++; n == 301 && string(record.Value) != "last" {
			t.Error("the last one is not the latest")
		}
		return nil
	})
	if err != nil || n != 301 {
		t.Errorf("%d records, %v", n, err)
	}
	stop := errors.New("enough")
	if err := open(t, c).Read(t.Context(), func(*Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

func TestMissingTopic(t *testing.T) {
	c, _ := topics(t)
	c.Topics = []string{"a", "none"}
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("error %v", err)
	}
}

// TestOptionalTopics: one that is there is read, one that is not is left out, and not made by the question.
func TestOptionalTopics(t *testing.T) {
	c, client := topics(t)
	produce(t, client(), 0, 8)
	c.Topics, c.Optional = []string{"a"}, []string{"none", "b", "nothing"}
	for range 2 {
		if got := read(t, open(t, c)); len(got) != 8 {
			t.Errorf("%q was read", got)
		}
	}
	for topic, want := range map[string]int32{"a": 2, "none": 0} {
		if n, err := Partitions(t.Context(), &c.Kafka, topic); n != want || (err == nil) != (want > 0) {
			t.Errorf("%s has %d partitions, %v", topic, n, err)
		}
	}
	c.Topics, c.Optional = nil, []string{"none"}
	if _, err := Open(t.Context(), c); err == nil {
		t.Error("nothing is there to be read")
	}
}
