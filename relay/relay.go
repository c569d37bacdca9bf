package relay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/buffer"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/outage"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Defaults of a Config.
const (
	DefaultMemory     = 32 << 20
	DefaultBatchBytes = 256 << 10
)

// What happens to a statement-format change of a captured table.
const (
	StatementEmit = "emit" // sent on as Canal does, counted and logged
	StatementStop = "stop" // ends the term
)

// firstAttempts are the connections that may break before a stream begins.
const firstAttempts = 3

// Config is what a Relay reads and how much it holds.
type Config struct {
	Memory     int64 // bytes held from queueing to Release; 0 is DefaultMemory
	BatchBytes int   // bytes of binlog at which a batch is cut; 0 is DefaultBatchBytes; a sixteenth of Memory at most
	GTID       bool  // fill Change.GTID
	Boundaries bool  // hand on where transactions begin and end
	Clocks     bool  // fill Change.Clock
	Files      bool  // events come from files: offsets are theirs, whatever the headers say

	Filter  *filter.Filter  // which tables are captured
	Drop    filter.Config   // its flags: kinds of event that are not
	Tracker *schema.Tracker // table definitions
	// Defined is told which definition of a table is used, and where it came from
	// (schema.FromStatement, …), whenever that changes. Nil: nobody is.
	Defined func(schema, table, from string)

	// SimpleDDL announces statements as Canal does with filter.druid.ddl=false.
	// Table layouts follow them all the same.
	SimpleDDL    bool
	StatementDML string // StatementEmit or StatementStop; empty is StatementEmit

	Isolate    bool // a DDL has a batch to itself, which is Alone
	SplitKeys  bool // a change of a primary key becomes a delete and an insert
	SkipTables bool // rows of a table whose definition cannot be had are skipped and counted
	Rate       int  // bytes of binlog read per second; 0 is no limit
}

// Relay is one term's way from events to batches.
type Relay struct {
	c      Config
	events binlog.Events
	d      *metrics.Destination
	log    *slog.Logger
	buf    *buffer.Buffer

	// What was handed on, owned by Run: where a new stream continues, and how
	// many rows of which transaction behind it are not to be repeated.
	from position.Position
	rows uint64
	tx   []byte   // empty when only the number is known
	skip []string // position.Resume.Skip

	batches uint64
	outage  outage.Outage
}

// New returns a Relay that continues at from, or, when that names no position,
// at the events' configured start. It does no I/O.
func New(c Config, from position.Resume, events binlog.Events, d *metrics.Destination, l *slog.Logger) *Relay {
	if c.Memory <= 0 {
		c.Memory = DefaultMemory
	}
	if c.BatchBytes <= 0 {
		c.BatchBytes = DefaultBatchBytes
	}
	c.BatchBytes = min(c.BatchBytes, int(max(c.Memory/16, 1)))
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &Relay{c: c, events: events, d: d, log: l, buf: buffer.New(c.Memory), from: from.Position, rows: from.Sent, tx: []byte(from.Tx), skip: strings.Fields(from.Skip)}
}

// Run streams until the context ends (nil), the files end (io.EOF) or nothing
// can be done about what stands in the way. A connection that breaks is made
// again, from the last transaction end handed on. A source that cannot be
// reached at the start, or drops the first connections, ends the run: that is
// worth telling, and another node may fare better.
func (r *Relay) Run(ctx context.Context) error {
	err := r.run(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	if err == io.EOF { //nolint:errorlint // a broken connection wraps it
		r.buf.Close(nil)
		return io.EOF
	}
	r.buf.Close(err)
	return err
}

func (r *Relay) run(ctx context.Context) error {
	a := newAssembler(ctx, r)
	for attempt := 1; ; attempt++ {
		began := time.Now()
		a.failed = nil
		err := r.events.Run(ctx, r.from, a)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == io.EOF: //nolint:errorlint // a broken connection wraps it
			return a.finish()
		case !a.begun && (attempt == firstAttempts || errors.Is(err, binlog.ErrAway)), fatal(err, a.failed):
			return err
		}
		pause, tell := r.outage.Wait(time.Since(began), err, errors.Is(err, binlog.ErrAway))
		r.d.Unusual("reconnect")
		if tell {
			r.log.Warn("lost the source, connecting again", "error", err, "wait", pause, "file", r.from.File, "offset", r.from.Offset)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// fatal reports whether another connection would end the same way: the source
// said so, or what it sent cannot be relayed. Not reaching the source, also for
// a definition, is not.
func fatal(err, failed error) bool {
	if errors.Is(err, binlog.ErrAway) {
		return false
	}
	return failed != nil || errors.Is(err, binlog.ErrPurged) || errors.Is(err, binlog.ErrFormat) ||
		errors.Is(err, binlog.ErrStart) || errors.Is(err, binlog.ErrDenied)
}

// Next returns the next batch in binlog order, waiting for one. Behind the last
// one it returns io.EOF, or the error that ended Run.
func (r *Relay) Next(ctx context.Context) (*event.Batch, error) { return r.buf.Next(ctx) }

// Release gives a batch's memory back to the budget; the caller must not touch
// the batch or its bytes any more.
func (r *Relay) Release(b *event.Batch) { r.buf.Release(b) }
