package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/audit"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// sourceReading runs a term of the starter beside an audit: what it would send
// is what the topics must hold. It reads as fast as the audit takes changes.
type sourceReading struct {
	i       config.Instance
	from    string
	orders  string // of cursor skip, as position.Resume.Skip
	log     *slog.Logger
	changes chan audit.Change
	last    map[string]audit.Change // of each partition
	err     error                   // why changes was closed
	started bool
	ctx     context.Context
	cancel  context.CancelFunc
}

func newSourceReading(ctx context.Context, i config.Instance, from string, orders []audit.LeftOut, stderr io.Writer) *sourceReading {
	s := &sourceReading{i: i, from: from, log: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		changes: make(chan audit.Change, 1024), last: make(map[string]audit.Change)}
	for _, o := range orders {
		s.orders += o.At + " "
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// next is an audit.Source. The first call asks where the binlog ends: after the
// audit has asked where the topics do, so that what these hold is before it.
func (s *sourceReading) next(ctx context.Context) (audit.Change, error) {
	if !s.started {
		s.started = true
		go func() {
			s.err = s.run()
			close(s.changes)
		}()
	}
	select {
	case c, ok := <-s.changes:
		if !ok {
			return audit.Change{}, s.err
		}
		return c, nil
	case <-ctx.Done():
		return audit.Change{}, ctx.Err()
	}
}

// stop ends the reading and waits for it.
func (s *sourceReading) stop() {
	s.cancel()
	if s.started {
		for range s.changes { //nolint:revive // until it is closed
		}
	}
}

// run reads the binlog to its present end, and returns io.EOF there.
func (s *sourceReading) run() error {
	reader, err := binlog.NewReader(s.i.Source, s.log)
	if err != nil {
		return err
	}
	defer reader.Close()
	end, err := reader.End(s.ctx)
	if err != nil {
		return err
	}
	from, err := s.begin(reader)
	if err != nil {
		return err
	}
	c, err := assembly.StarterConfig(&s.i)
	if err != nil {
		return err
	}
	c.Limit = tailLimit
	open := func(at position.Resume) (mqstarter.Source, error) {
		at.Position, at.Skip = from, s.orders
		kept := readOnly{assembly.NewHistory(&s.i, s.log)}
		return assembly.NewSource(&s.i, at, binlog.Until(reader, end), reader, kept, nil, s.log)
	}
	dial := func() (mqstarter.Producer, error) { return s, nil }
	if err := mqstarter.New(c, nil, open, dial, nil, s.log).Run(s.ctx, noEpoch); err != nil {
		return err
	}
	return s.ctx.Err()
}

// begin is where the comparison begins.
func (s *sourceReading) begin(reader *binlog.Reader) (position.Position, error) {
	if s.from == "" {
		return reader.Earliest(s.ctx)
	}
	start, err := parseStart(s.from)
	if err != nil {
		return position.Position{}, err
	}
	return reader.Locate(s.ctx, start)
}

// Claim keeps no record of what readers have.
func (s *sourceReading) Claim(context.Context, int64) (position.Resume, error) {
	return position.Resume{}, position.ErrNone
}

// Send hands the changes of a parcel to the audit.
func (s *sourceReading) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	for i := range p.Messages {
		all, err := s.changesOf(&p.Messages[i])
		if err != nil {
			done(err)
			return
		}
		for _, c := range all {
			select {
			case s.changes <- c:
			case <-ctx.Done():
				done(ctx.Err())
				return
			}
		}
	}
	done(nil)
}

// changesOf are what a message holds. Those of one event in a partition are
// counted.
func (s *sourceReading) changesOf(m *message.Message) ([]audit.Change, error) {
	if s.i.Starter.Packets == nil {
		c, err := changeOf(m)
		return []audit.Change{c}, err
	}
	all, err := audit.Entries(m.Value)
	for i := range all {
		c := &all[i]
		c.Topic, c.Partition = m.Topic, m.Partition
		place := fmt.Sprintf("%s/%d", m.Topic, m.Partition)
		if last := s.last[place]; last.Tx == c.Tx {
			c.Row = last.Row + 1
		}
		s.last[place] = *c
	}
	return all, err
}

// Close has nothing to let go of.
func (s *sourceReading) Close(context.Context) error { return nil }

func changeOf(m *message.Message) (audit.Change, error) {
	c := audit.Change{Topic: m.Topic, Partition: m.Partition}
	for _, h := range m.Headers {
		switch h.Key {
		case message.HeaderPosition:
			c.Tx = string(h.Value)
		case message.HeaderRow:
			n, err := strconv.ParseUint(string(h.Value), 10, 64)
			if err != nil {
				return c, fmt.Errorf("header %s: %w", h.Key, err)
			}
			c.Row = n
		}
	}
	var err error
	c.Rows, c.Sum, err = audit.Flat(m.Value)
	return c, err
}

// readOnly is a schema history that an audit reads and does not write.
type readOnly struct{ assembly.StoredHistory }

func (readOnly) Append(context.Context, schema.Entry) error { return nil }

func (readOnly) Trim(context.Context, time.Time) error { return nil }
