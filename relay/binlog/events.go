package binlog

import (
	"context"
	"errors"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/position"
)

// ErrPurged says that the source no longer has the binlog at the position.
var ErrPurged = errors.New("the binlog at this position was purged")

// ErrFormat says that the source's settings or its bytes cannot be relayed.
var ErrFormat = parse.ErrFormat

// ErrStart says that a stream cannot start at the position asked for.
var ErrStart = source.ErrStart

// ErrAway says that the source could not be reached; it may be back later.
var ErrAway = source.ErrAway

// Events is a source of binlog events.
type Events interface {
	// Run streams events to h from a position, or, when it is zero, from the
	// configured start, until the context ends, the stream breaks or h fails.
	// It is one connection, or one pass over the files: trying again is the
	// caller's business. Row events have only their header decoded.
	Run(ctx context.Context, from position.Position, h Handler) error
	// Reread streams on the side what stands behind a position, until h fails
	// with an error, which is returned, or the source has no more. What is there
	// no longer is ErrPurged.
	Reread(ctx context.Context, at position.Position, h Handler) error
}

// Handler consumes events on the stream's goroutine.
type Handler interface {
	// Begin opens a stream at a position that stands between transactions.
	// What was half built of an earlier stream is void.
	Begin(p position.Position) error
	// HandleEvent takes one event. Its raw bytes are the handler's to keep; the
	// event itself is valid until the next one comes, see parse.Keep.
	HandleEvent(e *replication.BinlogEvent) error
	// Idle tells that all bytes received so far have been handled and the
	// stream is about to wait for more.
	Idle() error
}
