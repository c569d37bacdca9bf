package binlog

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Config is how a Reader reaches its source and what it asks of it.
type Config struct {
	source.Config

	// Standby is the other server of a pair, with what differs from the source:
	// its address and TLS. Without an address there is none.
	Standby      Standby
	StandbyStart Start // where a stream begins there that has no stored position
	Detect       Detect

	Start    Start
	Fallback time.Duration // how far to step back when another server's position is searched by its time; 0 refuses to search
	Once     bool          // readers get every change once: do not search by time behind what they have
	Latest   bool          // when the position was purged, continue at the end of the binlog

	Unusual func(what string) // told of Lost; nil: nobody is
	// Ahead lists the statements that changed layouts before a position and not
	// before an earlier one, which a source has of it. Nil: none are known.
	Ahead func(ctx context.Context, at, shared position.Position) ([]string, error)
}

// Standby is how the other server of a pair is reached; the account is the same.
type Standby struct {
	Addr        string // host:port
	TLS         *tls.Config
	TLSOptional bool
}

// Start is where a stream begins that has no stored position. The first that is
// set wins: GTIDs; Journal with Offset; Time, in Journal only if that is set;
// Journal from its beginning. With none it begins at the end of the binlog.
type Start struct {
	GTIDs   string // executed set in the server's text form
	Journal string // binlog file name
	Offset  uint64 // bytes; moved back to the end of the transaction before it
	Time    time.Time
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return fmt.Errorf("source address %q: %w", c.Addr, err)
	}
	if _, _, err := net.SplitHostPort(c.Standby.Addr); err != nil && c.Standby.Addr != "" {
		return fmt.Errorf("standby address %q: %w", c.Standby.Addr, err)
	}
	if c.ServerID == 0 {
		return fmt.Errorf("server id of the reader of %s is 0", c.Addr)
	}
	if _, err := track.ParseGTIDSet(c.Start.GTIDs); err != nil {
		return fmt.Errorf("start position: %w", err)
	}
	return nil
}

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// ParseGTIDSet reads the text form of either server; white space is ignored.
func ParseGTIDSet(text string) (track.GTIDSet, error) { return track.ParseGTIDSet(text) }
