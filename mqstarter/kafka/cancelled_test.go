package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/position"
)

var _ mqstarter.Producer = (*kafka.Transactional)(nil)

// exactlyOnceTerm runs a term over the statements before one.
func exactlyOnceTerm(ctx context.Context, t *testing.T, c *kfake.Cluster, epoch int64, until int) (began int, err error) {
	t.Helper()
	config := mqstarter.DefaultConfig()
	config.Destination, config.Builders, config.Routing = "shop", 1, "r1"
	if config.Router, err = route.New(route.Config{Topic: "changes"}); err != nil {
		t.Fatal(err)
	}
	kc := kafka.DefaultConfig()
	kc.Brokers = c.ListenAddrs()
	own := kafka.TransactionConfig{ID: "test-shop", Topic: "test-positions", Destination: "shop",
		MaxTime: kafka.DefaultTransactionTime, MaxRows: 5, MaxBytes: kafka.DefaultTransactionBytes}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	transactions := kafka.NewTransactions(kc, own, log)
	s := mqstarter.New(config, &kept{},
		func(from position.Resume) (mqstarter.Source, error) {
			began = int(from.Offset / 100)
			return &replay{began, until}, nil
		},
		func() (mqstarter.Producer, error) { return transactions.Producer() }, nil, log)
	err = s.Run(ctx, epoch)
	return began, err
}

// committedNumbers are the statements that readers of committed records have, until one.
func committedNumbers(t *testing.T, c *kfake.Cluster, last int) (all []int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("changes"), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		for it := cl.PollFetches(ctx).RecordIter(); !it.Done(); {
			r, i := it.Next(), 0
			if _, err := fmt.Sscanf(string(r.Value[bytes.Index(r.Value, []byte("truncate ")):]), "truncate %d", &i); err != nil {
				t.Fatal(err)
			}
			if all = append(all, i); i == last {
				return all
			}
		}
	}
	t.Fatalf("%d is not there: %v", last, all)
	return nil
}

// TestCancelledInACommit: a term that ends at once while the broker commits for it leaves open whether that was done. Either
// way the next term loses nothing and repeats nothing.
func TestCancelledInACommit(t *testing.T) {
	lost := errors.New("the lease is lost")
	for name, handled := range map[string]bool{"done, and the answer comes too late": false, "not done": true} {
		t.Run(name, func(t *testing.T) {
			c := topics(t, 1, "changes")
			if _, err := exactlyOnceTerm(t.Context(), t, c, 1, 10); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			commits, gone := 0, make(chan struct{})
			c.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
				if commits++; commits == 1 {
					return nil, nil, false // that of the claim
				}
				c.DropControl()
				cancel(lost)
				<-gone // the term has let go of its connections
				return nil, errors.New("nobody is there to answer"), handled
			})
			began, err := exactlyOnceTerm(ctx, t, c, 2, 40)
			close(gone)
			if began != 10 || ctx.Err() == nil || err != nil && !errors.Is(err, mqstarter.ErrUnsettled) {
				t.Fatalf("the term began at %d and ended with %v", began, err)
			}
			began, err = exactlyOnceTerm(t.Context(), t, c, 3, 60)
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if done := began > 10; done == handled {
				t.Errorf("the next term began at %d", began)
			}
			for i, n := range committedNumbers(t, c, 59) {
				if i != n {
					t.Fatalf("number %d is the statement %d", i, n)
				}
			}
		})
	}
}
