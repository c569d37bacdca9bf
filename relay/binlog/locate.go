package binlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Locate finds the position that a Start describes on the source.
func (r *Reader) Locate(ctx context.Context, start Start) (position.Position, error) {
	switch {
	case start.GTIDs != "":
		return position.Position{GTIDs: strings.Join(strings.Fields(start.GTIDs), "")}, nil
	case start.Journal != "" && start.Offset > 4:
		return r.before(ctx, start.Journal, start.Offset)
	case !start.Time.IsZero():
		return r.byTime(ctx, start.Time, start.Journal, false)
	case start.Journal != "":
		return position.Position{File: start.Journal, Offset: 4}, nil
	}
	return r.End(ctx)
}

// End is the end of the source's binlog now.
func (r *Reader) End(ctx context.Context) (position.Position, error) {
	s, err := r.here().Open(ctx)
	if err != nil {
		return position.Position{}, err
	}
	defer s.Close()
	query := "SHOW MASTER STATUS"
	if !s.Server.MariaDB() && s.Server.AtLeast(8, 4) {
		query = "SHOW BINARY LOG STATUS"
	}
	rows, err := s.Rows(query)
	if err != nil {
		return position.Position{}, err
	}
	if len(rows) == 0 || len(rows[0]) < 2 {
		return position.Position{}, fmt.Errorf("%w: %s answers %s with nothing; its binlog is off, or the account lacks REPLICATION CLIENT", ErrStart, r.here().Addr, query)
	}
	offset, err := strconv.ParseUint(rows[0][1], 10, 64)
	if err != nil {
		return position.Position{}, fmt.Errorf("%s: %w", query, err)
	}
	p := position.Position{File: rows[0][0], Offset: offset, ServerID: s.Server.ID, ServerUUID: s.Server.UUID, Time: time.Unix(time.Now().Unix(), 0)}
	if s.Server.MariaDB() {
		rows, err = s.Rows("SELECT @@global.gtid_binlog_pos")
		if err != nil {
			return p, err
		}
		if len(rows) == 1 {
			p.GTIDs = rows[0][0]
		}
	} else if len(rows[0]) > 4 && s.Server.GTID() {
		p.GTIDs = strings.Join(strings.Fields(rows[0][4]), "")
	}
	return p, nil
}

// Earliest is the beginning of the oldest binlog file that the source has.
func (r *Reader) Earliest(ctx context.Context) (position.Position, error) {
	files, err := r.files(ctx)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%w: %s lists no binlog file", ErrStart, r.here().Addr)
	}
	if err != nil {
		return position.Position{}, err
	}
	return position.Position{File: files[0], Offset: 4}, nil
}

// before is the last transaction end at or before an offset of a file, with the
// GTID set executed there.
func (r *Reader) before(ctx context.Context, file string, offset uint64) (position.Position, error) {
	s := &scan{file: file, offset: offset}
	if err := r.scan(ctx, s); err != nil {
		return position.Position{}, err
	}
	if s.found.IsZero() {
		return position.Position{File: file, Offset: 4}, nil
	}
	if s.found.Offset != offset {
		r.log.Warn("the configured start is not the end of a transaction, starting at the one before it", "file", file, "offset", offset, "start", s.found.Offset)
	}
	return s.found, nil
}

// byTime is the last transaction end before a time. With a file it is searched
// there only, and the file's start is the answer when all of it is later. With
// complete set, a time older than all files is ErrPurged.
func (r *Reader) byTime(ctx context.Context, t time.Time, file string, complete bool) (position.Position, error) {
	files := []string{file}
	if file == "" {
		var err error
		if files, err = r.files(ctx); err != nil {
			return position.Position{}, err
		}
		if len(files) == 0 {
			return position.Position{}, fmt.Errorf("%w: %s lists no binlog file", ErrStart, r.here().Addr)
		}
	}
	last, err := r.lastBefore(ctx, t, files)
	if err != nil {
		return position.Position{}, err
	}
	for i := last; i >= 0; i-- {
		s := &scan{file: files[i], until: t}
		if err := r.scan(ctx, s); err != nil {
			return position.Position{}, err
		}
		if !s.found.IsZero() {
			return s.found, nil
		}
	}
	if complete {
		return position.Position{}, fmt.Errorf("%w: %s has nothing as old as %s", ErrPurged, r.here().Addr, t.Format(time.RFC3339))
	}
	r.log.Warn("the source has nothing as old as the configured start, starting at its oldest file", "time", t, "file", files[0])
	return position.Position{File: files[0], Offset: 4}, nil
}

// lastBefore is the index of the last file that begins before a time, found by
// halving; 0 when none does.
func (r *Reader) lastBefore(ctx context.Context, t time.Time, files []string) (int, error) {
	low, high := 0, len(files)-1
	for low < high {
		middle := (low + high + 1) / 2
		b := &beginning{}
		if err := r.read(ctx, files[middle], b); err != nil {
			return 0, err
		}
		if !b.at.IsZero() && b.at.Before(t) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

// beginning is a handler that looks for the time at which a file begins.
type beginning struct{ at time.Time }

func (*beginning) Begin(position.Position) error { return nil }

func (*beginning) Idle() error { return nil }

func (b *beginning) HandleEvent(e *replication.BinlogEvent) error {
	if e.Header.Timestamp == 0 {
		return nil // made up for the dump
	}
	b.at = time.Unix(int64(e.Header.Timestamp), 0)
	return errFound
}

// scan is a handler that looks for the last transaction end of one file before
// an offset or a time.
type scan struct {
	file   string
	offset uint64    // 0 for none
	until  time.Time // zero for none

	track *track.Track
	found position.Position
}

var errFound = errors.New("found")

// scan reads one file from its start.
func (r *Reader) scan(ctx context.Context, h *scan) error {
	var err error
	if h.track, err = track.New(position.Position{File: h.file, Offset: 4}, false); err != nil {
		return err
	}
	return r.read(ctx, h.file, h)
}

// read streams a file from its start until h has found what it looks for, under
// its own name on a connection that is not registered as a replica.
func (r *Reader) read(ctx context.Context, file string, h Handler) error {
	err := r.Reread(ctx, position.Position{File: file, Offset: 4}, h)
	if errors.Is(err, errFound) || errors.Is(err, wire.ErrEnded) {
		return nil
	}
	return err
}

func (h *scan) Begin(position.Position) error { return nil }

func (h *scan) Idle() error { return nil }

func (h *scan) HandleEvent(e *replication.BinlogEvent) error {
	at := time.Unix(int64(e.Header.Timestamp), 0)
	if !h.until.IsZero() && e.Header.Timestamp > 0 && !at.Before(h.until) {
		return errFound
	}
	switch e.Header.EventType {
	case replication.HEARTBEAT_EVENT, replication.HEARTBEAT_LOG_EVENT_V2:
		return errFound // nothing newer
	}
	step := h.track.Next(e)
	if h.track.File != h.file {
		return errFound
	}
	if p, ok := e.Event.(*parse.Payload); ok {
		if err := p.Events(func(inner *replication.BinlogEvent) error {
			step = h.track.Inner(inner)
			return nil
		}); err != nil {
			return err
		}
	}
	if step.Ended && (h.offset == 0 || h.track.Position().Offset <= h.offset) {
		h.found = h.track.Position()
		if h.offset > 0 && h.track.End <= h.offset {
			h.found.Offset = h.track.End
		}
	}
	if h.offset > 0 && (h.track.Start >= h.offset || h.track.End > h.offset) {
		return errFound
	}
	return nil
}
