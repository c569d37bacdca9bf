//go:build stack

package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStackOversize is the field case KD-02: what a record may hold is its own topic's limit, not another one's. A row
// that is too large stops the term, with a command that leaves just that row out, once; or it is sent by its key, or
// leaves a dead letter.
func TestStackOversize(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) { oversized(t, server) })
	}
}

var docRow = regexp.MustCompile(`"id":"(\d+)"`)

func oversized(t *testing.T, server string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t, server, nil)
	w.patient()
	lost, big := w.name+"lost", w.name+"big"
	keys := w.conf.Destinations[w.name]
	keys["canal.mq.dynamicTopic"] = big + ":" + w.name + `\.wide`
	keys["canal.relay.deadletter.topic"] = lost
	w.conf.Server["kafka.max.request.size"] = "20000000"
	for topic, limit := range map[string]string{w.name: "100000", big: "16000000"} {
		w.must(w.CreateTopic(ctx, topic, 1))
		w.must(w.SetTopic(ctx, topic, "max.message.bytes", limit))
	}
	t.Cleanup(func() {
		_ = w.DeleteTopic(context.Background(), big)
		_ = w.DeleteTopic(context.Background(), lost)
	})
	conn := w.admin()
	docs := "INSERT INTO docs VALUES (%d, REPEAT('x', %d))"
	w.exec(conn, "USE "+w.name, "CREATE TABLE docs (id INT PRIMARY KEY, c LONGTEXT)", "CREATE TABLE wide (id INT PRIMARY KEY, c LONGTEXT)",
		"INSERT INTO wide VALUES (1, REPEAT('w', 1000000))", fmt.Sprintf(docs, 1, 5),
		"INSERT INTO docs VALUES (2, 'first'), (3, REPEAT('x', 200000)), (4, 'last')", fmt.Sprintf(docs, 5, 5))

	node := w.start()
	reason := w.awaitFailure(ctx, node, "", regexp.MustCompile(regexp.QuoteMeta(w.name)+`\.docs at .*too large: 200\d{3} bytes \(primary key \{"id":"3"\}\), topic `+w.name+
		` takes 99\d{3}: .*canal-relay cursor skip \S+:\d+ --destination `+w.name))
	w.arrives(ctx, big, `"id":"1"`)
	place := regexp.MustCompile(`cursor skip (\S+)`).FindStringSubmatch(reason)
	if place == nil {
		t.Fatalf("no command: %s", reason)
	}
	if _, stderr, code := w.operator("cursor", "skip", place[1], "--destination", w.name, "--reason", "too wide"); code != 0 {
		t.Fatalf("cursor skip: %d, %s", code, stderr)
	}
	w.arrives(ctx, w.name, `"id":"5"`)
	w.ordered(ctx, place[1])
	var rows []string
	w.must(w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		for _, row := range docRow.FindAllSubmatch(r.Value, -1) {
			rows = append(rows, string(row[1]))
		}
		return !bytes.Contains(r.Value, []byte(`"id":"5"`))
	}))
	if !w.same(rows, []string{"1", "2", "4", "5"}) { // a row of that size has an event of its own
		t.Errorf("rows %s were sent", rows)
	}
	out, errs, code := w.operator("audit", "--source", "--source-from", fmt.Sprintf("%s:%d", w.from.File, w.from.Offset), "--topic", w.name)
	for _, said := range []string{"gap     none", "skipped by order  " + place[1] + " ", ": too wide", "of the source for topic " + big + ": name it"} {
		if code != 0 || !strings.Contains(out, said) {
			t.Errorf("audit, %q: exit %d: %s%s", said, code, out, errs)
		}
	}
	w.must(node.Stop(syscall.SIGTERM, 30*time.Second))

	for id, policy := range []string{"dead-letter", "key-only"} {
		keys["canal.relay.oversize"] = policy
		node = w.start()
		w.active(ctx)
		id = 10 * (id + 1)
		w.exec(conn, fmt.Sprintf("INSERT INTO docs VALUES (%d, 'first'), (%d, REPEAT('y', 200000)), (%d, 'last')", id, id+1, id+2))
		w.arrives(ctx, w.name, fmt.Sprintf(`"id":"%d"`, id+2))
		if policy == "dead-letter" {
			w.arrives(ctx, lost, fmt.Sprintf(`"table":"docs","key":{"id":"%d"},"bytes":200`, id+1))
		} else {
			w.arrives(ctx, w.name, fmt.Sprintf(`{"data":[{"id":"%d"}],`, id+1))
		}
		w.must(node.Stop(syscall.SIGTERM, 30*time.Second))
	}
	for _, policy := range []string{"key-only", "stop"} { // what was done then does not depend on what would be done now
		keys["canal.relay.oversize"] = policy
		out, errs, code = w.operator("audit", "--source", "--source-from", fmt.Sprintf("%s:%d", w.from.File, w.from.Offset))
		for _, said := range []string{"3 topics, 3 partitions", "gap     none: every change of the source is there\n", "repeat  none", "order   right",
			"too large  1 row by the key alone, 1 dead letter"} {
			if code != 0 || !strings.Contains(out, said) || strings.Contains(out, "not read") {
				t.Errorf("audit of all topics with %s, %q: exit %d: %s%s", policy, said, code, out, errs)
			}
		}
	}
}

// ordered: an order that was carried out is forgotten, logged, and among the last positions.
func (w *world) ordered(ctx context.Context, place string) {
	w.Helper()
	conn := w.zookeeper()
	defer conn.Close()
	w.until(ctx, "the order is forgotten", func() bool {
		_, _, err := conn.Get("/otter/canal/destinations/" + w.name + "/relay/skip")
		return err == zk.ErrNoNode
	})
	stdout, _, _ := w.operator("cursor", "show", "--destination", w.name)
	if !strings.Contains(stdout, "left out "+place) || !strings.Contains(stdout, "too wide") {
		w.Errorf("cursor show:\n%s", stdout)
	}
	if n := strings.Count(w.log(0), "an event is left out, as an operator ordered"); n != 1 {
		w.Errorf("%d lines of what was left out", n)
	}
}
