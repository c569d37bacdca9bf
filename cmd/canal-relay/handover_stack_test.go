//go:build stack

package main

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// newDuel makes a world with two nodes and a steady writer.
func newDuel(t *testing.T, server string, sessions time.Duration) (w *world, owner, other *local.Node, stop func()) {
	t.Helper()
	w = newWorld(t, server, nil)
	w.conf.Server["canal.relay.session.timeout"] = sessions.String()
	w.exec(w.admin(), "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY, round INT NOT NULL)")
	w.start()
	w.start()
	var writer sync.WaitGroup
	enough := make(chan struct{})
	writer.Go(func() { w.keepWriting(enough) })
	stop = sync.OnceFunc(func() { close(enough); writer.Wait() })
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	owner = w.active(ctx)
	w.mark(ctx, 0)
	other = w.nodes[0]
	if other == owner {
		other = w.nodes[1]
	}
	return w, owner, other, stop
}

// TestStackHandOver: SIGTERM to the owner. The other one goes on within a second, a busy machine aside, and does not wait
// for the owner's session, which would take a minute. Nothing is sent twice.
func TestStackHandOver(t *testing.T) {
	w, owner, other, stop := newDuel(t, "mysql", time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := owner.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := local.WaitActive(ctx, w.name, other); err != nil {
		t.Fatal(err)
	}
	w.mark(ctx, 1)
	stop()
	_, repeats := w.prove(ctx, w.admin())
	w.nothingTwice(repeats)
	terms := w.terms(ctx, 1)
	if len(terms) != 2 {
		t.Fatalf("%d terms, want 2", len(terms))
	}
	gap := terms[1].first.Sub(terms[0].last)
	t.Logf("%v between the last message of the old owner and the first one of the new", gap)
	if gap > 30*time.Second {
		t.Errorf("%v is no hand-over", gap)
	}
}

// TestStackPausedOwner: the owner is stopped for longer than its session, another one takes over, and the old one wakes up.
// It must write nothing more: changes stay in order, and repeats begin at a transaction.
func TestStackPausedOwner(t *testing.T) {
	w, _, _, stop := newDuel(t, "mariadb", 6*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for round := 1; round <= 2; round++ {
		owner, other := w.duel(ctx)
		w.until(ctx, "a stored position", func() bool { // so that it is not all sent again
			series, err := owner.Get(ctx, "/metrics")
			return err == nil && strings.Contains(string(series), `canal_relay_last_saved_timestamp_seconds{destination="`+w.name)
		})
		began := time.Now()
		if err := owner.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if _, err := local.WaitActive(ctx, w.name, other); err != nil {
			t.Fatal(err)
		}
		w.mark(ctx, 2*round)
		t.Logf("taken over %v after the owner was stopped", time.Since(began).Round(time.Millisecond))
		if err := owner.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		w.standsBy(ctx, owner)
		w.mark(ctx, 2*round+1)
	}
	stop()
	changes, repeats := w.prove(ctx, w.admin())
	t.Logf("%d changes, %d sent twice", changes, repeats)
	wrote := map[string]bool{}
	terms := w.terms(ctx, 5) // more than 3 where a busy machine has lost a lease
	for _, turn := range terms {
		if wrote[turn.epoch] {
			t.Errorf("the owner of epoch %s wrote behind the next one: %+v", turn.epoch, terms)
		}
		wrote[turn.epoch] = true
	}
	if len(terms) < 3 {
		t.Errorf("owners took turns %d times in the topic, want 3: %+v", len(terms), terms)
	}
}

// duel waits for an owner, and names it and the other one of two nodes.
func (w *world) duel(ctx context.Context) (owner, other *local.Node) {
	w.Helper()
	owner = w.active(ctx)
	for _, n := range w.nodes {
		select {
		case <-n.Done():
		default:
			if n != owner {
				other = n
			}
		}
	}
	return owner, other
}

// turn is a run of messages with the same epoch, by the times at which they were produced.
type turn struct {
	epoch       string
	first, last time.Time
}

// terms reads the topic up to the row of a round.
func (w *world) terms(ctx context.Context, round int) (all []turn) {
	w.Helper()
	err := w.ReadTopic(ctx, w.name, func(r *kgo.Record) bool {
		epoch := ""
		for _, h := range r.Headers {
			if h.Key == "r-epoch" {
				epoch = string(h.Value)
			}
		}
		if len(all) == 0 || all[len(all)-1].epoch != epoch {
			all = append(all, turn{epoch: epoch, first: r.Timestamp})
		}
		all[len(all)-1].last = r.Timestamp
		return !marks(r.Value, round)
	})
	w.must(err)
	return all
}
