//go:build stack

package mqstarter

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
)

// BenchmarkKafka is a term on the local stack's broker: everything but reading
// the binlog.
func BenchmarkKafka(b *testing.B) {
	broker := os.Getenv("CANAL_RELAY_KAFKA")
	if broker == "" {
		b.Fatal("CANAL_RELAY_KAFKA is not set: no local stack")
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
