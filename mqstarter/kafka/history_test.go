package kafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

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
	c := DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	want := map[string][]schema.Entry{}
	for i := range 6 {
		destination := []string{"orders", "users"}[i%2]
		e := schema.Entry{At: position.Position{File: "binlog.000003", Offset: uint64(100 * i)}, SQL: fmt.Sprintf("CREATE TABLE t%d (id INT)", i), Database: "shop"}
		h := NewHistory(c, "canal-relay-schema", destination)
		if err := h.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		h.Close()
		want[destination] = append(want[destination], e)
	}
	for destination, entries := range want {
		h := NewHistory(c, "canal-relay-schema", destination)
		got, err := h.Load(t.Context(), position.Position{})
		if err != nil || !cmp.Equal(got, entries) {
			t.Errorf("%s: %v\n%s", destination, err, cmp.Diff(entries, got))
		}
		h.Close()
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
	record := &kgo.Record{Topic: "schema", Key: []byte("orders"), Value: []byte(`{"format":99}`)}
	if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Brokers = broker.ListenAddrs()
	h := NewHistory(c, "schema", "orders")
	defer h.Close()
	_, err = h.Load(t.Context(), position.Position{})
	if err == nil || !strings.Contains(err.Error(), "newer canal-relay") {
		t.Errorf("%v", err)
	}
}
