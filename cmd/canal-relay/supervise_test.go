package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/ha"
)

// records is what recording starters did, in order.
type records struct {
	mu    sync.Mutex
	lines []string
}

func (r *records) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// take returns what was recorded since the last time.
func (r *records) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	slices.Sort(lines)
	return lines
}

func (r *records) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// recordingStarter is a term that only records; it needs a second to drain.
type recordingStarter struct {
	*records
	name string
	err  error
}

func (s *recordingStarter) Run(ctx context.Context, _ int64) error {
	s.add("%s runs", s.name)
	if s.err != nil {
		return s.err
	}
	<-ctx.Done()
	time.Sleep(time.Second)
	s.add("%s ended: %v", s.name, context.Cause(ctx))
	return nil
}

// recordingElector elects at once, and records who is shown.
type recordingElector struct {
	ha.Static
	*records
	name string
}

func (e *recordingElector) Register(context.Context) error   { e.add("%s shown", e.name); return nil }
func (e *recordingElector) Unregister(context.Context) error { e.add("%s hidden", e.name); return nil }

// recordingSupervisor runs recording starters, named after the destination and its topic.
func recordingSupervisor(r *records) *supervisor {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := newSupervisor(log)
	starter := func(i *config.Instance) *recordingStarter {
		st := &recordingStarter{records: r, name: i.Name + "/" + i.Route.Topic}
		if strings.Contains(i.Route.Topic, "bad") {
			st.err = errors.New("no such topic")
		}
		return st
	}
	s.build = func(i *config.Instance) (*destination, error) {
		d := &destination{instance: i, elector: &recordingElector{records: r, name: i.Name}, cursor: &assembly.Cursor{}}
		if !i.Lazy {
			d.monitor = ha.NewMonitor(i.Name, d.elector, starter(i), i.HA, log)
		}
		return d, nil
	}
	s.reload = func(d *destination, i *config.Instance) error {
		if i.Route.Topic == "impossible" {
			return errors.New("it cannot be built")
		}
		d.monitor.Reload(starter(i))
		return nil
	}
	s.forget = func(name string) { r.add("%s forgotten", name) }
	return s
}

// asked is what a configuration of "name/topic" texts asks for; a leading ~ is lazy.
func asked(t *testing.T, all ...string) scan.State {
	t.Helper()
	dir := t.TempDir()
	server := "canal.serverMode = kafka\ncanal.auto.scan = true\ncanal.register.ip = 192.0.2.1\nkafka.bootstrap.servers = 127.0.0.1:9092\n"
	want := scan.State{Instances: map[string]*config.Instance{}}
	for _, text := range all {
		text, lazy := strings.CutPrefix(text, "~")
		name, topic, _ := strings.Cut(text, "/")
		server += fmt.Sprintf("canal.instance.%s.lazy = %v\n", name, lazy)
		put(t, filepath.Join(dir, name, "instance.properties"), "canal.instance.master.address = 127.0.0.1:3306\ncanal.mq.topic = "+topic+"\n")
	}
	put(t, filepath.Join(dir, "canal.properties"), server)
	if len(all) == 0 {
		return want
	}
	node, _, err := config.Load(dir, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for i := range node.Instances {
		want.Instances[node.Instances[i].Name] = &node.Instances[i]
	}
	return want
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// supervised runs f with a supervisor, and ends it.
func supervised(t *testing.T, f func(ctx context.Context, s *supervisor, r *records)) {
	synctest.Test(t, func(t *testing.T) {
		r := &records{}
		s := recordingSupervisor(r)
		ctx, cancel := context.WithCancel(t.Context())
		f(ctx, s, r)
		cancel()
		s.running.Wait()
	})
}

// Each destination is started, reloaded and stopped without the others.
func TestSupervise(t *testing.T) {
	supervised(t, func(ctx context.Context, s *supervisor, r *records) {
		apply := func(all ...string) {
			t.Helper()
			if err := s.apply(ctx, asked(t, all...)); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * time.Second)
		}
		apply("shop/a")
		r.expect(t, "shop shown", "shop/a runs")
		apply("shop/a", "crm/a")
		r.expect(t, "crm shown", "crm/a runs")
		apply("shop/a", "crm/a")
		r.expect(t)
		apply("shop/b", "crm/a")
		r.expect(t, "shop/a ended: the destination was reconfigured", "shop/b runs")
		apply("shop/b")
		r.expect(t, "crm forgotten", "crm hidden", "crm/a ended: the destination was removed")
		apply("shop/b", "~crm/a")
		r.expect(t, "crm shown")
		apply("shop/b", "~crm/b")
		r.expect(t)
		apply("shop/b", "crm/b")
		r.expect(t, "crm hidden", "crm shown", "crm/b runs")
		apply("shop/b", "~crm/b")
		r.expect(t, "crm hidden", "crm shown", "crm/b ended: the destination was removed")
		apply("~crm/b")
		r.expect(t, "shop forgotten", "shop hidden", "shop/b ended: the destination was removed")
		apply()
		r.expect(t, "crm forgotten", "crm hidden")
	})
}

// A destination that is removed and added again at once starts after what ran
// before has ended, and only once.
func TestSuperviseReturn(t *testing.T) {
	supervised(t, func(ctx context.Context, s *supervisor, r *records) {
		for _, all := range [][]string{{"shop/a"}, {}, {"shop/b"}, {}, {"shop/c"}} {
			if err := s.apply(ctx, asked(t, all...)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		time.Sleep(500 * time.Millisecond)
		r.expect(t, "shop shown", "shop/a runs")
		time.Sleep(5 * time.Second)
		got := strings.Join(r.take(), "; ")
		if !strings.Contains(got, "shop/c runs") || strings.Contains(got, "shop/b runs") || strings.Contains(got, "forgotten") {
			t.Errorf("got %s", got)
		}
	})
}

// What cannot be followed leaves what runs alone, and is said.
func TestSuperviseRefused(t *testing.T) {
	supervised(t, func(ctx context.Context, s *supervisor, r *records) {
		shown := func() (all []string) {
			s.each(func(name string, d *destination, refused string) {
				all = append(all, fmt.Sprint(name, " ", d != nil, " ", refused))
			})
			return all
		}
		if err := s.apply(ctx, asked(t, "shop/a")); err != nil {
			t.Error(err)
		}
		r.take()
		want := asked(t, "shop/a")
		want.Refused = map[string]string{"shop": "why", "crm": "because"}
		for range 2 {
			_ = s.apply(ctx, want)
			r.expect(t)
		}
		if got := shown(); !slices.Equal(got, []string{"crm false because", "shop true why"}) {
			t.Errorf("got %q", got)
		}
		_ = s.apply(ctx, scan.State{Server: "the folder is gone"})
		r.expect(t)
		if got := shown(); !slices.Equal(got, []string{"shop true the folder is gone"}) {
			t.Errorf("got %q", got)
		}
		if err := s.apply(ctx, asked(t, "shop/impossible")); err == nil {
			t.Error("what cannot be built is not said")
		}
		r.expect(t)
		_ = s.apply(ctx, asked(t, "shop/bad"))
		time.Sleep(3 * time.Second)
		r.expect(t, "shop/a ended: the destination was reconfigured", "shop/a runs", "shop/bad runs")
		if got := shown(); !slices.Equal(got, []string{"shop true no such topic"}) {
			t.Errorf("got %q", got)
		}
		_ = s.apply(ctx, asked(t, "shop/b"))
		time.Sleep(3 * time.Second)
		if got := shown(); !slices.Equal(got, []string{"shop true "}) {
			t.Errorf("got %q", got)
		}
	})
}
