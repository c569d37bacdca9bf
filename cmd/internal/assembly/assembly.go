// Package assembly builds what runs the terms of one destination.
package assembly

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/schematopic"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/history"
)

// StarterConfig is the MQ starter's part of a destination's configuration.
func StarterConfig(i *config.Instance) (mqstarter.Config, error) {
	c := i.Starter
	c.Message = message.Config{Style: i.Style}
	if i.Filter.Field != "" || i.Filter.BlackField != "" {
		columns, err := filter.New(i.Filter)
		if err != nil {
			return c, err
		}
		c.Message.Column = columns.Column
	}
	return c, nil
}

// NewStarter builds what runs a destination's terms on this node.
func NewStarter(node *config.Node, i *config.Instance, cursor mqstarter.Cursor, d *metrics.Destination, log *slog.Logger) (*Starter, error) {
	c, err := StarterConfig(i)
	if err != nil {
		return nil, err
	}
	open := func(from position.Resume) (mqstarter.Source, error) {
		c := i.Source
		c.Unusual, c.Once = d.Unusual, i.ExactlyOnce != nil
		return NewLive(i, c, from, NewHistory(i, log), d, log)
	}
	dial := func() (mqstarter.Producer, error) { return kafka.New(i.Kafka, log) }
	if i.ExactlyOnce != nil {
		transactions := kafka.NewTransactions(i.Kafka, *i.ExactlyOnce, log)
		dial = func() (mqstarter.Producer, error) { return transactions.Producer() }
	}
	return &Starter{Starter: mqstarter.New(c, cursor, open, dial, d, log), memory: i.Relay.Memory, metrics: d, name: i.Name, orders: node.ZooKeeper != ""}, nil
}

// Starter is the MQ starter with the metrics of its terms.
type Starter struct {
	*mqstarter.Starter
	memory  int64
	metrics *metrics.Destination
	name    string
	orders  bool // operators can order to leave something out
}

// Run runs one term.
func (s *Starter) Run(ctx context.Context, epoch int64) error {
	s.metrics.Begin(s.memory)
	defer s.metrics.End()
	err := s.Starter.Run(ctx, epoch)
	var fault *position.Fault
	if s.orders && errors.As(err, &fault) {
		err = fmt.Errorf("%w (to leave just that out, once: canal-relay cursor skip %s --destination %s --conf DIR --reason WHY)", err, fault.At, s.name)
	}
	return err
}

// closer is what a term lets go of at its end.
type closer interface{ Close() }

// StoredHistory is a schema history that holds something open.
type StoredHistory interface {
	schema.History
	closer
}

// NewHistory returns where a destination's table definitions are kept.
func NewHistory(i *config.Instance, log *slog.Logger) StoredHistory {
	switch i.History.Store {
	case config.StoreFile:
		return history.NewFile(filepath.Join(filepath.Dir(i.MetaFile), "schema.db"))
	case config.StoreMySQL:
		return history.NewMySQL(i.History.MySQL, i.Name, log)
	}
	return schematopic.New(i.Kafka, i.History.Topic, i.Name, log)
}

// Source is a relay with what it reads from: built for a term, gone with it.
type Source struct {
	*relay.Relay
	Tracker *schema.Tracker
	server  *binlog.Reader // nil for files
	closers []closer
}

// End asks the server where its binlog ends, and what it has executed.
func (s *Source) End(ctx context.Context) (position.Position, error) {
	if s.server == nil {
		return position.Position{}, errors.New("files have no server to ask")
	}
	return s.server.Executed(ctx)
}

// NewLive builds the relay of one term that reads from a server as c says. kept
// may be nil.
func NewLive(i *config.Instance, c binlog.Config, from position.Resume, kept StoredHistory, d *metrics.Destination, log *slog.Logger) (*Source, error) {
	var s *Source
	c.Ahead = func(ctx context.Context, at, shared position.Position) ([]string, error) {
		return s.Tracker.Ahead(ctx, at, shared)
	}
	reader, err := binlog.NewReader(c, log)
	if err != nil {
		return nil, err
	}
	s, err = NewSource(i, from, reader, reader, kept, d, log)
	return s, err
}

// NewSource builds the relay of one term. definitions and kept may be nil.
func NewSource(i *config.Instance, from position.Resume, events binlog.Events, definitions *binlog.Reader, kept StoredHistory,
	d *metrics.Destination, log *slog.Logger) (*Source, error) {
	s := &Source{}
	var asked schema.Source
	if definitions != nil {
		asked = definitions
		s.server = definitions
		s.closers = append(s.closers, definitions)
	}
	var stored schema.History
	if kept != nil {
		stored = kept
		s.closers = append(s.closers, kept)
	}
	c := i.Relay
	var err error
	if c.Filter, err = filter.New(i.Filter); err != nil {
		return nil, err
	}
	types := schema.DefaultConfig()
	types.ServerTypes = !i.Structures
	types.SnapshotEvery, types.Expire = i.History.Interval, i.History.Expire
	s.Tracker = schema.NewTracker(types, asked, stored)
	c.Tracker = s.Tracker
	s.Relay = relay.New(c, from, events, d, log)
	return s, nil
}

// Run streams, and lets go of what it read from.
func (s *Source) Run(ctx context.Context) error {
	for _, c := range s.closers {
		defer c.Close()
	}
	return s.Relay.Run(ctx)
}
