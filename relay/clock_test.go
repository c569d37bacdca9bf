package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/outage"
	"github.com/canal-relay/canal-relay/relay/position"
)

// script is a source that a test plays.
type script func(ctx context.Context, from position.Position, h binlog.Handler) error

func (s script) Run(ctx context.Context, from position.Position, h binlog.Handler) error {
	return s(ctx, from, h)
}

func (s script) Reread(context.Context, position.Position, binlog.Handler) error {
	return errors.ErrUnsupported
}

func feed(h binlog.Handler, kind replication.EventType, e replication.Event) error {
	return h.HandleEvent(&replication.BinlogEvent{
		RawData: make([]byte, 50),
		Header:  &replication.EventHeader{EventType: kind, EventSize: 50, Timestamp: uint32(time.Now().Add(ahead).Unix()), ServerID: 1}, Event: e,
	})
}

// ahead is how far the clock of the source is.
var ahead time.Duration

// refused feeds a transaction that has nothing for anyone.
func refused(h binlog.Handler, n int64) error {
	err := feed(h, replication.GTID_EVENT, &replication.GTIDEvent{SID: make([]byte, 16), GNO: n})
	if err == nil {
		err = feed(h, replication.XID_EVENT, &replication.XIDEvent{})
	}
	if err == nil {
		err = h.Idle()
	}
	return err
}

// TestPositionMoves: while others write, the position moves every five seconds,
// no more often, and whatever becomes of the source's clock.
func TestPositionMoves(t *testing.T) {
	defer func() { ahead = 0 }()
	synctest.Test(t, func(t *testing.T) {
		c := config(t, `d\.t`, nil)
		source := script(func(ctx context.Context, from position.Position, h binlog.Handler) error {
			if err := h.Begin(from); err != nil {
				return err
			}
			for i := range int64(600) {
				ahead = []time.Duration{0, -time.Hour, time.Hour}[i/200]
				time.Sleep(100 * time.Millisecond)
				if err := refused(h, i+1); err != nil {
					return err
				}
			}
			return io.EOF
		})
		r := New(c, position.Resume{Position: position.Position{File: "f", Offset: 4}}, source, nil, nil)
		go func() { _ = r.Run(t.Context()) }()
		batches, transactions, last := 0, 0, time.Now()
		for {
			b, err := r.Next(t.Context())
			if err != nil {
				break
			}
			if gap := time.Since(last); batches > 0 && transactions < 550 && (gap < 4900*time.Millisecond || gap > 5200*time.Millisecond) {
				t.Errorf("batch %d after %v", batches, gap)
			}
			last = time.Now()
			batches++
			transactions += b.Transactions
			if b.Resume.IsZero() || len(b.Changes) > 0 {
				t.Errorf("batch %+v", b)
			}
			r.Release(b)
		}
		if transactions != 600 || batches < 12 || batches > 14 {
			t.Errorf("%d batches with %d transactions in a minute", batches, transactions)
		}
	})
}

// TestBackOff: pauses double from 100 ms to 10 s with jitter, and begin anew
// after a connection that lived.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		last := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		source := script(func(_ context.Context, from position.Position, h binlog.Handler) error {
			pauses = append(pauses, time.Since(last))
			if err := h.Begin(from); err != nil {
				return err
			}
			switch len(pauses) {
			case 12:
				time.Sleep(time.Minute)
			case 14:
				cancel()
			}
			last = time.Now()
			return errors.New("link broken")
		})
		r := New(config(t, "", nil), position.Resume{Position: position.Position{File: "f", Offset: 4}}, source, nil, nil)
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := outage.First
		for i, p := range pauses[1:] {
			if i == 11 {
				want = outage.First
			}
			if p < want/2 || p > want*3/2 {
				t.Errorf("pause %d: %v, want about %v", i, p, want)
			}
			want = min(2*want, outage.Last)
		}
	})
}

// TestBackSoon: however long a source was away, it is read soon after it is
// back.
func TestBackSoon(t *testing.T) {
	for _, away := range []time.Duration{time.Second, 7 * time.Second, 25 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			attempts, began := 0, time.Now()
			var said bytes.Buffer
			source := script(func(_ context.Context, from position.Position, h binlog.Handler) error {
				attempts++
				switch {
				case attempts == 1:
					if err := h.Begin(from); err != nil {
						return err
					}
					return errors.New("the server shuts down")
				case time.Since(began) < away:
					return fmt.Errorf("%w: connection refused", binlog.ErrAway)
				}
				cancel()
				return nil
			})
			r := New(config(t, "", nil), position.Resume{Position: position.Position{File: "f", Offset: 4}}, source, nil, slog.New(slog.NewTextHandler(&said, nil)))
			if err := r.Run(ctx); err != nil {
				t.Fatal(err)
			}
			if n, limit := strings.Count(said.String(), "lost the source"), 2+int(away/outage.Last); n < 2 || n > limit {
				t.Errorf("away for %v: said %d times, want 2 to %d", away, n, limit)
			}
			if late := time.Since(began) - away; late > 3*time.Second {
				t.Errorf("away for %v: asked again %v after that", away, late)
			}
			if limit := 8 + int(away/time.Second); attempts > limit {
				t.Errorf("away for %v: %d attempts", away, attempts)
			}
		})
	}
}

// TestFirstFailure ends the run: what never began is the destination's state.
func TestFirstFailure(t *testing.T) {
	refusal := errors.New("no route")
	source := script(func(context.Context, position.Position, binlog.Handler) error { return refusal })
	r := New(config(t, "", nil), position.Resume{}, source, nil, nil)
	if err := r.Run(t.Context()); !errors.Is(err, refusal) {
		t.Error(err)
	}
}

// TestFatal tells what another connection cannot help.
func TestFatal(t *testing.T) {
	mine := errors.New("handler failed")
	for _, tt := range []struct {
		err, failed error
		want        bool
	}{
		{errors.New("read: connection reset"), nil, false},
		{fmt.Errorf("read from source: %w", io.EOF), nil, false},
		{binlog.ErrPurged, nil, true}, {binlog.ErrFormat, nil, true}, {binlog.ErrStart, nil, true},
		{mine, mine, true},
		{fmt.Errorf("definition: %w", binlog.ErrAway), binlog.ErrAway, false},
	} {
		if got := fatal(tt.err, tt.failed); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}

// TestStopWhileFull ends at once when the budget is full and nobody takes.
func TestStopWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		c := config(t, "", nil)
		source := script(func(_ context.Context, from position.Position, h binlog.Handler) error {
			if err := h.Begin(from); err != nil {
				return err
			}
			for {
				if err := feed(h, replication.MARIADB_ANNOTATE_ROWS_EVENT, &replication.MariadbAnnotateRowsEvent{Query: make([]byte, 1000)}); err != nil {
					return err
				}
			}
		})
		c.Memory = 100_000
		r := New(c, position.Resume{Position: position.Position{File: "f", Offset: 4}}, source, nil, nil)
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		var b *event.Batch
		var err error
		for n := 0; err == nil; n++ {
			if b, err = r.Next(t.Context()); err == nil {
				r.Release(b)
			}
		}
		if err != io.EOF {
			t.Errorf("Next behind the end: %v", err)
		}
	})
}
