// Bench measures how fast a fresh node drains a backlog: rows a second, CPU
// time a row, and peak memory, beside the server's raw dump read in the same
// run. No figure is printed before the topic was read back and counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

func main() {
	bin := flag.String("bin", "bin/canal-relay", "the relay's binary")
	scale := flag.Float64("scale", 1, "size of the backlogs, as a part of the full ones")
	compression := flag.String("compression", "none", "kafka.compression.type")
	delivery := flag.String("delivery", "at-least-once", "canal.relay.delivery; exactly-once measures at-least-once beside it")
	only := flag.String("only", "", "one workload: bulk, single or update")
	profile := flag.String("profile", "", "write a CPU profile of the drain to this file")
	flag.Parse()
	b := bench{bin: *bin, compression: *compression, delivery: *delivery, profile: *profile}
	if err := b.run(*scale, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmark.
type bench struct {
	stack                               local.Stack
	bin, compression, profile, delivery string
}

func (b *bench) run(scale float64, only string) error {
	var err error
	if b.stack, err = local.FromEnv(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	fmt.Printf("%-8s %10s %10s %9s %12s %10s %14s %10s\n",
		"backlog", "rows", "rows/s", "CPU µs/row", "raw rows/s", "of raw", "binlog MB/s", "peak RSS")
	for _, w := range workloads(scale) {
		if only != "" && only != w.name {
			continue
		}
		var base float64
		if b.delivery == exactlyOnce {
			plain := *b
			plain.delivery = "at-least-once"
			r, err := plain.measure(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			base = r.rate()
			w.print(r)
		}
		r, err := b.measure(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.print(r)
		if base > 0 {
			fmt.Printf("%-8s %.0f %% of at-least-once\n", w.name, 100*r.rate()/base)
		}
	}
	return nil
}

const exactlyOnce = "exactly-once"

func (w workload) print(r result) {
	fmt.Printf("%-8s %10d %10.0f %9.2f %12.0f %9.0f%% %14.1f %7.0f MB\n", w.name, r.rows, r.rate(), r.cpuPerRow(),
		r.rawRate(), 100*r.rate()/r.rawRate(), float64(r.bytes)/1e6/r.drain.Seconds(), float64(r.peak)/1e6)
}

type result struct {
	rows       int
	bytes      int64 // of binlog
	drain, raw time.Duration
	cpu        time.Duration
	peak       int64
}

func (r result) rate() float64      { return float64(r.rows) / r.drain.Seconds() }
func (r result) rawRate() float64   { return float64(r.rows) / r.raw.Seconds() }
func (r result) cpuPerRow() float64 { return float64(r.cpu.Microseconds()) / float64(r.rows) }
