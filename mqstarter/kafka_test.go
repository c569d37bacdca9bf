package mqstarter

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// BenchmarkKafka is a term on the local stack's broker: everything but reading
// the binlog.
func BenchmarkKafka(b *testing.B) {
	broker := os.Getenv("CANAL_RELAY_KAFKA")
	if broker == "" {
		b.Skip("no broker: CANAL_RELAY_KAFKA is not set")
	}
	for _, each := range []int{45, 1} {
		for _, compression := range []string{"none", "lz4"} {
			b.Run(fmt.Sprintf("rows=%d/%s", each, compression), func(b *testing.B) {
				c := kafka.DefaultConfig()
				c.Brokers, c.Compression = []string{broker}, compression
				benchmark(b, each, "", func() (Producer, error) { return kafka.New(c, slog.New(slog.DiscardHandler)) })
			})
		}
	}
}

// last tells when the last parcel is acknowledged.
type last struct {
	Producer
	left int
	all  chan struct{}
}

func (l *last) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	l.left--
	end := l.left == 0
	l.Producer.Send(ctx, p, func(err error) {
		if err != nil {
			panic(err)
		}
		done(nil)
		if end {
			close(l.all)
		}
	})
}
