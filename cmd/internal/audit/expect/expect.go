// Package expect tells an audit what the topics of a destination must hold: what
// a term that reads the source's binlog would send.
package expect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/audit"
	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/until"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Config says what is expected of which part of a binlog.
type Config struct {
	Instance config.Instance // as config.Instance.ForTail makes it
	From     binlog.Start    // zero: the oldest file
	Orders   []audit.LeftOut // of cursor skip
}

// Reading runs a term of the starter beside an audit: what it would send is what
// the topics must hold. It reads as fast as the audit takes changes.
type Reading struct {
	c       Config
	log     *slog.Logger
	changes chan audit.Change
	last    map[string]audit.Change // of each partition
	err     error                   // why changes was closed
	started bool
	ctx     context.Context
	cancel  context.CancelFunc
}

// New reads nothing yet. Warnings of the term are written to stderr.
func New(ctx context.Context, c Config, stderr io.Writer) *Reading {
	r := &Reading{c: c, log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		changes: make(chan audit.Change, 1024), last: make(map[string]audit.Change)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	return r
}

// Topics reads the binlog for nothing but the topics that its changes go to.
func (r *Reading) Topics() ([]string, error) {
	seen := names{}
	if err := r.run(slog.New(slog.DiscardHandler), seen); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

// Next is an audit.Source. The first call asks where the binlog ends: after the
// audit has asked where the topics do, so that what these hold is before it.
func (r *Reading) Next(ctx context.Context) (audit.Change, error) {
	if !r.started {
		r.started = true
		go func() {
			r.err = r.run(r.log, r)
			close(r.changes)
		}()
	}
	select {
	case c, ok := <-r.changes:
		if !ok {
			return audit.Change{}, r.err
		}
		return c, nil
	case <-ctx.Done():
		return audit.Change{}, ctx.Err()
	}
}

// Stop ends the reading and waits for it.
func (r *Reading) Stop() {
	r.cancel()
	if r.started {
		for range r.changes { //nolint:revive // until it is closed
		}
	}
}

const (
	noEpoch  = -1      // nothing is owned
	noLimit  = 1 << 30 // every change is whole
	oneEntry = 1       // bytes of a protobuf record: each has one entry, so that its headers are that one's
)

// run reads the binlog to its present end, and returns io.EOF there.
func (r *Reading) run(log *slog.Logger, to mqstarter.Producer) error {
	i := &r.c.Instance
	reader, err := binlog.NewReader(i.Source, log)
	if err != nil {
		return err
	}
	defer reader.Close()
	end, err := reader.End(r.ctx)
	if err != nil {
		return err
	}
	from, err := r.begin(reader)
	if err != nil {
		return err
	}
	c, err := assembly.StarterConfig(i)
	if err != nil {
		return err
	}
	c.Limit, c.Oversize = noLimit, oversize.Stop
	if c.Packets != nil {
		single := *c.Packets
		single.Bytes = oneEntry
		c.Packets = &single
	}
	var orders strings.Builder
	for _, o := range r.c.Orders {
		orders.WriteString(o.At + " ")
	}
	open := func(at position.Resume) (mqstarter.Source, error) {
		at.Position, at.Skip = from, orders.String()
		kept := readOnly{assembly.NewHistory(i, log)}
		return assembly.NewSource(i, at, until.End(reader, end), reader, kept, nil, log)
	}
	dial := func() (mqstarter.Producer, error) { return to, nil }
	if err := mqstarter.New(c, nil, open, dial, nil, log).Run(r.ctx, noEpoch); err != nil {
		return err
	}
	return r.ctx.Err()
}

// begin is where the comparison begins.
func (r *Reading) begin(reader *binlog.Reader) (position.Position, error) {
	if r.c.From == (binlog.Start{}) {
		return reader.Earliest(r.ctx)
	}
	return reader.Locate(r.ctx, r.c.From)
}

// Partitions asks the cluster, where the topic decides.
func (r *Reading) Partitions(ctx context.Context, topic string) (int32, error) {
	return topicreader.Partitions(ctx, &r.c.Instance.Kafka, topic)
}

// Claim keeps no record of what readers have.
func (r *Reading) Claim(context.Context, int64) (position.Resume, error) {
	return position.Resume{}, position.ErrNone
}

// Send hands the changes of a parcel to the audit.
func (r *Reading) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	for i := range p.Messages {
		all, err := r.changesOf(&p.Messages[i])
		if err != nil {
			done(err)
			return
		}
		for _, c := range all {
			select {
			case r.changes <- c:
			case <-ctx.Done():
				done(ctx.Err())
				return
			}
		}
	}
	done(nil)
}

// changesOf are what a message holds. Those of one event in a partition are
// numbered.
func (r *Reading) changesOf(m *message.Message) ([]audit.Change, error) {
	c, err := named(m)
	if err != nil {
		return nil, err
	}
	if r.c.Instance.Starter.Packets == nil {
		c.Rows, c.Sum, err = content.Flat(m.Value)
		return []audit.Change{c}, err
	}
	all, err := audit.Entries(m.Value)
	for i := range all {
		e := &all[i]
		e.Topic, e.Partition, e.In, e.Last = m.Topic, m.Partition, c.Tx, c.Row
		place := fmt.Sprintf("%s/%d", m.Topic, m.Partition)
		last := r.last[place]
		e.Follow(&last)
		r.last[place] = *e
	}
	return all, err
}

// Close has nothing to let go of.
func (r *Reading) Close(context.Context) error { return nil }

// named is a change as the headers of its message name it.
func named(m *message.Message) (audit.Change, error) {
	c := audit.Change{Topic: m.Topic, Partition: m.Partition, Tx: string(m.Headers.Tx)}
	if m.Headers.Row == nil {
		return c, nil
	}
	var err error
	if c.Row, err = strconv.ParseUint(string(m.Headers.Row), 10, 64); err != nil {
		return c, fmt.Errorf("header %s: %w", message.HeaderRow, err)
	}
	return c, nil
}

// readOnly is a schema history that an audit reads and does not write.
type readOnly struct{ assembly.StoredHistory }

func (readOnly) Append(context.Context, schema.Entry) error { return nil }

func (readOnly) Trim(context.Context, time.Time) error { return nil }

// names is a Producer that takes down to which topics messages go.
type names map[string]bool

// Claim keeps no record of what readers have.
func (names) Claim(context.Context, int64) (position.Resume, error) {
	return position.Resume{}, position.ErrNone
}

// Partitions does not matter to the names.
func (names) Partitions(context.Context, string) (int32, error) { return 1, nil }

// Send is called from one goroutine.
func (n names) Send(_ context.Context, p *message.Parcel, done func(error)) {
	for i := range p.Messages {
		if topic := p.Messages[i].Topic; !n[topic] {
			n[topic] = true
		}
	}
	done(nil)
}

// Close has nothing to let go of.
func (names) Close(context.Context) error { return nil }
