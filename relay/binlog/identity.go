package binlog

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog/search"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// foreign reports whether a position is of another server than the connection's:
// by the servers' UUIDs; where one is unknown, as on MariaDB and in Canal's
// cursors, by their addresses. A position that tells neither is taken as it is.
func (r *Reader) foreign(ctx context.Context, s *source.Conn, p position.Position) bool {
	if p.ServerUUID != "" && s.Server.UUID != "" {
		return p.ServerUUID != s.Server.UUID
	}
	if p.Host == "" {
		return false
	}
	host, port := r.here().HostPort()
	return !sameAddress(ctx, p.Host, p.Port, host, port)
}

// moved reports whether another server has taken over the address of a file
// position that does not name its server, as Canal's cursors do not: the source
// is not the one whose event stood there, and has something else there, or
// nothing. A source that only passes on what others write has the event.
func (r *Reader) moved(ctx context.Context, s *source.Conn, p position.Position) (bool, error) {
	if p.ServerUUID != "" || p.File == "" || p.Offset > math.MaxUint32 || p.ServerID == 0 || p.ServerID == s.Server.ID || p.Time.IsZero() {
		return false, nil
	}
	h := &search.First{}
	err := r.Reread(ctx, p, h)
	switch {
	case errors.Is(err, ErrPurged), errors.Is(err, ErrFormat):
	case err != nil && !errors.Is(err, search.ErrFound) && !errors.Is(err, wire.ErrEnded):
		return false, err
	case !h.Other(p.ServerID, p.Time):
		return false, nil
	}
	r.log.Warn("the source does not have the event at which the position was stored, and is another server: has one taken its address over?",
		"source", r.here().Addr, "server", s.Server.ID, "stored at", p.ServerID)
	return true, nil
}

// resolveTimeout bounds the look-up of a name that only serves to compare.
const resolveTimeout = 5 * time.Second

// sameAddress compares two addresses after resolving them: Canal keeps the name
// that an address resolves back to. A name that nobody knows is no other's.
func sameAddress(ctx context.Context, host string, port uint16, other string, otherPort uint16) bool {
	if port != otherPort {
		return false
	}
	if strings.EqualFold(host, other) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	known, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return false
	}
	others, err := net.DefaultResolver.LookupHost(ctx, other)
	return err == nil && slices.ContainsFunc(known, func(ip string) bool { return slices.Contains(others, ip) })
}
