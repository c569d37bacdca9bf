// Bench measures the relay on the local stack, in both modes of delivery: how
// fast a fresh node drains a backlog (rows a second, CPU time a row, peak
// memory, beside the server's raw dump read in the same run), how long a commit
// takes until consumers can read it, and what an idle destination costs. No
// figure is printed before the topic was read back and counted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// The modes of delivery.
const (
	atLeastOnce = "at-least-once"
	exactlyOnce = "exactly-once"
)

func main() {
	b := bench{settings: map[string]string{"kafka.compression.type": "none"}}
	flag.StringVar(&b.bin, "bin", "bin/canal-relay", "the relay's binary")
	flag.StringVar(&b.profile, "profile", "", "write CPU and heap profiles of each drain to files that begin with this")
	flag.IntVar(&b.repeat, "repeat", 3, "how often each backlog is drained in each mode, in turn")
	flag.Func("set", "a `key=value` of canal.properties, several times if need be", func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not key=value", s)
		}
		b.settings[key] = value
		return nil
	})
	scale := flag.Float64("scale", 1, "size of the backlogs, as a part of the full ones, and time of the others")
	delivery := flag.String("delivery", atLeastOnce+","+exactlyOnce, "the modes of delivery")
	only := flag.String("only", "bulk,single,update,latency,idle", "what is measured")
	flag.Parse()
	b.modes = strings.Split(*delivery, ",")
	if err := b.run(*scale, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of the benchmark.
type bench struct {
	stack        local.Stack
	bin, profile string
	modes        []string
	repeat       int
	settings     map[string]string // beside those that are measured
}

func (b *bench) run(scale float64, only []string) error {
	var err error
	if b.stack, err = local.FromEnv(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	if err := b.backlogs(ctx, scale, only); err != nil {
		return err
	}
	if slices.Contains(only, "latency") {
		if err := b.latencies(ctx, scale); err != nil {
			return fmt.Errorf("latency: %w", err)
		}
	}
	if slices.Contains(only, "idle") {
		if err := b.idle(ctx); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	return nil
}

// backlogs drains each of them in each mode, in turn, and compares the modes run
// by run: the machine is slower at one time than at another.
func (b *bench) backlogs(ctx context.Context, scale float64, only []string) error {
	titled := false
	for _, w := range workloads(scale) {
		if !slices.Contains(only, w.name) {
			continue
		}
		if !titled {
			titled = true
			fmt.Printf("%-8s %-14s %9s %8s %9s %11s %11s %7s %12s %9s\n",
				"backlog", "delivery", "rows", "start s", "rows/s", "CPU µs/row", "raw rows/s", "of raw", "binlog MB/s", "peak RSS")
		}
		if err := b.backlog(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

func (b *bench) backlog(ctx context.Context, w workload) error {
	log, err := b.prepare(w)
	if err != nil {
		return err
	}
	var ratios []float64
	for range b.repeat {
		rates := make(map[string]float64)
		for _, mode := range b.modes {
			r, err := b.measure(ctx, log, mode)
			if err != nil {
				return fmt.Errorf("%s: %w", mode, err)
			}
			rates[mode] = r.rate()
			r.print(log, mode)
		}
		if len(rates) == 2 {
			ratios = append(ratios, 100*rates[exactlyOnce]/rates[atLeastOnce])
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		fmt.Printf("%-8s exactly-once is %.0f %% of at-least-once (median; %.0f to %.0f %%)\n",
			w.name, ratios[(len(ratios)-1)/2], ratios[0], ratios[len(ratios)-1])
	}
	return nil
}

// result is one drain.
type result struct {
	start time.Duration // from ownership to the first acknowledgement that was seen
	rows  int           // acknowledged after that
	drain time.Duration // and in which time
	all   int           // rows
	cpu   time.Duration // of the whole process
	peak  int64
}

// rate does not count the start: a backlog of a day takes it once, too.
func (r result) rate() float64 { return float64(r.rows) / r.drain.Seconds() }

func (r result) print(log backlog, mode string) {
	raw := float64(r.all) / log.raw.Seconds()
	fmt.Printf("%-8s %-14s %9d %8.2f %9.0f %11.2f %11.0f %6.0f%% %12.1f %6.0f MB\n", log.name, mode, r.all, r.start.Seconds(), r.rate(),
		float64(r.cpu.Microseconds())/float64(r.all), raw, 100*r.rate()/raw,
		float64(log.bytes)/1e6*r.rate()/float64(r.all), float64(r.peak)/1e6)
}
