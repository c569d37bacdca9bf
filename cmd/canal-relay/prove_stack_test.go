//go:build stack

package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/cmd/internal/audit"
	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
)

// prove waits until the last change of the binlog is in the topic and audits it against the binlog, which is read
// independently of the relay, change by change. It returns how many rows the binlog has and how many records are there again.
func (w *world) prove(ctx context.Context, conn *client.Conn) (changes, repeats int) {
	w.Helper()
	r := w.audit(ctx, conn)
	if r.Faults(w.once()) > 0 {
		var text strings.Builder
		w.must(r.Print(&text, w.once()))
		w.Fatalf("the topic is not right:\n%s", &text)
	}
	return int(r.Changes), int(r.Repeats)
}

// once reports whether readers of committed records must see nothing twice.
func (w *world) once() bool {
	return w.conf.Destinations[w.name]["canal.relay.delivery"] == "exactly-once"
}

func (w *world) audit(ctx context.Context, conn *client.Conn) *audit.Report {
	w.Helper()
	to, err := local.End(conn)
	w.must(err)
	source, stop := w.binlog(ctx, to)
	defer stop()
	o := audit.Options{Destination: w.name, Read: readChanges, Once: w.once(), Source: source, Whole: true, Follow: true,
		Topics: topicreader.Config{Kafka: kafka.DefaultConfig(), Topics: []string{w.name}, Committed: w.once()}}
	if w.once() {
		o.Linger = time.Second
	}
	if w.conf.Destinations[w.name]["canal.relay.headers"] == "false" {
		w.Fatal("an audit against the binlog needs headers")
	}
	o.Topics.Kafka.Brokers = []string{w.Kafka}
	w.until(ctx, "topic "+w.name, func() bool { _, err := w.TopicLength(ctx, w.name); return err == nil })
	r, err := audit.Run(ctx, o)
	if err != nil {
		var text strings.Builder
		if r != nil {
			w.must(r.Print(&text, w.once()))
		}
		w.Fatalf("audit of topic %s: %v\n%s", w.name, err, &text)
	}
	return r
}

// readChanges makes the texts that local.ReadBinlog makes.
func readChanges(value []byte) (rows int, sum uint64, err error) {
	changes, err := local.Changes(value)
	return len(changes), content.Texts(changes), err
}

// binlog yields what the topic must hold up to a mark.
func (w *world) binlog(ctx context.Context, to local.Mark) (next audit.Source, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes := make(chan audit.Change, 1024)
	failed := io.EOF
	go func() {
		defer close(changes)
		err := w.ReadBinlog(ctx, w.server, w.name, w.from, to, func(e local.Event) error {
			select {
			case changes <- audit.Change{Topic: w.name, Tx: e.Tx, Row: e.Row, Rows: len(e.Changes), Sum: content.Texts(e.Changes)}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err != nil {
			failed = err
		}
	}()
	next = func(ctx context.Context) (audit.Change, error) {
		select {
		case c, ok := <-changes:
			if !ok {
				return c, failed
			}
			return c, nil
		case <-ctx.Done():
			return audit.Change{}, ctx.Err()
		}
	}
	return next, func() {
		cancel()
		for range changes { //nolint:revive // until it is closed
		}
	}
}
