//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// followed is what a node shows of a destination whose configuration changes.
type followed struct {
	state
	Refused string
	Terms   int
}

// shown returns what a node shows of a destination; its name is empty when the node does not know it.
func (w *world) shown(ctx context.Context, n *local.Node, destination string) followed {
	body, err := n.Status(ctx)
	if err != nil {
		return followed{}
	}
	var all struct{ Destinations []followed }
	w.must(json.Unmarshal(body, &all))
	for _, f := range all.Destinations {
		if f.Destination == destination {
			return f
		}
	}
	return followed{}
}

// lines writes a properties file in one step.
func (w *world) lines(path string, values map[string]string) {
	w.Helper()
	var text strings.Builder
	for k, v := range values {
		fmt.Fprintf(&text, "%s = %s\n", k, strings.ReplaceAll(v, `\`, `\\`))
	}
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path+".new", []byte(text.String()), 0o644))
	w.must(os.Rename(path+".new", path))
}

// TestStackReload: a destination is added, changed, broken, mended, made lazy and removed while another one runs on untouched
// under a steady writer.
func TestStackReload(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	w.conf.Server["canal.auto.scan"], w.conf.Server["canal.auto.scan.interval"] = "true", "1"
	w.patient()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, round INT NOT NULL)")
	node := w.start()
	server := maps.Clone(w.conf.Server)
	for _, line := range strings.Split(string(must(os.ReadFile(filepath.Join(node.Dir, "canal.properties")))), "\n") {
		if key, value, ok := strings.Cut(line, " = "); ok {
			server[key] = value
		}
	}
	w.active(ctx)
	var writer sync.WaitGroup
	enough := make(chan struct{})
	writer.Go(func() { w.keepWriting(enough) })
	stop := sync.OnceFunc(func() { close(enough); writer.Wait() })
	defer stop()

	other := w.name + "b"
	path := filepath.Join(node.Dir, other, "instance.properties")
	keys := maps.Clone(w.conf.Destinations[w.name])
	await := func(what string, ok func(f followed) bool) {
		t.Helper()
		w.until(ctx, what, func() bool { return ok(w.shown(ctx, node, other)) })
	}
	arrives := func(topic string) {
		t.Helper()
		t.Cleanup(func() { _ = w.DeleteTopic(context.Background(), topic) })
		w.must(w.ReadTopic(ctx, topic, func(*kgo.Record) bool { return false }))
	}
	keys["canal.mq.topic"] = other
	w.lines(path, keys)
	arrives(other)
	keys["canal.mq.topic"] = other + "2"
	w.lines(path, keys)
	arrives(other + "2")
	broken := maps.Clone(keys)
	broken["canal.instance.filter.regex"] = "("
	w.lines(path, broken)
	await("the refusal", func(f followed) bool {
		return f.State == "active" && strings.Contains(f.Refused, "canal.instance.filter.regex") && f.Terms >= 2
	})
	if page, err := node.Get(ctx, "/metrics"); err != nil || !strings.Contains(string(page), `canal_relay_configuration_refused{destination="`+other+`"} 1`) {
		t.Errorf("the metrics do not tell of the refusal: %v", err)
	}
	keys["canal.mq.partition"] = "77" // there is none: only Kafka knows
	w.lines(path, keys)
	await("the fall back", func(f followed) bool {
		return f.State == "active" && strings.Contains(f.Refused, "the routing needs 78")
	})
	keys["canal.mq.partition"], keys["canal.mq.topic"] = "0", other+"3"
	w.lines(path, keys)
	arrives(other + "3")
	await("the end of the refusal", func(f followed) bool { return f.State == "active" && f.Refused == "" })
	server["canal.instance."+other+".lazy"] = "true"
	w.lines(filepath.Join(node.Dir, "canal.properties"), server)
	await("lazy", func(f followed) bool { return f.State == "stopped" })
	for command, want := range map[string]string{"status": "none (lazy here)  none (lazy: " + node.Address + ")", "check": "it is lazy: known here and not run"} {
		w.until(ctx, command+" tells of the lazy destination", func() bool {
			out, _, _ := w.operator(command)
			return strings.Contains(out, want)
		})
	}
	delete(server, "canal.instance."+other+".lazy")
	w.lines(filepath.Join(node.Dir, "canal.properties"), server)
	await("not lazy any more", func(f followed) bool { return f.State == "active" })
	w.must(os.RemoveAll(filepath.Dir(path)))
	await("the removal", func(f followed) bool { return f.Destination == "" })

	stop()
	if f := w.shown(ctx, node, w.name); f.Terms != 1 || f.State != "active" || f.Refused != "" {
		t.Errorf("the other destination was touched: %+v", f)
	}
	_, repeats := w.prove(ctx, conn)
	w.nothingTwice(repeats)
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// TestStackPause: a paused destination keeps its owner and reads nothing, also under the next owner, until it is resumed; nothing is
// lost, and nothing sent twice.
func TestStackPause(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, round INT NOT NULL)")
	first, second := w.start(), w.start()
	owner := w.active(ctx)
	other := second
	if owner == second {
		other = first
	}
	w.mark(ctx, 0)
	if out, errs, code := w.operator("pause", "--reason", "moving house"); code != 0 || !strings.Contains(out, owner.Address+" does not read it") {
		t.Fatalf("pause: %d, %s%s", code, out, errs)
	}
	paused := func(n *local.Node) func() bool {
		return func() bool {
			s := w.state(ctx, n, w.name)
			return s.State == "paused" && strings.Contains(s.Reason, "moving house")
		}
	}
	w.until(ctx, "the pause", paused(owner))
	length, err := w.TopicLength(ctx, w.name)
	w.must(err)
	w.exec(conn, "INSERT INTO t VALUES (1, 1), (2, 2)")
	if out, _, _ := w.operator("status"); !strings.Contains(out, owner.Address+" (paused since ") {
		t.Errorf("status:\n%s", out)
	}
	_ = owner.Stop(syscall.SIGKILL, 30*time.Second) // it says that it was killed
	w.until(ctx, "the pause under the next owner", paused(other))
	if now, err := w.TopicLength(ctx, w.name); err != nil || now != length {
		t.Errorf("the topic grew from %d to %d while the destination was paused: %v", length, now, err)
	}
	var done struct{ Before struct{ Reason string } }
	w.answer(&done, "resume")
	if done.Before.Reason != "moving house" {
		t.Errorf("resumed from %+v", done)
	}
	w.mark(ctx, 1)
	_, repeats := w.prove(ctx, conn)
	w.nothingTwice(repeats)
}
