package schematopic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Two destinations share the topic; each term reads what earlier ones stored for its own.
func TestHistoryIsSharedAndKept(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	c := kafka.DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	want := map[string][]schema.Entry{}
	for i := range 6 {
		destination := []string{"orders", "users"}[i%2]
		e := schema.Entry{At: position.Position{File: "binlog.000003", Offset: uint64(100 * i)}, SQL: fmt.Sprintf("CREATE TABLE t%d (id INT)", i), Database: "shop"}
		h := New(c, "canal-relay-schema", destination, slog.New(slog.DiscardHandler))
		if err := h.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		h.Close()
		want[destination] = append(want[destination], e)
	}
	for destination, entries := range want {
		h := New(c, "canal-relay-schema", destination, slog.New(slog.DiscardHandler))
		got, err := h.Load(t.Context(), position.Position{})
		if err != nil || !cmp.Equal(got, entries) {
			t.Errorf("%s: %v\n%s", destination, err, cmp.Diff(entries, got))
		}
		h.Close()
	}
}

// The topic is made to keep everything, whatever the brokers' defaults are; one that somebody else made is looked at.
func TestHistoryNamesATopicThatLosesIt(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "theirs"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	c := kafka.DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	for topic, want := range map[string]int{"ours": 0, "theirs": 1} {
		var said strings.Builder
		for range 2 {
			said.Reset()
			h := New(c, topic, "orders", slog.New(slog.NewTextHandler(&said, nil)))
			if _, err := h.Load(t.Context(), position.Position{}); err != nil {
				t.Fatal(err)
			}
			h.Close()
		}
		if n := strings.Count(said.String(), "may lose records"); n != want {
			t.Errorf("%s: said %d times, want %d:\n%s", topic, n, want, said.String())
		}
	}
}

// A record of a newer format is refused, not misread.
func TestHistoryOfNewerVersion(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "schema"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	record := &kgo.Record{Topic: "schema", Key: []byte("orders"), Value: []byte(`{"format":99,"at":"of another kind"}`)}
	if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c := kafka.DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	h := New(c, "schema", "orders", slog.New(slog.DiscardHandler))
	defer h.Close()
	_, err = h.Load(t.Context(), position.Position{})
	if err == nil || !strings.Contains(err.Error(), "newer canal-relay") {
		t.Errorf("%v", err)
	}
}

// freePort is a port without a server. It lies below those that the kernel
// hands out, so that nobody takes it while a broker is away.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// A cluster that is away is waited for, by readers and writers.
func TestHistoryWaitsForTheCluster(t *testing.T) {
	port := freePort(t)
	c := kafka.DefaultConfig()
	c.Brokers = []string{fmt.Sprintf("127.0.0.1:%d", port)}
	var said strings.Builder
	h := New(c, "schema", "orders", slog.New(slog.NewTextHandler(&said, nil)))
	defer h.Close()
	loaded := make(chan error)
	go func() {
		_, err := h.Load(t.Context(), position.Position{})
		if err == nil {
			err = h.Append(t.Context(), schema.Entry{SQL: "CREATE TABLE t (id INT)"})
		}
		loaded <- err
	}()
	select {
	case err := <-loaded:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(3 * kafka.AskPause):
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	if err := <-loaded; err != nil {
		t.Error(err)
	}
	if n := strings.Count(said.String(), "Kafka is away"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

// What no destination needs is deleted: before the newest snapshot that is old enough, of every destination.
func TestHistoryIsTrimmed(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	c := kafka.DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	histories := map[string]*History{}
	for _, d := range []string{"orders", "users"} {
		histories[d] = New(c, "schema", d, slog.New(slog.DiscardHandler))
		defer histories[d].Close()
	}
	put := func(d string, e schema.Entry) {
		if err := histories[d].Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	length := func(d string) int {
		entries, err := histories[d].Load(t.Context(), position.Position{})
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	trim := func() {
		if err := histories["orders"].Trim(t.Context(), time.Unix(2000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	put("orders", schema.Entry{SQL: "CREATE TABLE a (id INT)"})
	put("orders", schema.Entry{Snapshot: 1000, Part: 1, Of: 1})
	put("users", schema.Entry{SQL: "CREATE TABLE b (id INT)"})
	put("orders", schema.Entry{SQL: "CREATE TABLE c (id INT)"})
	trim()
	if a, b := length("orders"), length("users"); a != 2 || b != 1 {
		t.Errorf("%d and %d entries are left, want 2 and 1", a, b)
	}
	put("orders", schema.Entry{Snapshot: 1500, Part: 1, Of: 2})
	put("orders", schema.Entry{Snapshot: 1500, Part: 2, Of: 2})
	put("orders", schema.Entry{Snapshot: 3000, Part: 1, Of: 1})
	trim()
	if a, b := length("orders"), length("users"); a != 4 || b != 1 {
		t.Errorf("%d and %d entries are left, want 4 (users needs its first) and 1", a, b)
	}
	put("users", schema.Entry{Snapshot: 1600, Part: 1, Of: 1})
	trim()
	if a, b := length("orders"), length("users"); a != 3 || b != 1 {
		t.Errorf("%d and %d entries are left, want 3 and 1", a, b)
	}
}

// A term that ends does not wait for the answer to what it has sent.
func TestAppendEndsWithTheTerm(t *testing.T) {
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "schema"))
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	c := kafka.DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	h := New(c, "schema", "orders", slog.New(slog.DiscardHandler))
	lost := errors.New("the lease is lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := make(chan struct{})
	broker.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cancel(lost)
		<-over
		return nil, nil, false
	})
	err = h.Append(ctx, schema.Entry{SQL: "CREATE TABLE t (id INT)"})
	h.Close()
	close(over)
	if !errors.Is(err, lost) {
		t.Error(err)
	}
}
