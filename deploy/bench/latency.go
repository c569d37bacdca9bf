package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// load is a steady stream of transactions.
type load struct {
	name   string
	every  time.Duration // between two commits
	rows   int           // of each
	warmup int           // transactions that are not counted
}

var loads = []load{
	{"200 one-row transactions/s", 5 * time.Millisecond, 1, 200},
	{"5,000 rows/s", 5 * time.Millisecond, 25, 200},
}

// latencies measures the time from COMMIT's return in the writing client until a
// consumer with isolation level read_committed has a row.
func (b *bench) latencies(ctx context.Context, scale float64) error {
	fmt.Printf("%-28s %-14s %8s %9s %9s %9s\n", "commit until readable", "delivery", "rows", "p50 ms", "p99 ms", "most ms")
	for _, l := range loads {
		for _, mode := range b.modes {
			waits, err := b.latency(ctx, l, mode, max(200, int(2000*scale)))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", l.name, mode, err)
			}
			slices.Sort(waits)
			ms := func(part float64) float64 {
				return float64(waits[int(part*float64(len(waits)-1))].Microseconds()) / 1000
			}
			fmt.Printf("%-28s %-14s %8d %9.1f %9.1f %9.1f\n", l.name, mode, len(waits), ms(0.5), ms(0.99), ms(1))
		}
	}
	return nil
}

// latency returns how long each row took that so many transactions wrote.
func (b *bench) latency(ctx context.Context, l load, mode string, transactions int) ([]time.Duration, error) {
	conn, err := b.stack.Admin("mysql")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := local.Exec(conn, "SET SESSION time_zone = '+00:00'", "DROP DATABASE IF EXISTS bench", "CREATE DATABASE bench", createTable); err != nil {
		return nil, err
	}
	from, err := local.End(conn)
	if err != nil {
		return nil, err
	}
	n, err := b.start(ctx, "latency", mode, from, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	transactions += l.warmup
	readable, read := make([]time.Time, transactions*l.rows), make(chan error, 1)
	go func() { read <- b.consume(ctx, n.topic, readable) }()
	committed := make([]time.Time, transactions)
	next := time.Now()
	for i := range committed {
		time.Sleep(time.Until(next))
		next = next.Add(l.every)
		if err = insertFrom(conn, 1+i*l.rows, l.rows); err != nil {
			break
		}
		committed[i] = time.Now()
	}
	if err == nil {
		err = <-read
	}
	if err == nil {
		err = n.stop()
	}
	if err = errors.Join(err, n.end()); err != nil {
		return nil, err
	}
	waits := make([]time.Duration, 0, len(readable))
	for i := l.warmup * l.rows; i < len(readable); i++ {
		waits = append(waits, max(0, readable[i].Sub(committed[i/l.rows]))) // a reader may be faster than the writer's answer
	}
	return waits, nil
}

// consume notes when each row, by its number from 1 on, could be read.
func (b *bench) consume(ctx context.Context, topic string, readable []time.Time) error {
	left := len(readable)
	var fault error
	err := b.stack.ReadCommitted(ctx, topic, func(rec *kgo.Record) bool {
		now := time.Now()
		var m struct{ Data []struct{ ID string } }
		if fault = json.Unmarshal(rec.Value, &m); fault != nil {
			return false
		}
		for _, row := range m.Data {
			id, err := strconv.Atoi(row.ID)
			if err != nil || id < 1 || id > len(readable) || !readable[id-1].IsZero() {
				fault = fmt.Errorf("row %q is not one of %d, or came twice", row.ID, len(readable))
				return false
			}
			readable[id-1] = now
			left--
		}
		return left > 0
	})
	return errors.Join(err, fault)
}
