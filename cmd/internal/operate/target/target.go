// Package target finds the place in a source's binlog that an operator means.
package target

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Target is a place in the binlog as an operator writes it.
type Target struct {
	// Record is where readers of exactly-once are, which the source cannot tell.
	Record bool

	earliest, latest bool
	start            binlog.Start
}

// Parse reads a target: FILE:OFFSET, a GTID set, earliest, latest, record, or a
// time.
func Parse(text string) (Target, error) {
	switch text {
	case "earliest":
		return Target{earliest: true}, nil
	case "latest":
		return Target{latest: true}, nil
	case "record":
		return Target{Record: true}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return Target{start: binlog.Start{Time: at}}, nil
		}
	}
	if set, err := binlog.ParseGTIDSet(text); err == nil && set.String() != "" {
		return Target{start: binlog.Start{GTIDs: set.String()}}, nil
	}
	file, offset, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(offset, 10, 64)
	if !ok || file == "" || err != nil || n < 4 {
		return Target{}, fmt.Errorf("%q: write FILE:OFFSET (4 or more), a GTID set, earliest, latest, record, or a time as 2026-11-30T09:00:00Z", text)
	}
	return Target{start: binlog.Start{Journal: file, Offset: n}}, nil
}

// executed is the position of a GTID set. A server streams from any set of
// another server's transactions, as if none of its own had been executed.
func executed(ctx context.Context, reader *binlog.Reader, start binlog.Start) (position.Position, error) {
	end, err := reader.End(ctx)
	if err != nil {
		return end, err
	}
	all := position.Position{GTIDs: end.GTIDs}
	if covered, _ := all.Covers(position.Position{GTIDs: start.GTIDs}); !covered {
		return end, fmt.Errorf("the source has not executed all of it: it has executed %s", end.GTIDs)
	}
	return reader.Locate(ctx, start)
}

// Locate asks the source for the position that is meant, but for Record. It must
// be one from which the source can stream.
func (to Target) Locate(ctx context.Context, source binlog.Config, l *slog.Logger) (position.Position, error) {
	reader, err := binlog.NewReader(source, l)
	if err != nil {
		return position.Position{}, err
	}
	defer reader.Close()
	server, err := reader.Check(ctx)
	if err != nil {
		return position.Position{}, err
	}
	if to.start.GTIDs != "" && !server.GTID() {
		return position.Position{}, fmt.Errorf("%s has GTIDs off (gtid_mode %s): choose FILE:OFFSET", source.Addr, server.GTIDMode)
	}
	var p position.Position
	switch {
	case to.start.GTIDs != "":
		p, err = executed(ctx, reader, to.start)
	case to.earliest:
		p, err = reader.Earliest(ctx)
	case to.latest:
		p, err = reader.End(ctx)
	default:
		if to.start.Journal != "" { // before it is looked for from the beginning of its file
			err = reader.Holds(ctx, position.Position{File: to.start.Journal, Offset: to.start.Offset, ServerUUID: server.UUID})
		}
		if err == nil {
			p, err = reader.Locate(ctx, to.start)
		}
	}
	if err != nil {
		return p, err
	}
	p.ServerUUID, p.ServerID = server.UUID, server.ID
	if host, port, err := net.SplitHostPort(source.Addr); err == nil {
		n, _ := strconv.ParseUint(port, 10, 16) // 0 for a name, as the reader has it
		p.Host, p.Port = host, uint16(n)
	}
	return p, reader.Holds(ctx, p)
}
