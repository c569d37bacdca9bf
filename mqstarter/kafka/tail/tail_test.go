package tail

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/mqstarter/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster of one topic with some partitions.
func world(t *testing.T, partitions int32) (*kfake.Cluster, *kgo.Client) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "changes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, client(t, c)
}

func client(t *testing.T, c *kfake.Cluster, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(more, kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DisableClientMetrics(), kgo.MaxBufferedRecords(100_000))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// write writes a record of a destination.
func record(partition int32, destination, tx string, row int) *kgo.Record {
	return &kgo.Record{Topic: "changes", Partition: partition, Value: []byte("v " + tx), Headers: []kgo.RecordHeader{
		{Key: message.HeaderDestination, Value: []byte(destination)}, {Key: message.HeaderPosition, Value: []byte(tx)},
		{Key: message.HeaderRow, Value: fmt.Append(nil, row)}, {Key: message.HeaderEpoch, Value: []byte("77")}}}
}

func must(t *testing.T, r kgo.ProduceResults) {
	t.Helper()
	if err := r.FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func scan(t *testing.T, c *kfake.Cluster, partitions ...int32) []message.Tail {
	t.Helper()
	var places []message.Place
	for _, p := range partitions {
		places = append(places, message.Place{Topic: "changes", Partition: p})
	}
	return Scan(t.Context(), []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics()}, "shop", places)
}

// TestLastRecordIsFound: however many records of others stand behind it, up to
// the limit; a place without records, and one that does not exist, are told
// from one in which it is not found.
func TestLastRecordIsFound(t *testing.T) {
	c, cl := world(t, 6)
	var all []*kgo.Record
	for p, others := range []int{0, 15, 500, 9_000, 10_500} {
		all = append(all, record(int32(p), "shop", "t:1", 0), record(int32(p), "shop", "t:2", p))
		for range others {
			all = append(all, record(int32(p), "other", "t:9", 9))
		}
	}
	must(t, cl.ProduceSync(t.Context(), all...))
	tails := scan(t, c, 0, 1, 2, 3, 4, 5, 9)
	for p, got := range tails[:4] {
		if !got.Found || got.Tx != "t:2" || got.Row != uint64(p) || got.Epoch != 77 || string(got.Value) != "v t:2" || time.Since(got.Time) > time.Minute {
			t.Errorf("partition %d: %+v", p, got)
		}
	}
	if got := tails[4]; got.Found || got.Empty || got.Err != nil {
		t.Errorf("beyond 10,000 records: %+v", got)
	}
	if got := tails[5]; got.Found || !got.Empty || got.Err != nil {
		t.Errorf("empty: %+v", got)
	}
	if got := tails[6]; got.Found || got.Empty || !errors.Is(got.Err, kerr.UnknownTopicOrPartition) {
		t.Errorf("missing: %+v", got)
	}
}

// TestRecordsWithoutHeaders: Canal's own records do not count.
func TestRecordsWithoutHeaders(t *testing.T) {
	c, cl := world(t, 1)
	must(t, cl.ProduceSync(t.Context(), record(0, "shop", "t:1", 3), &kgo.Record{Topic: "changes", Value: []byte("{}")}))
	if got := scan(t, c, 0)[0]; !got.Found || got.Tx != "t:1" || got.Row != 3 {
		t.Errorf("%+v", got)
	}
}

// TestUncommittedDoesNotCount: readers of what is committed do not have a record
// whose transaction was aborted, or may be.
func TestUncommittedDoesNotCount(t *testing.T) {
	c, cl := world(t, 1)
	must(t, cl.ProduceSync(t.Context(), record(0, "shop", "t:1", 0)))
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryAbort} {
		tx := client(t, c, kgo.TransactionalID(fmt.Sprint(how, time.Now())))
		if err := tx.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		name := "t:2"
		if how == kgo.TryAbort {
			name = "t:3"
		}
		must(t, tx.ProduceSync(t.Context(), record(0, "shop", name, 0)))
		if how == kgo.TryAbort {
			if got := scan(t, c, 0)[0]; got.Tx != "t:2" {
				t.Errorf("while it is open: %+v", got)
			}
		}
		if err := tx.EndTransaction(t.Context(), how); err != nil {
			t.Fatal(err)
		}
		if got := scan(t, c, 0)[0]; got.Tx != "t:2" {
			t.Errorf("when it has ended: %+v", got)
		}
	}
}

// TestSlowBroker: the scan ends with its context, and with what it found.
func TestSlowBroker(t *testing.T) {
	c, cl := world(t, 2)
	must(t, cl.ProduceSync(t.Context(), record(0, "shop", "t:1", 0)))
	asked := make(chan struct{})
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(asked)
		<-t.Context().Done() // when the test ends
		return nil, nil, false
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-asked // the bounds are known by then
		cancel()
	}()
	got := Scan(ctx, []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...), kgo.DisableClientMetrics()}, "shop",
		[]message.Place{{Topic: "changes"}, {Topic: "changes", Partition: 1}})
	if got[0].Found || got[0].Err == nil || !got[1].Empty {
		t.Errorf("%+v", got)
	}
}

// TestNotAllowed: the reason is told.
func TestNotAllowed(t *testing.T) {
	c, cl := world(t, 1)
	must(t, cl.ProduceSync(t.Context(), record(0, "shop", "t:1", 0)))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	if got := scan(t, c, 0)[0]; got.Found || !errors.Is(got.Err, kerr.TopicAuthorizationFailed) {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Scan(ctx, []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)}, "shop", []message.Place{{Topic: "changes"}})[0]; got.Err == nil {
		t.Errorf("a context that is over: %+v", got)
	}
}
