//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// readersHave compares the ids of the rows that readers of committed records have with what they should have, and looks for a
// second whether more comes.
func (w *world) readersHave(ctx context.Context, want string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var ids []string
	_ = w.ReadCommitted(ctx, w.name, func(r *kgo.Record) bool { // the ids tell
		var m struct{ Data []struct{ ID string } }
		w.must(json.Unmarshal(r.Value, &m))
		for _, row := range m.Data {
			ids = append(ids, row.ID)
		}
		if len(ids) == len(strings.Split(want, ",")) {
			time.AfterFunc(time.Second, cancel)
		}
		return true
	})
	if got := strings.Join(ids, ","); got != want {
		w.Errorf("readers have the rows %s, want %s", got, want)
	}
}

// at is a position as cursor set takes it.
func (w *world) at(m local.Mark) string { return fmt.Sprintf("%s:%d", m.File, m.Offset) }

// decided is what cursor show says of exactly-once.
type decided struct {
	place
	Epoch    int64
	Delivery string
	Record   struct {
		place
		Sent    uint64
		Decides string
	}
}

// TestStackExactlyOnceCursor: what an operator, Canal and another ZooKeeper do to the position of a destination that delivers
// exactly once.
func TestStackExactlyOnceCursor(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newExactly(t, server, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
			defer cancel()
			conn := w.admin()
			mark := func() string {
				m, err := local.End(conn)
				w.must(err)
				return w.at(m)
			}
			row := func(ids ...int) {
				for _, id := range ids {
					w.exec(conn, fmt.Sprint("INSERT INTO t VALUES (", id, ")"))
				}
			}
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)")
			row(1)
			w.start()
			w.start()
			w.active(ctx)
			second := mark()
			row(2, 3)
			w.readersHave(ctx, "1,2,3")
			w.setsBack(ctx, second)
			w.readersHave(ctx, "1,2,3,2,3")

			for _, n := range w.nodes {
				w.stop(n)
			}
			row(4)
			fifth := mark()
			row(5)
			w.answer(&struct{}{}, "cursor", "set", fifth, "--reason", "without 4")
			w.nodes = nil
			w.start()
			w.readersHave(ctx, "1,2,3,2,3,5")
			w.strangerSetsBack(ctx, w.strange(second))
			row(6)
			w.readersHave(ctx, "1,2,3,2,3,5,6")
			w.anotherZooKeeper(ctx)
			row(7)
			w.readersHave(ctx, "1,2,3,2,3,5,6,7")
		})
	}
}

// setsBack moves the position back, which must be meant, while a node is active.
func (w *world) setsBack(ctx context.Context, target string) {
	w.Helper()
	var before, after decided
	w.answer(&before, "cursor", "show")
	if before.Record.Decides != "record" || before.Record.File == "" {
		w.Errorf("cursor show says %+v", before)
	}
	_, stderr, code := w.operator("cursor", "set", target, "--reason", "again", "--release")
	if code != exitFailed || !strings.Contains(stderr, "--resend") {
		w.Errorf("back without --resend: exit code %d, %s", code, stderr)
	}
	w.answer(&after, "cursor", "show")
	if after.Epoch != before.Epoch {
		w.Errorf("the owner of epoch %d was disturbed: %d", before.Epoch, after.Epoch)
	}
	var done struct{ Released, Means string }
	w.answer(&done, "cursor", "set", target, "--reason", "again", "--release", "--resend")
	if done.Released == "" || !strings.HasPrefix(done.Means, "back") {
		w.Errorf("cursor set says %+v", done)
	}
	w.active(ctx)
	text, _, code := w.operator("status", "--destination", w.name)
	if code != 0 || !strings.Contains(text, "RECORD") || !strings.Contains(text, "(record decides)") {
		w.Errorf("status, exit code %d:\n%s", code, text)
	}
}

// strange is a cursor as Canal writes it.
func (w *world) strange(target string) string {
	file, offset, _ := strings.Cut(target, ":")
	addr, err := w.Server(w.server)
	w.must(err)
	host, port, _ := strings.Cut(addr, ":")
	return fmt.Sprintf(`{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"%s","port":%s}},`+
		`"postion":{"gtid":"","included":false,"journalName":"%s","position":%s,"serverId":1,"timestamp":%d}}`, host, port, file, offset, time.Now().UnixMilli())
}

// strangerSetsBack: a cursor that somebody else set behind what readers have ends in an error with two commands; the first goes
// on where readers are.
func (w *world) strangerSetsBack(ctx context.Context, cursor string) {
	w.Helper()
	w.stop(w.nodes[0])
	w.putCursor(w.name, cursor)
	w.nodes = nil
	n := w.start()
	var reason string
	w.until(ctx, "a failure", func() bool {
		reason = w.state(ctx, n, w.name).Reason
		return strings.Contains(reason, "cursor set")
	})
	commands := regexp.MustCompile(`canal-relay (cursor set [^:]*(?::\d+[^:]*)?--reason) WHY`).FindAllStringSubmatch(reason, -1)
	if len(commands) != 2 || !strings.Contains(commands[1][1], "--resend") {
		w.Fatalf("commands %q of %s", commands, reason)
	}
	var shown decided
	w.answer(&shown, "cursor", "show")
	if shown.Record.Decides != "neither" {
		w.Errorf("cursor show says %+v", shown)
	}
	w.answer(&struct{}{}, append(strings.Fields(commands[0][1]), "r")...)
	w.active(ctx)
}

// anotherZooKeeper: nodes of another tree do not go on by themselves, and do when the operator takes the destination over.
func (w *world) anotherZooKeeper(ctx context.Context) {
	w.Helper()
	w.stop(w.nodes[0])
	w.conf.Server["canal.zkServers"] += "/" + w.name
	w.nodes = nil
	n := w.start()
	const command = "cursor set record --destination %s --release --reason"
	w.until(ctx, "a failure", func() bool {
		reason := w.state(ctx, n, w.name).Reason
		return strings.Contains(reason, "of another ZooKeeper") && strings.Contains(reason, fmt.Sprintf(command, w.name))
	})
	w.answer(&struct{}{}, append(strings.Fields(fmt.Sprintf(command, w.name)), "ZooKeeper was set up anew")...)
	w.active(ctx)
}

// TestStackExactlyOnceStatic: without an election a process that runs is fenced by the operator: when it next sends
// something, it goes on where it was told.
func TestStackExactlyOnceStatic(t *testing.T) {
	w := newExactly(t, "mysql", nil)
	delete(w.conf.Server, "canal.zkServers")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	second, err := local.End(conn)
	w.must(err)
	w.exec(conn, "INSERT INTO t VALUES (2)")
	w.start()
	w.readersHave(ctx, "1,2")
	if _, stderr, code := w.operator("cursor", "set", w.at(second), "--reason", "r"); code != exitFailed || !strings.Contains(stderr, "--resend") {
		t.Errorf("back without --resend: exit code %d, %s", code, stderr)
	}
	w.answer(&struct{}{}, "cursor", "set", w.at(second), "--reason", "r", "--resend")
	w.exec(conn, "INSERT INTO t VALUES (3)")
	w.readersHave(ctx, "1,2,2,3")
	var shown decided
	w.answer(&shown, "cursor", "show")
	if shown.Record.Decides != "record" || shown.Delivery != "exactly-once" {
		t.Errorf("cursor show says %+v", shown)
	}
}
