//go:build stack

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStackTopicMadeAnew is the field case KD-06: a topic is deleted and made anew, with 3 partitions instead of 6 and then
// with 6 again, while it is written to. Nobody has to restart anything, each state has its name, and all that is written to
// the source behind that arrives, in order.
func TestStackTopicMadeAnew(t *testing.T) {
	for _, delivery := range []string{"at-least-once", "exactly-once"} {
		t.Run(strings.ReplaceAll(delivery, "-", ""), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, "mysql", map[string]string{"canal.relay.topic.create": "never", "canal.relay.delivery": delivery})
			w.conf.Server["canal.relay.cluster"] = w.name
			w.patient()
			keys := w.conf.Destinations[w.name]
			keys["canal.mq.partitionsNum"], keys["canal.mq.partitionHash"] = "6", `.*\..*:$pk$`
			w.must(w.CreateTopic(ctx, w.name, 6))
			conn := w.admin()
			next := 0
			rows := func() {
				var values []string
				for range 60 {
					next++
					values = append(values, fmt.Sprintf("(%d)", next))
				}
				w.exec(conn, "INSERT INTO t VALUES "+strings.Join(values, ","))
			}
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
			rows()
			w.start()
			w.arrives(ctx, w.name, fmt.Sprintf(`"id":"%d"`, next))

			w.must(w.DeleteTopic(ctx, w.name))
			rows()
			w.until(ctx, "the topic is said to be gone", func() bool {
				log := w.log(0)
				return strings.Contains(log, "a topic is gone") || strings.Contains(log, "does not exist")
			})
			w.must(w.CreateTopic(ctx, w.name, 3))
			few := regexp.MustCompile(`topic ` + w.name + ` has 3 partitions, (the routing needs 6|partition \d is wanted).* with kafka-topics`)
			w.until(ctx, "that partitions are missing is said", func() bool { return few.MatchString(w.log(0)) })
			w.must(w.DeleteTopic(ctx, w.name))
			w.must(w.CreateTopic(ctx, w.name, 6))
			first := next + 1
			rows()
			w.madeAnew(ctx, first, next)
			if n := strings.Count(w.log(0), "a topic is gone"); n > 1 {
				t.Errorf("said %d times that the topic is gone", n)
			}
		})
	}
}

// madeAnew reads the topic until it has all rows from first to last, which must be in order in each partition.
func (w *world) madeAnew(ctx context.Context, first, last int) {
	w.Helper()
	missing, newest := map[int]bool{}, map[int32]int{}
	for id := first; id <= last; id++ {
		missing[id] = true
	}
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		for _, row := range docRow.FindAllSubmatch(r.Value, -1) {
			id, err := strconv.Atoi(string(row[1]))
			w.must(err)
			if missing[id] && id < newest[r.Partition] {
				w.Errorf("partition %d has row %d behind %d", r.Partition, id, newest[r.Partition])
			}
			delete(missing, id)
			newest[r.Partition] = max(newest[r.Partition], id)
		}
		return len(missing) > 0
	}))
}
