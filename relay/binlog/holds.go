package binlog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Reread streams what stands behind a position over a connection of its own,
// which is not registered as a replica. On another server than the position's
// it needs the GTID set.
func (r *Reader) Reread(ctx context.Context, at position.Position, h Handler) error {
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	foreign := at.ServerUUID != "" && s.server.UUID != "" && at.ServerUUID != s.server.UUID
	switch {
	case foreign && (at.GTIDs == "" || !s.server.GTID()):
		return fmt.Errorf("%w: %s:%d is of server %s, and %s is server %s", ErrPurged, at.File, at.Offset, at.ServerUUID, r.c.Addr, s.server.UUID)
	case !foreign && at.Offset <= math.MaxUint32:
		at.GTIDs = ""
	}
	if err := s.scanner(); err != nil {
		return err
	}
	if err := s.dump(r.unnamed(), at); err != nil {
		return err
	}
	if err := h.Begin(at); err != nil {
		return err
	}
	return r.named(ctx, at, s.stream(h))
}

// Holds asks whether the source can still stream from a position that is not
// zero: it starts a dump there that ends with its first event, on a connection
// that is not registered as a replica. Its error is the one that Run would
// return.
func (r *Reader) Holds(ctx context.Context, p position.Position) error {
	err := r.holds(ctx, p)
	if errors.Is(err, errFound) || errors.Is(err, wire.ErrEnded) {
		return nil
	}
	return r.explain(ctx, err)
}

func (r *Reader) holds(ctx context.Context, p position.Position) error {
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if p, err = r.begin(ctx, s, p); err != nil {
		return err
	}
	if err := s.scanner(); err != nil {
		return err
	}
	if err := s.dump(r.unnamed(), p); err != nil {
		return err
	}
	return r.named(ctx, p, s.stream(firstEvent{}))
}

// firstEvent is a handler that is content with one event.
type firstEvent struct{}

func (firstEvent) Begin(position.Position) error { return nil }

func (firstEvent) Idle() error { return nil }

func (firstEvent) HandleEvent(e *replication.BinlogEvent) error {
	switch e.Header.EventType {
	case replication.ROTATE_EVENT, replication.FORMAT_DESCRIPTION_EVENT:
		return nil // sent before the server has looked at the position
	}
	return errFound // a heartbeat, too: nothing is newer than the position
}

// unnamed is the configuration of a dump that only looks. Server id 0 would end
// a dump by file at the last event; it also keeps the source from taking this
// connection for a second copy of the reader.
func (r *Reader) unnamed() *Config {
	c := r.c
	c.ServerID = 0
	return &c
}

// scanner makes the connection one that a dump can be asked for, without
// registering it as a replica.
func (s *session) scanner() error {
	err := s.exec("SET SESSION net_write_timeout=7200", "SET @master_binlog_checksum=@@global.binlog_checksum, @source_binlog_checksum=@@global.binlog_checksum",
		fmt.Sprintf("SET @master_heartbeat_period=%d, @source_heartbeat_period=%d", time.Second, time.Second))
	if err == nil && s.server.MariaDB() {
		err = s.exec("SET @mariadb_slave_capability=4")
	}
	return err
}
