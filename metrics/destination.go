package metrics

import "time"

// Destination holds the ready series of one destination while it is active
// here. All methods may be called on nil, which counts nothing (tail, tests).
type Destination struct {
	name string
}

// Received counts bytes of binlog read from the source.
func (d *Destination) Received(bytes int) {}

// Alive notes that the source said it has nothing newer (heartbeat or idle end
// of the binlog): the traffic delay is zero now.
func (d *Destination) Alive() {}

// Put notes a batch queued by the relay: its rows, bytes of binlog, ended
// transactions, changes, and the time of its first and last event (zero if it
// has none).
func (d *Destination) Put(rows, bytes, transactions, changes int, first, last time.Time) {}

// PutBlocked counts time that the relay waited for room in its budget.
func (d *Destination) PutBlocked(t time.Duration) {}

// Got notes a batch taken by a builder.
func (d *Destination) Got(rows int, first time.Time) {}

// Acked notes a batch that Kafka has acknowledged whole.
func (d *Destination) Acked(rows, bytes, changes int, first time.Time) {}

// Saved notes that the position was stored; at is the time of its event.
func (d *Destination) Saved(at time.Time) {}

// Unusual counts something that an operator wants to know of, by a fixed
// short name such as "statement_dml", "reconnect", "tail_scan_miss".
func (d *Destination) Unusual(what string) {}
