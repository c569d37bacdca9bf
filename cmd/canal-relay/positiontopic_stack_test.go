//go:build stack

package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStackPositionTopicDeleted: exactly-once goes on by itself when its position topic is deleted while it runs.
func TestStackPositionTopicDeleted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t, "mysql", map[string]string{"canal.relay.delivery": "exactly-once"})
	w.conf.Server["canal.relay.cluster"] = w.name
	w.must(w.CreateTopic(ctx, w.name, 1))
	t.Cleanup(func() { _ = w.DeleteTopic(context.Background(), w.name+"-positions") })
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	w.start()
	w.arrives(ctx, w.name, `"id":"1"`)
	w.must(w.DeleteTopic(ctx, w.name+"-positions"))
	w.exec(conn, "INSERT INTO t VALUES (2)")
	times := 0
	w.must(w.ReadCommitted(ctx, w.name, func(r *kgo.Record) bool {
		if bytes.Contains(r.Value, []byte(`"id":"1"`)) {
			times++
		}
		return !bytes.Contains(r.Value, []byte(`"id":"2"`))
	}))
	if times != 1 {
		t.Errorf("readers have the row before %d times", times)
	}
}
