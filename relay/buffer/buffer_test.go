package buffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canal-relay/canal-relay/relay/event"
)

func batch(bytes int) *event.Batch { return &event.Batch{Bytes: bytes} }

// TestPutWaits: a full budget blocks until enough is released.
func TestPutWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(900)
		q.expansion = 0
		first, second := batch(500), batch(500)
		if waited, err := q.Put(t.Context(), first); waited != 0 || err != nil {
			t.Fatal(waited, err)
		}
		go func() {
			time.Sleep(time.Minute)
			b, _ := q.Next(t.Context())
			q.Release(b)
		}()
		waited, err := q.Put(t.Context(), second)
		if waited != time.Minute || err != nil {
			t.Errorf("waited %v, %v", waited, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Put(ctx, batch(500)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("put with an ended context: %v", err)
		}
		if q.held != 500 {
			t.Errorf("%d bytes held", q.held)
		}
	})
}

// TestLargeBatch passes alone, whatever the budget.
func TestLargeBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(100)
		if _, err := q.Put(t.Context(), batch(1000)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Put(ctx, batch(1)); err == nil {
			t.Error("a second batch passed beside it")
		}
	})
}

// TestExpansion charges what messages really took.
func TestExpansion(t *testing.T) {
	q := New(1 << 30)
	for range 100 {
		b := q.Fresh()
		b.Bytes = 1000
		_, _ = q.Put(t.Context(), b)
		b, _ = q.Next(t.Context())
		b.Built = 5000
		q.Release(b)
	}
	b := batch(1000)
	_, _ = q.Put(t.Context(), b)
	if b.Size < 5900 || b.Size > 6100 {
		t.Errorf("1000 bytes are charged %d, messages take five times as much", b.Size)
	}
}

// TestManyTakers get every batch once, in order of taking, and all see the end.
func TestManyTakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(10_000)
		var mu sync.Mutex
		var got []uint64
		var takers sync.WaitGroup
		for range 4 {
			takers.Go(func() {
				for {
					mu.Lock()
					b, err := q.Next(t.Context())
					if err == nil {
						got = append(got, b.ID)
					}
					mu.Unlock()
					if err != nil {
						if err != io.EOF {
							t.Error(err)
						}
						return
					}
					q.Release(b)
				}
			})
		}
		for i := range 1000 {
			b := q.Fresh()
			b.ID, b.Bytes = uint64(i), 1000
			if _, err := q.Put(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		q.Close(nil)
		takers.Wait()
		for i, id := range got {
			if id != uint64(i) {
				t.Fatalf("batch %d came as number %d", id, i)
			}
		}
		if len(got) != 1000 || q.held != 0 {
			t.Errorf("%d batches, %d bytes held", len(got), q.held)
		}
	})
}

func TestCloseWithError(t *testing.T) {
	q := New(100)
	broken := errors.New("broken")
	_, _ = q.Put(t.Context(), batch(1))
	q.Close(broken)
	if b, err := q.Next(t.Context()); b == nil || err != nil {
		t.Errorf("the queued batch is lost: %v", err)
	}
	for range 2 {
		if _, err := q.Next(t.Context()); err != broken {
			t.Errorf("%v", err)
		}
	}
}

// TestKeep: what was copied stays when the arena grows, and a released batch's
// arena is used again.
func TestKeep(t *testing.T) {
	q := New(1 << 20)
	b := q.Fresh()
	var kept [][]byte
	for i := range 1000 {
		kept = append(kept, Keep(b, []byte(fmt.Sprintf("value %d", i))))
	}
	for i, k := range kept {
		if want := fmt.Sprintf("value %d", i); !bytes.Equal(k, []byte(want)) || cap(k) != len(k) {
			t.Fatalf("%q, want %q", k, want)
		}
	}
	arena := &b.Arena[:1][0]
	_, _ = q.Put(t.Context(), b)
	q.Release(b)
	if again := q.Fresh(); again != b || len(again.Arena) != 0 || &again.Arena[:1][0] != arena {
		t.Error("the arena is not used again")
	}
}

// TestSpent: what a batch's changes took serves another one before its release,
// and only what its messages take stays charged.
func TestSpent(t *testing.T) {
	q := New(1 << 20)
	b := q.Fresh()
	kept := Keep(b, []byte("value"))
	b.Bytes, b.Changes = 10_000, append(b.Changes, event.Change{Image: kept})
	_, _ = q.Put(t.Context(), b)
	b, _ = q.Next(t.Context())
	b.Built = 4000
	b.Spent(b)
	if held := q.Held(); held != 4000 || b.Spent != nil || b.Changes != nil || b.Arena != nil {
		t.Errorf("%d bytes held for messages of 4000, and %d changes", held, len(b.Changes))
	}
	if again := q.Fresh(); again == b || &again.Arena[:1][0] != &kept[0] || len(again.Changes) != 0 || cap(again.Changes) == 0 {
		t.Error("the memory is not used again")
	}
	q.Release(b)
	if held := q.Held(); held != 0 {
		t.Errorf("%d bytes held behind the release", held)
	}
	if again := q.Fresh(); again == b {
		t.Error("a batch without memory is kept for reuse")
	}
}
