package binlog

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
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
