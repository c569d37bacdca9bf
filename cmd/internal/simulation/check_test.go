package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// record is what a reader gets.
type record struct {
	offset int64
	epoch  int64
	ids    []int
}

var statementID = regexp.MustCompile(`/\* (\d+) \*/`)

// read returns the records of all partitions.
func (w *world) read(t testing.TB) map[string][]record {
	offsets, left := map[string]map[int32]kgo.Offset{}, map[string]int64{}
	for topic, n := range partitions {
		offsets[topic] = map[int32]kgo.Offset{}
		for i := range n {
			offsets[topic][i] = kgo.NewOffset().AtStart()
			left[name(topic, i)] = w.kafka.PartitionInfo(topic, i).HighWatermark
		}
	}
	client, err := kgo.NewClient(kgo.SeedBrokers("localhost:9092"), kgo.ConsumePartitions(offsets), kgo.DisableClientMetrics(),
		kgo.KeepControlRecords(), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return w.network.DialContext(ctx, network, "localhost:9092")
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all := map[string][]record{}
	maps.DeleteFunc(left, func(_ string, end int64) bool { return end == 0 })
	for len(left) > 0 {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			p := name(r.Topic, r.Partition)
			if !r.Attrs.IsControl() {
				all[p] = append(all[p], w.parse(r))
			}
			if r.Offset+1 >= left[p] {
				delete(left, p)
			}
		})
	}
	return all
}

func (w *world) parse(r *kgo.Record) record {
	out := record{offset: r.Offset}
	for _, h := range r.Headers {
		if h.Key == "r-epoch" {
			out.epoch, _ = strconv.ParseInt(string(h.Value), 10, 64)
		}
	}
	var v struct {
		SQL  string
		Data []map[string]string
	}
	err := json.Unmarshal(r.Value, &v)
	var texts []string
	for _, row := range v.Data {
		texts = append(texts, row["id"])
	}
	if m := statementID.FindStringSubmatch(v.SQL); m != nil {
		texts = append(texts, m[1])
	}
	for _, text := range texts {
		id, err := strconv.Atoi(text)
		if err != nil {
			w.violated("a record has the id %q", text)
		}
		out.ids = append(out.ids, id)
	}
	if err != nil || len(out.ids) == 0 || out.epoch == 0 {
		w.violated("record %s/%d offset %d cannot be read: %q", r.Topic, r.Partition, r.Offset, r.Value)
	}
	return out
}

// check judges what readers have at the end.
func (w *world) check(t testing.TB) {
	all := w.read(t)
	where := map[int]string{} // partition of each row
	for _, p := range slices.Sorted(maps.Keys(all)) {
		for _, r := range all[p] {
			for _, id := range r.ids {
				if was, ok := where[id]; ok && was != p {
					w.violated("row %d is in %s and in %s", id, was, p)
				}
				where[id] = p
			}
		}
	}
	expected := map[string][]int{}
	for k := range w.history.transactions {
		for row := range w.history.transactions[k].rows {
			id := k*rowsMost + row
			p, ok := where[id]
			if !ok {
				w.violated("row %d of transaction %d is lost", row, k)
			}
			expected[p] = append(expected[p], id)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if w.once {
			w.checkOnce(p, all[p], expected[p])
		} else {
			w.checkOrder(p, all[p], expected[p])
		}
	}
	w.checkSaves(all, where)
}

// checkOrder follows one partition. Each record is what comes next, or a step
// back to where a transaction begins, by a later
// term. What a former owner
// sent and the network delivered late is not counted: wrote and arrived have
// judged it, and r-epoch shows it to readers. Where there was such a thing, a
// later owner that looked at what was sent may have looked too early.
func (w *world) checkOrder(p string, records []record, expected []int) {
	at := 0 // index of the next one expected
	var epoch int64
	for _, r := range records {
		if r.epoch < epoch {
			continue
		}
		later := r.epoch > epoch
		epoch = r.epoch
		for i, id := range r.ids {
			if at < len(expected) && expected[at] == id {
				at++
				continue
			}
			to, found := slices.BinarySearch(expected, id)
			switch {
			case !found:
				w.violated("%s offset %d: row %d is not of the source", p, r.offset, id)
				return
			case to > at:
				w.violated("%s offset %d: row %d follows %d, something between them is missing", p, r.offset, id, expected[max(at-1, 0)])
				return
			case w.stales == 0 && (i > 0 || to > 0 && expected[to-1]/rowsMost == id/rowsMost):
				w.violated("%s offset %d: row %d of transaction %d is repeated, which is not where the transaction begins", p, r.offset, id, id/rowsMost)
				return
			case !later && w.began[epoch] < 2:
				w.violated("%s offset %d: row %d is repeated within epoch %d", p, r.offset, id, epoch)
				return
			}
			at = to + 1
		}
	}
	if at != len(expected) {
		w.violated("%s ends with row %d", p, expected[max(at-1, 0)])
	}
}

// checkOnce: a partition has each row once, in order, whoever sent it and whatever
// the network did.
func (w *world) checkOnce(p string, records []record, expected []int) {
	at := 0
	for _, r := range records {
		for _, id := range r.ids {
			switch {
			case at < len(expected) && expected[at] == id:
				at++
			case at > 0 && id <= expected[at-1]:
				w.violated("%s offset %d: row %d of transaction %d is repeated by epoch %d", p, r.offset, id, id/rowsMost, r.epoch)
				return
			default:
				w.violated("%s offset %d: row %d follows %d, something between them is missing", p, r.offset, id, expected[max(at-1, 0)])
				return
			}
		}
	}
	if at != len(expected) {
		w.violated("%s ends with row %d", p, expected[max(at-1, 0)])
	}
}

// checkSaves: whenever the cursor was written, Kafka had everything before it.
func (w *world) checkSaves(all map[string][]record, where map[int]string) {
	first := map[int]int64{} // offset of each row's first record
	for _, records := range all {
		for _, r := range records {
			for _, id := range r.ids {
				if _, ok := first[id]; !ok {
					first[id] = r.offset
				}
			}
		}
	}
	checked := 0
	for _, s := range w.saved {
		for k := checked; k < s.next; k++ {
			for row := range w.history.transactions[k].rows {
				id := k*rowsMost + row
				if first[id] >= s.ends[where[id]] {
					w.violated("at %v the cursor was behind transaction %d, but row %d was not in Kafka yet", s.since, s.next-1, id)
					return
				}
			}
		}
		checked = max(checked, s.next)
	}
}

func (w *world) String() string {
	return fmt.Sprintf("seed %d: exactly-once %v, %d nodes, %d transactions, %d owners, %d late requests", w.seed, w.once, len(w.nodes), len(w.history.transactions), w.owners, w.stales)
}
