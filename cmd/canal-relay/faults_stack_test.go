//go:build stack

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// fault is something wrong that only a server can tell.
type fault struct {
	keys   map[string]string           // of its destination
	broken func(w *world, name string) // before the node starts
	mend   func(w *world, name string) // nil: it stays
	want   string                      // a pattern of the reason; DEST is the destination
	tail   bool                        // tail meets it too
	check  string                      // what check says instead, if not the same
}

// TestStackFaultyDestinations: one process with a destination for each fault. Each says what is wrong and how to mend it, in
// state, metrics and log, and recovers when it is mended; the destination without a fault flows all the time.
func TestStackFaultyDestinations(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w := newWorld(t, server, nil)
			w.patient()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
			all := faults(w)
			for name, f := range all {
				w.faulty(name, f)
			}
			node := w.start()
			w.active(ctx)
			for name, f := range all {
				w.awaitFailure(ctx, node, name, f.reason(w, name))
			}
			w.exec(conn, "INSERT INTO t VALUES (2)")
			w.prove(ctx, conn) // the good one
			w.commandsTell(node, all)
			w.metricsTell(ctx, node, all)
			w.nothingWritten(ctx, all)
			for name, f := range all {
				if f.mend != nil {
					f.mend(w, w.name+name)
				}
			}
			for name, f := range all {
				if f.mend != nil {
					if _, err := local.WaitActive(ctx, w.name+name, node); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
			w.exec(conn, "INSERT INTO t VALUES (3)")
			for name, f := range all {
				if f.mend != nil {
					w.arrives(ctx, w.name+name, `"id":"3"`)
				}
			}
			w.loggedOnce(all)
		})
	}
}

const unreadable = `{"@type":"x"`

func faults(w *world) map[string]fault {
	gone := w.purged()
	absent, listen := w.laterServer()
	canal := "'%'"
	return map[string]fault{
		"unreachable": {
			keys: map[string]string{"canal.instance.master.address": absent}, mend: func(*world, string) { listen() }, tail: true,
			want: `connect to source ` + absent + ` as "canal": .*refused: is a server running there\? canal.instance.master.address names it`},
		"password": {
			keys: map[string]string{"canal.instance.dbUsername": w.name + "p", "canal.instance.dbPassword": "second"}, tail: true,
			broken: func(w *world, _ string) {
				w.account(w.name+"p", "first", "SELECT, REPLICATION SLAVE, REPLICATION CLIENT")
			},
			mend: func(w *world, _ string) {
				w.exec(w.admin(), "ALTER USER '"+w.name+"p'@"+canal+" IDENTIFIED BY 'second'")
			},
			want: `connect to source \S+ as "` + w.name + `p": the source denies access: .*Access denied.*: correct canal.instance.dbUsername or canal.instance.dbPassword`},
		"grants": {
			keys: map[string]string{"canal.instance.dbUsername": w.name + "g", "canal.instance.dbPassword": "p"}, tail: true,
			broken: func(w *world, _ string) { w.account(w.name+"g", "p", "SELECT, REPLICATION CLIENT") },
			mend:   func(w *world, _ string) { w.exec(w.admin(), "GRANT REPLICATION SLAVE ON *.* TO '"+w.name+"g'@"+canal) },
			want:   `the source denies access: .*: an administrator runs: GRANT REPLICATION SLAVE ON \*\.\* TO '` + w.name + `g'@'%';`,
			check:  `the account lacks REPLICATION SLAVE: an administrator runs: GRANT REPLICATION SLAVE ON \*\.\* TO '` + w.name + `g'@'%';`},
		"topic": {
			keys: map[string]string{"canal.relay.topic.create": "never"}, mend: func(w *world, name string) { w.must(w.CreateTopic(w.Context(), name, 1)) },
			want:  `topic DEST does not exist, .*kafka-topics --bootstrap-server \S+ --create --topic DEST --partitions 1`,
			check: `topic DEST does not exist: create it with kafka-topics --bootstrap-server \S+ --create --topic DEST --partitions 1`},
		"partition": {
			keys:   map[string]string{"canal.mq.partition": "3"},
			broken: func(w *world, name string) { w.must(w.CreateTopic(w.Context(), name, 2)) }, mend: (*world).widen,
			want: `topic DEST has 2 partitions, .*4.*kafka-topics --bootstrap-server \S+ --alter --topic DEST --partitions 4`},
		"cursor": {
			broken: func(w *world, name string) { w.putCursor(name, unreadable) },
			mend:   func(w *world, name string) { w.putCursor(name, "") },
			want:   `the cursor in ZooKeeper node /otter/canal/destinations/DEST/1001/cursor cannot be read: .*delete the node`},
		"purged": {
			keys: map[string]string{"canal.instance.master.journal.name": gone, "canal.instance.master.position": ""},
			mend: func(w *world, name string) { w.putCursor(name, w.canalCursor()) },
			want: `the binlog at this position was purged: ` + gone + `:4 on \S+ .*the source still has \S+ to \S+(, which lack the transactions \S+)?: to go on at the end`},
	}
}

// faulty adds a destination beside the world's good one.
func (w *world) faulty(name string, f fault) {
	w.Helper()
	keys := maps.Clone(w.conf.Destinations[w.name])
	keys["canal.mq.topic"] = w.name + name
	maps.Copy(keys, f.keys)
	w.conf.Destinations[w.name+name] = keys
	w.Cleanup(func() { _ = w.DeleteTopic(context.Background(), w.name+name) })
	if f.broken != nil {
		f.broken(w, w.name+name)
	}
}

func (f fault) reason(w *world, name string) *regexp.Regexp {
	return regexp.MustCompile("^[^\n]*" + strings.ReplaceAll(f.want, "DEST", w.name+name))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// state is what a node shows of a destination.
type state struct{ Destination, State, Reason string }

func (w *world) state(ctx context.Context, n *local.Node, destination string) state {
	body, err := n.Status(ctx)
	if err != nil {
		return state{}
	}
	var all struct{ Destinations []state }
	w.must(json.Unmarshal(body, &all))
	for _, s := range all.Destinations {
		if s.Destination == destination {
			return s
		}
	}
	return state{}
}

// until polls what servers show of themselves.
func (w *world) until(ctx context.Context, what string, done func() bool) {
	w.Helper()
	for !done() {
		select {
		case <-ctx.Done():
			w.Fatalf("waited in vain for: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitFailure waits until a destination has failed as wanted, and returns the reason, which is not shown while it tries again.
func (w *world) awaitFailure(ctx context.Context, n *local.Node, name string, want *regexp.Regexp) (reason string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var last state
	w.until(ctx, fmt.Sprintf("%s failed: %s", name, want), func() bool {
		if s := w.state(ctx, n, w.name+name); s.State == "failed" {
			last = s
		}
		return want.MatchString(last.Reason) || last.State == "failed" && w.mismatch(last, want)
	})
	return last.Reason
}

func (w *world) mismatch(s state, want *regexp.Regexp) bool {
	w.Errorf("%s failed for another reason:\ngot  %s\nwant %s", s.Destination, s.Reason, want)
	return true
}

// commandsTell: check and tail exit 1 with the line.
func (w *world) commandsTell(n *local.Node, all map[string]fault) {
	code, out, _ := command("check", "--conf", n.Dir)
	if code != exitFailed {
		w.Errorf("check: exit %d", code)
	}
	for name, f := range all {
		if f.check == "" {
			f.check = f.want
		}
		want := regexp.MustCompile(`(?m)^error\s+` + w.name + name + `: .*` + strings.ReplaceAll(f.check, "DEST", w.name+name))
		if !want.MatchString(out) {
			w.Errorf("check does not tell %s of %s:\n%s", want, name, out)
		}
		if !f.tail {
			continue
		}
		code, stdout, stderr := command("tail", "--conf", n.Dir, "--destination", w.name+name)
		if code != exitFailed || stdout != "" || !regexp.MustCompile(`^canal-relay: [^\n]*`+f.want+`[^\n]*\n$`).MatchString(stderr) {
			w.Errorf("tail of %s: exit %d, %q, %s", name, code, stdout, stderr)
		}
	}
	if regexp.MustCompile(`(?m)^error\s+` + w.name + `: `).MatchString(out) {
		w.Errorf("check finds something wrong with the good destination:\n%s", out)
	}
	code, stdout, stderr := command("tail", "--conf", n.Dir, "--destination", w.name+"purged", "--from", all["purged"].keys["canal.instance.master.journal.name"]+":4")
	if code != exitFailed || stdout != "" || !strings.Contains(stderr, "was purged") {
		w.Errorf("tail from a purged position: exit %d, %q, %s", code, stdout, stderr)
	}
}

// command runs the built binary.
func command(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd := exec.Command(os.Getenv("CANAL_RELAY_BIN"), args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // its exit code tells
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// metricsTell: a failed destination is in the series and on the page with its reason.
func (w *world) metricsTell(ctx context.Context, n *local.Node, all map[string]fault) {
	for name := range all {
		want := fmt.Sprintf(`canal_relay_failure{destination=%q,reason="`, w.name+name)
		w.until(ctx, want, func() bool {
			series, err := n.Get(ctx, "/metrics")
			return err == nil && bytes.Contains(series, []byte(want))
		})
	}
	w.until(ctx, "the reason on the page", func() bool { // not while it tries again
		page, err := n.Get(ctx, "/")
		return err == nil && bytes.Contains(page, []byte("GRANT REPLICATION SLAVE"))
	})
}

// nothingWritten: what failed has written neither to its topic nor to its cursor.
func (w *world) nothingWritten(ctx context.Context, all map[string]fault) {
	conn := w.zookeeper()
	defer conn.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka))
	w.must(err)
	defer cl.Close()
	for name := range all {
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, w.name+name)
		w.must(err)
		ends.Each(func(o kadm.ListedOffset) {
			if o.Offset > 0 {
				w.Errorf("%s: %d records in partition %d", name, o.Offset, o.Partition)
			}
		})
		cursor, _, err := conn.Get(cursorPath(w.name + name))
		if name == "cursor" && string(cursor) != unreadable || name != "cursor" && err != zk.ErrNoNode {
			w.Errorf("%s: the cursor is %q, %v", name, cursor, err)
		}
	}
}

// loggedOnce: as many lines tell of a failure as there were attempts.
func (w *world) loggedOnce(all map[string]fault) {
	log, err := os.ReadFile(filepath.Join(w.dir, "node0.log"))
	w.must(err)
	for name := range all {
		began, failed, other := 0, 0, 0
		for line := range strings.Lines(string(log)) {
			switch {
			case !strings.Contains(line, "destination="+w.name+name+" ") || strings.Contains(line, tooLate):
			case strings.Contains(line, `msg="term started"`):
				began++
			case strings.Contains(line, `msg="term failed"`):
				failed++
			case strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR"):
				other++
				w.Log(line)
			}
		}
		if failed == 0 || began-failed > 1 || other > 0 {
			w.Errorf("%s: %d terms started, %d lines of failure, %d others", name, began, failed, other)
		}
	}
}

// arrives waits until a text is in a record of a topic.
func (w *world) arrives(ctx context.Context, topic, text string) {
	w.Helper()
	err := w.ReadTopic(ctx, topic, func(r *kgo.Record) bool { return !bytes.Contains(r.Value, []byte(text)) })
	if err != nil {
		w.Errorf("%s: %v", topic, err)
	}
}
