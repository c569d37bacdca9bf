package binlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog/search"
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
	s := &search.Scan{File: file, Offset: offset}
	if err := r.scan(ctx, s); err != nil {
		return position.Position{}, err
	}
	if s.Found.IsZero() {
		return position.Position{File: file, Offset: 4}, nil
	}
	if s.Found.Offset != offset {
		r.log.Warn("the configured start is not the end of a transaction, starting at the one before it", "file", file, "offset", offset, "start", s.Found.Offset)
	}
	return s.Found, nil
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
		s := &search.Scan{File: files[i], Until: t}
		if err := r.scan(ctx, s); err != nil {
			return position.Position{}, err
		}
		if !s.Found.IsZero() {
			return s.Found, nil
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
		b := &search.Beginning{}
		if err := r.read(ctx, files[middle], b); err != nil {
			return 0, err
		}
		if !b.At.IsZero() && b.At.Before(t) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}

// scan reads one file from its start.
func (r *Reader) scan(ctx context.Context, h *search.Scan) error { return r.read(ctx, h.File, h) }

// read streams a file from its start until h has found what it looks for, under
// its own name on a connection that is not registered as a replica.
func (r *Reader) read(ctx context.Context, file string, h Handler) error {
	err := r.Reread(ctx, position.Position{File: file, Offset: 4}, h)
	if errors.Is(err, search.ErrFound) || errors.Is(err, wire.ErrEnded) {
		return nil
	}
	return err
}
