package mqstarter

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
)

// fields calls each for the fields of a protobuf message.
func fields(t *testing.T, b []byte, each func(number int, v uint64, bytes []byte)) {
	t.Helper()
	for len(b) > 0 {
		number, wire := int(b[0]>>3), b[0]&7
		v, n := binary.Uvarint(b[1:])
		b = b[1+n:]
		if wire == 0 {
			each(number, v, nil)
			continue
		}
		each(number, v, b[:v])
		b = b[v:]
	}
}

// packets shows records, a line each: place, headers, form, and entries: [ and ] around transactions, a statement as its
// table, rows as table:ids.
func packets(t *testing.T, messages []message.Message) string {
	t.Helper()
	var all []string
	for _, m := range messages {
		form, entries := "raw", []string(nil)
		batch := uint64(0)
		fields(t, m.Value, func(number int, _ uint64, body []byte) {
			if number == 2 {
				form = "rebuilt"
			}
			if number != 5 {
				return
			}
			fields(t, body, func(number int, v uint64, e []byte) {
				if number == 1 {
					batch = v
				} else {
					entries = append(entries, entryText(t, e))
				}
			})
		})
		headers := "none"
		if m.Headers.Origin != nil {
			headers = fmt.Sprintf("%s#%s", m.Headers.All()[1].Value, m.Headers.All()[2].Value)
		}
		all = append(all, fmt.Sprintf("%s/%d %s %s %d: %s", m.Topic, m.Partition, headers, form, batch, strings.Join(entries, " ")))
	}
	return strings.Join(all, "\n")
}

func entryText(t *testing.T, e []byte) string {
	t.Helper()
	var table string
	var kind uint64
	var ids []string
	fields(t, e, func(number int, v uint64, b []byte) {
		switch number {
		case 1:
			fields(t, b, func(number int, _ uint64, b []byte) {
				if number == 9 {
					table = string(b)
				}
			})
		case 2:
			kind = v
		case 3:
			fields(t, b, func(number int, _ uint64, b []byte) {
				if number != 12 {
					return
				}
				fields(t, b, func(_ int, _ uint64, b []byte) {
					first, value := false, ""
					fields(t, b, func(number int, v uint64, b []byte) {
						first = first || number == 1 && v == 0
						if number == 8 {
							value = string(b)
						}
					})
					if first {
						ids = append(ids, value)
					}
				})
			})
		}
	})
	switch {
	case kind == 1:
		return "["
	case kind == 3:
		return "]"
	case ids == nil:
		return table
	}
	return table + ":" + strings.Join(ids, ",")
}

// tx is a transaction: its begin, changes with the index of their rows, and its end.
func tx(name string, changes ...event.Change) []event.Change {
	all := []event.Change{{Kind: event.Begin, Thread: 3}}
	row := uint64(0)
	for _, c := range changes {
		c.Row = row
		row += uint64(c.Rows)
		all = append(all, c)
	}
	all = append(all, event.Change{Kind: event.End, XID: 9, Row: row})
	for i := range all {
		all[i].Tx = []byte(name)
	}
	return all
}

// sentPackets runs a term over batches and shows what it sent, or why it ended.
func sentPackets(t *testing.T, set func(*fixture), batches ...*event.Batch) (text string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, batches...)
		f.config.Message = style(t)
		f.config.Packets = &PacketConfig{Form: message.Packet{Raw: true}, Boundaries: true, Bytes: 50 << 10}
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		set(f)
		f.start(t)
		synctest.Wait()
		var lines []string
		for i := range f.producer.sent {
			if s := packets(t, f.producer.sent[i].messages); s != "" {
				lines = append(lines, s)
			}
		}
		text = strings.Join(lines, "\n")
		f.cancel(errLost)
		err = f.ended(t)
	})
	return text, err
}

func batchOf(id uint64, changes ...[]event.Change) *event.Batch {
	b := &event.Batch{ID: id}
	for _, c := range changes {
		b.Changes = append(b.Changes, c...)
	}
	return b
}

func TestPackets(t *testing.T) {
	orders, items := layout(t, "orders", 4), layout(t, "items", 4)
	ddl := event.Change{Kind: event.Create, DDL: true, Schema: "shop", Table: "orders", SQL: "create table orders", Rows: 1, Tx: []byte("ddl")}
	three := int32(3)
	routed := func(c route.Config) func(*fixture) {
		return func(f *fixture) {
			var err error
			c.Topic, c.PartitionsNum = "changes", &three
			if f.config.Router, err = route.New(c); err != nil {
				t.Fatal(err)
			}
			f.config.Packets.Form.Raw, f.config.Packets.Boundaries = false, false
		}
	}
	rebuilt := func(f *fixture) { f.config.Packets.Form.Raw = false }
	hidden := func(f *fixture) { rebuilt(f); f.config.Packets.Boundaries = false }
	short := func(f *fixture) { f.config.Packets.Bytes = 450 }
	one := func() *event.Batch {
		return batchOf(1, tx("a", rows(orders, 1, 3, 2), rows(items, 1)), []event.Change{ddl}, tx("b", rows(orders, 4)))
	}
	tests := []struct {
		name    string
		set     func(*fixture)
		batches []*event.Batch
		want    string
	}{
		{"one record a batch", func(*fixture) {}, []*event.Batch{one(), batchOf(2, tx("c", rows(orders, 5)))},
			"changes/0 b#0 raw 1: [ orders:1,3,2 items:1 ] orders [ orders:4 ]\nchanges/0 c#0 raw 2: [ orders:5 ]"},
		{"rebuilt", rebuilt, []*event.Batch{batchOf(3, tx("a", rows(orders, 1, 2)))}, "changes/0 a#1 rebuilt 0: [ orders:1,2 ]"},
		{"boundaries held back", hidden, []*event.Batch{batchOf(3, tx("a", rows(orders, 1, 2)))}, "changes/0 a#1 rebuilt 0: orders:1,2"},
		{"nothing but boundaries", hidden, []*event.Batch{batchOf(1, tx("a")), batchOf(2)}, "changes/0 a#0 rebuilt 0: "},
		{"no headers", func(f *fixture) { f.config.Headers = false }, []*event.Batch{batchOf(1, tx("a", rows(orders, 1)))}, "changes/0 none raw 1: [ orders:1 ]"},
		{"topics", routed(route.Config{DynamicTopic: `items:shop\.items`}), []*event.Batch{one()},
			"changes/0 b#0 rebuilt 0: orders:1,3,2 orders orders:4\nitems/0 a#3 rebuilt 0: items:1"},
		// "1" hashes to 49: 49 mod 3 is 1; so 3 is 0 and 2 is 2, and 4 is 52: 1 again.
		{"partitions", routed(route.Config{PartitionHash: `shop\.orders:ID,shop\.none:x`}), []*event.Batch{one()},
			"changes/1 b#0 rebuilt 0: orders:1 orders:4\nchanges/0 ddl#0 rebuilt 0: orders:3 items:1 orders\nchanges/2 a#2 rebuilt 0: orders:2"},
		{"cut", short, []*event.Batch{batchOf(1, tx("a", rows(orders, 1), rows(orders, 2), rows(orders, 3)), tx("b", rows(orders, 4)))},
			"changes/0 a#0 raw 1: [ orders:1\nchanges/0 a#1 raw 1: orders:2\nchanges/0 a#2 raw 1: orders:3 ]\nchanges/0 b#0 raw 1: [ orders:4 ]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sentPackets(t, tt.set, tt.batches...)
			if err != nil {
				t.Error(err)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestPacketsWithinTheTopicsLimit: what a topic does not take is cut, split by row, or refused.
func TestPacketsWithinTheTopicsLimit(t *testing.T) {
	l := layout(t, "orders", 12)
	limit := func(n int) func(*fixture) {
		return func(f *fixture) { f.producer.limits = map[string]int{"changes": n} }
	}
	b := func() *event.Batch { return batchOf(1, tx("a", rows(l, 1, 2, 3), rows(l, 4))) }
	got, err := sentPackets(t, limit(1200), b())
	want := "changes/0 a#0 raw 1: [ orders:1\nchanges/0 a#1 raw 1: orders:2\nchanges/0 a#2 raw 1: orders:3\nchanges/0 a#3 raw 1: orders:4 ]"
	if got != want || err != nil {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
	got, err = sentPackets(t, limit(500), b())
	if got != "" || err == nil || !strings.Contains(err.Error(), `too large`) || !strings.Contains(err.Error(), `primary key {"id":"1"}`) {
		t.Errorf("got %s, %v", got, err)
	}
	for n := 850; n < 4000; n += 37 {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, b())
			f.config.Message = style(t)
			f.config.Packets = &PacketConfig{Form: message.Packet{Raw: true}, Boundaries: true, Bytes: 50 << 10}
			limit(n)(f)
			f.start(t)
			synctest.Wait()
			if len(f.producer.sent) == 1 {
				for i, m := range f.producer.sent[0].messages {
					size := len(m.Value)
					for _, h := range m.Headers.All() {
						size += headerFraming + len(h.Key) + len(h.Value)
					}
					if size > n {
						t.Errorf("limit %d: record %d has %d bytes", n, i, size)
					}
				}
			}
			f.cancel(errLost)
			_ = f.ended(t)
		})
	}
}

// TestPackerMemory: what one batch left does not show in the next, and a huge batch's memory is let go of.
func TestPackerMemory(t *testing.T) {
	k := newPacker(PacketConfig{}, message.Config{})
	k.frames = make([]byte, 10, maxPooled+1)
	k.append(place{"t", 1}, 0, entry{next: -1})
	k.reset()
	if k.frames != nil || len(k.entries)+len(k.runs)+len(k.index) > 0 {
		t.Errorf("left: %+v", k)
	}
}
