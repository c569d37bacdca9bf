package mqstarter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
)

func router(t *testing.T, c route.Config) *route.Router {
	t.Helper()
	r, err := route.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBarrier: what is alone is sent when everything before it is acknowledged,
// and what follows when it is acknowledged.
func TestBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ddl := whole(3, "c")
		ddl.Alone = true
		f := newFixture(t, whole(1, "a"), whole(2, "b"), ddl, whole(4, "d"), whole(5, "e"))
		f.start(t)
		for _, step := range []struct{ ack, sent int }{{2, 2}, {1, 3}, {3, 5}} {
			synctest.Wait()
			f.producer.ack(step.ack, nil)
			synctest.Wait()
			want(t, fmt.Sprintf("sent after the acknowledgement of %d", step.ack), f.producer.count(), step.sent)
		}
		f.cancel(errLost)
		f.ended(t)
	})
}

// TestBarrierEnds: a refused message before a barrier, or the end of the term,
// must not leave the sender waiting.
func TestBarrierEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ddl := whole(2, "b")
		ddl.Alone = true
		f := newFixture(t, whole(1, "a"), ddl)
		f.start(t)
		synctest.Wait()
		f.producer.ack(1, errClosed)
		if err := f.ended(t); err == nil || f.producer.count() != 1 {
			t.Errorf("%v after %d parcels", err, f.producer.count())
		}
	})
}

func TestRecordKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		ddl := b.Changes[0]
		b.Changes = []event.Change{rows(layout(t, "orders", 4), 1, 2), rows(layout(t, "items", 4), 3), rows(layout(t, "other", 4), 4, 5), ddl}
		f := newFixture(t, b)
		f.config.Message = style(t)
		f.config.Router = router(t, route.Config{Topic: "changes", RecordKey: `shop.orders:$pk$,shop\.i.*:name^ID^absent`})
		f.start(t)
		synctest.Wait()
		var got []string
		for _, m := range f.producer.sent[0].messages {
			got = append(got, string(m.Key))
		}
		want(t, "keys", strings.Join(got, " "), `{"id":"1"} {"id":"2"} {"name":"a name of some length","id":"3"}  `)
		if n := strings.Count(f.log.String(), "lacks=[absent]"); n != 1 {
			t.Errorf("%d warnings of a missing column:\n%s", n, &f.log)
		}
		f.cancel(errLost)
		f.ended(t)
	})
}

// TestPartitionsFromTopic: the topic's number of partitions counts, not the
// configured one.
func TestPartitionsFromTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		b.Changes = []event.Change{rows(layout(t, "orders", 4), 1, 2, 3, 4)}
		f := newFixture(t, b)
		f.config.Message = style(t)
		two := int32(2)
		f.config.Router = router(t, route.Config{Topic: "changes", PartitionHash: "shop.orders:$pk$", PartitionsNum: &two, FromTopic: true})
		f.producer.partitions = map[string]int32{"changes": 7}
		f.start(t)
		synctest.Wait()
		var got []int32
		for _, m := range f.producer.sent[0].messages {
			got = append(got, m.Partition)
		}
		// "1" … "4" are 49 … 52
		if wanted := []int32{0, 1, 2, 3}; !slices.Equal(got, wanted) {
			t.Errorf("partitions %v, want %v", got, wanted)
		}
		f.cancel(errLost)
		f.ended(t)
	})
}

// TestTableWithoutKeyIsWarnedOfOnce, and goes where Canal sends it.
func TestTableWithoutKeyIsWarnedOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		three := int32(3)
		for _, rule := range []string{`shop\..*:$pk$`, `shop\..*:absent`} {
			a, b := whole(1, "a"), whole(2, "b")
			for _, batch := range []*event.Batch{a, b} {
				l := layout(t, "heap", 4)
				l.Table.PrimaryKey = nil
				batch.Changes = []event.Change{rows(l, 1, 2), rows(l, 3)}
			}
			f := newFixture(t, a, b)
			f.config.Message = style(t)
			f.config.Router = router(t, route.Config{Topic: "changes", PartitionHash: rule, PartitionsNum: &three, DatabaseHash: true})
			f.start(t)
			synctest.Wait()
			n := 0
			for _, s := range f.producer.sent {
				for _, m := range s.messages {
					n++
					want(t, "partition", m.Partition, route.Partition(route.Hash("shop"), 3))
				}
			}
			want(t, "messages", n, 4)
			if n := strings.Count(f.log.String(), "table=shop.heap"); n != 1 {
				t.Errorf("%s: %d warnings:\n%s", rule, n, &f.log)
			}
			f.cancel(errLost)
			f.ended(t)
		}
	})
}

// TestStatementWithoutTopic is the field case KD-18: with nothing but dynamic
// topics a statement without a table has no topic, and must not block.
func TestStatementWithoutTopic(t *testing.T) {
	for _, packets := range []*PacketConfig{nil, {Bytes: 1 << 16}} {
		synctest.Test(t, func(t *testing.T) {
			grant, create := whole(1, "a"), whole(2, "b")
			grant.Changes[0].Schema, grant.Changes[0].Table, grant.Changes[0].Kind = "", "", event.Query
			f := newFixture(t, grant, create)
			f.config.Packets = packets
			f.config.Router = router(t, route.Config{DynamicTopic: `shop\..*`})
			f.producer.auto = func(_ int, done func(error)) { done(nil) }
			f.start(t)
			synctest.Wait()
			want(t, "messages of the first batch", len(f.producer.sent[0].messages), 0)
			want(t, "topic of the second", f.producer.sent[1].messages[0].Topic, "shop_orders")
			if !strings.Contains(f.log.String(), "not sent") {
				t.Errorf("log: %s", &f.log)
			}
			f.cancel(drain{})
			f.ended(t)
			want(t, "saved", f.cursor.list(), "b")
		})
	}
}

// TestRowsWithoutTopic end the term: they would be lost.
func TestRowsWithoutTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		b.Changes = []event.Change{rows(layout(t, "orders", 4), 1)}
		f := newFixture(t, b)
		f.config.Router = router(t, route.Config{DynamicTopic: `other\..*`})
		f.start(t)
		if err := f.ended(t); err == nil || !strings.Contains(err.Error(), "shop.orders") || !strings.Contains(err.Error(), "no rule gives it a topic") {
			t.Errorf("got %v", err)
		}
	})
}

// TestHeartbeat: each topic gets one at each interval, the position takes no
// notice, and one that fails ends the term.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, whole(1, "a"))
		f.config.Router = router(t, route.Config{Topic: "changes", DynamicTopic: `orders:shop\..*`, Partition: 2})
		f.config.Heartbeat, f.config.HeartbeatTopic = 10*time.Second, "changes"
		f.producer.auto = func(n int, done func(error)) {
			if n < 4 {
				done(nil)
				return
			}
			done(errClosed)
		}
		f.start(t)
		time.Sleep(25 * time.Second)
		synctest.Wait()
		want(t, "parcels", f.producer.count(), 3)
		var got []string
		f.producer.mu.Lock()
		beats := f.producer.sent[2].messages
		f.producer.mu.Unlock()
		for _, m := range beats {
			got = append(got, fmt.Sprintf("%s[%d] %s %d %s=%s %s=%s", m.Topic, m.Partition, m.Key, len(m.Value),
				m.Headers.All()[0].Key, m.Headers.All()[0].Value, m.Headers.All()[1].Key, m.Headers.All()[1].Value))
		}
		slices.Sort(got)
		want(t, "heartbeats", strings.Join(got, "\n"), "changes[2] shop 0 r-heartbeat=shop r-epoch=7\norders[2] shop 0 r-heartbeat=shop r-epoch=7")
		want(t, "saved", f.cursor.list(), "a")
		time.Sleep(10 * time.Second)
		if err := f.ended(t); err == nil || !strings.Contains(err.Error(), "heartbeat") {
			t.Errorf("result: %v", err)
		}
	})
}
