//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// read reads a topic until enough says so.
func (w *world) read(ctx context.Context, topic string, enough func(all []*kgo.Record) bool) (all []*kgo.Record) {
	w.Helper()
	w.must(w.ReadTopic(ctx, topic, func(r *kgo.Record) bool {
		all = append(all, r)
		return !enough(all)
	}))
	return all
}

// inShort is a record as type, ids, key and partition; a statement's begins with DDL, a heartbeat's with beat.
func (w *world) inShort(r *kgo.Record) string {
	w.Helper()
	for _, h := range r.Headers {
		if h.Key == "r-heartbeat" {
			return fmt.Sprintf("beat %s %s @%d", h.Value, r.Key, r.Partition)
		}
	}
	var m struct {
		IsDDL bool
		Type  string
		Data  []struct{ ID string }
	}
	w.must(json.Unmarshal(r.Value, &m))
	if m.IsDDL {
		return fmt.Sprintf("DDL %s %s @%d", m.Type, r.Key, r.Partition)
	}
	ids := ""
	for _, row := range m.Data {
		ids += " " + row.ID
	}
	return fmt.Sprintf("%s%s %s @%d", m.Type, ids, r.Key, r.Partition)
}

// TestStackOptions: what canal-relay has beyond Canal's way of sending, on real servers, by two destinations of one table: a topic
// that the relay makes, primary keys as record keys, changes of a key as DELETE and INSERT, heartbeats, and a DDL as a barrier; record
// keys of chosen columns, partitions counted in the topic, and a limit to the reading.
func TestStackOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	counted := w.name + "counted"
	second := maps.Clone(w.conf.Destinations[w.name])
	maps.Copy(second, map[string]string{"canal.mq.topic": counted, "canal.mq.partitionHash": `.*\..*:id`, "canal.relay.partitions.from.topic": "true", "canal.mq.partitionsNum": "7",
		"canal.relay.record.key": w.name + `.t:name^id`, "canal.relay.read.rate": "64KiB"})
	maps.Copy(w.conf.Destinations[w.name], map[string]string{"canal.mq.partitionHash": `.*\..*:$pk$`, "canal.mq.partitionsNum": "3", "canal.relay.topic.create": "relay",
		"canal.relay.topic.partitions": "3", "canal.relay.topic.replication": "1", "canal.relay.record.key": "pk", "canal.relay.pk.update": "split",
		"canal.relay.heartbeat.interval": "1s", "canal.instance.get.ddl.isolation": "true", "canal.instance.filter.regex": w.name + `\.t`})
	w.conf.Destinations[counted] = second
	w.patient()
	w.conf.Server["canal.mq.database.hash"] = "false"
	w.must(w.CreateTopic(ctx, counted, 2))
	t.Cleanup(func() { _ = w.DeleteTopic(context.Background(), counted) })
	conn := w.admin()
	w.exec(conn, "USE "+w.name)
	began := time.Now()
	node := w.start()
	w.active(ctx)
	w.until(ctx, "the topic is made", func() bool { return w.partitions(ctx, w.name) == 3 })
	w.must(w.SetTopic(ctx, w.name, "message.timestamp.type", "LogAppendTime")) // so that the broker says what was first
	rows := make([]string, 300)
	for i := range rows {
		rows[i] = fmt.Sprintf("(%d,'row')", 1000+i)
	}
	w.exec(conn, "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))", "INSERT INTO t VALUES (1,'a'),(2,'b'),(7,NULL)", "UPDATE t SET id = 42 WHERE id = 2", "UPDATE t SET name = 'c' WHERE id = 1",
		"INSERT INTO t VALUES "+strings.Join(rows, ","), "ALTER TABLE t ADD COLUMN n INT", "INSERT INTO t (id) SELECT id + 1000 FROM t WHERE id >= 1000", "DELETE FROM t WHERE id = 7")

	w.pacedAndCounted(ctx, counted, node)
	all := w.read(ctx, w.name, func(all []*kgo.Record) bool {
		beats := 0
		for _, r := range all {
			if strings.HasPrefix(w.inShort(r), "beat") {
				beats++
			}
		}
		// Two DDL; three rows, one of them with another key, one changed, one deleted; 600; and the three of pacedAndCounted.
		return beats >= 3 && len(all)-beats >= 2+3+2+1+1+600+3
	})
	w.keyedAndSplit(all)
	w.barrier(all)
	w.beats(all, began)
}

// keyedAndSplit: hash("1") is 49, "2" 50, "7" 55, "42" 1662; three partitions.
func (w *world) keyedAndSplit(all []*kgo.Record) {
	w.Helper()
	for partition, want := range []string{
		`INSERT 42 {"id":"42"} @0`,
		`INSERT 1 {"id":"1"} @1, INSERT 7 {"id":"7"} @1, UPDATE 1 {"id":"1"} @1, DELETE 7 {"id":"7"} @1`,
		`INSERT 2 {"id":"2"} @2, DELETE 2 {"id":"2"} @2`,
	} {
		var got []string
		for _, r := range all {
			text, key := w.inShort(r), string(r.Key)
			if r.Partition == int32(partition) && !strings.HasPrefix(text, "DDL") && slices.Contains([]string{`{"id":"1"}`, `{"id":"2"}`, `{"id":"7"}`, `{"id":"42"}`}, key) {
				got = append(got, text)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			w.Errorf("partition %d: %s\nwant %s", partition, text, want)
		}
	}
}

// barrier: by the clock of the broker the ALTER stands behind every row before it and before every row after it, in all partitions.
func (w *world) barrier(all []*kgo.Record) {
	w.Helper()
	var alter time.Time
	before, after := 0, 0
	for _, r := range all {
		if strings.HasPrefix(w.inShort(r), "DDL ALTER") {
			alter = r.Timestamp
		}
	}
	for _, r := range all {
		var id int
		if n, _ := fmt.Sscanf(w.inShort(r), "INSERT %d ", &id); n != 1 || id < 1000 {
			continue
		}
		late, early := id < 2000 && r.Timestamp.After(alter), id >= 2000 && r.Timestamp.Before(alter)
		if late || early {
			w.Errorf("row %d was written at %v, the ALTER at %v", id, r.Timestamp, alter)
		}
		if id < 2000 {
			before++
		} else {
			after++
		}
	}
	if before != 300 || after != 300 || alter.IsZero() {
		w.Errorf("%d rows before the ALTER at %v, %d after it", before, alter, after)
	}
}

// beats: heartbeats go where statements go, and no more of them than one a second and a term. They may stand closer together
// than they were made: a busy broker writes them late.
func (w *world) beats(all []*kgo.Record, began time.Time) {
	w.Helper()
	beats := 0
	for _, r := range all {
		text := w.inShort(r)
		if !strings.HasPrefix(text, "beat") {
			continue
		}
		if want := fmt.Sprintf("beat %s %s @0", w.name, w.name); text != want || len(r.Value) > 0 {
			w.Errorf("%s with %q, want %s", text, r.Value, want)
		}
		beats++
	}
	if took := time.Since(began); beats > int(took/time.Second)+2 {
		w.Errorf("%d heartbeats in %v", beats, took)
	}
}

// pacedAndCounted: two partitions, then four at the next term; and 200 KB of binlog at 64 KiB a second take their time.
func (w *world) pacedAndCounted(ctx context.Context, topic string, node *local.Node) {
	w.Helper()
	conn := w.admin()
	w.exec(conn, "USE "+w.name)
	has := func(all []*kgo.Record, text string) bool {
		return slices.ContainsFunc(all, func(r *kgo.Record) bool { return strings.HasPrefix(w.inShort(r), text) })
	}
	arrive := func(want ...string) {
		w.read(ctx, topic, func(all []*kgo.Record) bool {
			return !slices.ContainsFunc(want, func(text string) bool { return !has(all, text) })
		})
	}
	arrive(`INSERT 1 {"name":"a","id":"1"} @1`, `INSERT 2 {"name":"b","id":"2"} @0`, `INSERT 7 {"name":null,"id":"7"} @1`, `UPDATE 42 {"name":"b","id":"42"} @0`, "DDL CREATE  @0", "DELETE 7 ")
	w.widen(topic)
	w.until(ctx, "four partitions", func() bool { return w.partitions(ctx, topic) == 4 })
	pause, resume := []string{"pause", "--conf", node.Dir, "--destination", topic}, []string{"resume", "--conf", node.Dir, "--destination", topic}
	const keeps = "the source keeps its position for "
	if code, out, errs := command(pause...); code != 0 || !strings.Contains(out, keeps) {
		w.Fatal(out, errs)
	}
	w.until(ctx, "the end of the term", func() bool {
		s := w.state(ctx, node, topic)
		return s.State == "paused" && strings.Contains(s.Reason, keeps)
	})
	if _, out, errs := command("status", "--conf", node.Dir); !strings.Contains(out, topic+": "+keeps) {
		w.Errorf("status: %s%s", out, errs)
	}
	if code, _, errs := command(resume...); code != 0 {
		w.Fatal(errs)
	}
	began := time.Now()
	w.exec(conn, "INSERT INTO t (id, name) VALUES (3,'d'),(4,'e')", "CREATE TABLE big (id INT PRIMARY KEY, v MEDIUMTEXT)")
	for i := range 8 {
		w.exec(conn, fmt.Sprintf("INSERT INTO big VALUES (%d, REPEAT('x', 25000))", i))
	}
	w.exec(conn, "INSERT INTO t (id) VALUES (100)")
	arrive(`INSERT 3 {"name":"d","id":"3"} @3`, `INSERT 4 {"name":"e","id":"4"} @0`, `INSERT 100 {"name":null,"id":"100"} @1`) // hashes 51, 52, 48625
	if took := time.Since(began); took < 2*time.Second {
		w.Errorf("200 KB at 64 KiB a second took %v", took)
	}
}

// partitions is how many a topic has, 0 when it is not there.
func (w *world) partitions(ctx context.Context, topic string) int {
	w.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka))
	w.must(err)
	defer cl.Close()
	topics, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	w.must(err)
	for _, p := range topics[topic].Partitions {
		if len(p.Replicas) != 1 {
			w.Errorf("partition %d has replicas %v", p.Partition, p.Replicas)
		}
	}
	return len(topics[topic].Partitions)
}
