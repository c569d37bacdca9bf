package binlog

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/binlog/track"
)

// Defaults of a Config.
const (
	DefaultHeartbeat   = 15 * time.Second
	DefaultDialTimeout = 10 * time.Second
	DefaultTimeout     = 30 * time.Second // canal.instance.network.soTimeout
)

// Config is how a Reader reaches its source and what it asks of it.
type Config struct {
	Addr           string // host:port
	User, Password string
	TLS            *tls.Config // nil for a plain connection

	// ServerID and ReplicaUUID are what the source knows the reader by: it
	// drops an older dump with the same ones.
	ServerID    uint32
	ReplicaUUID string

	Heartbeat   time.Duration // how often an idle source says so; two of them without a sign end the stream
	DialTimeout time.Duration
	Timeout     time.Duration // of one statement

	Start    Start
	Fallback time.Duration // how far to step back when another server's position is searched by its time; 0 refuses to search
	Latest   bool          // when the position was purged, continue at the end of the binlog

	Formats   []string // values of binlog_format that are accepted; empty accepts all
	RowImages []string // values of binlog_row_image that are accepted; empty accepts all
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
	if c.ServerID == 0 {
		return fmt.Errorf("server id of the reader of %s is 0", c.Addr)
	}
	if _, err := track.ParseGTIDSet(c.Start.GTIDs); err != nil {
		return fmt.Errorf("start position: %w", err)
	}
	return nil
}

func (c *Config) defaults() {
	if c.Heartbeat <= 0 {
		c.Heartbeat = DefaultHeartbeat
	}
	if c.DialTimeout <= 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
}

func (c *Config) hostPort() (string, uint16) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return c.Addr, 0
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return host, uint16(n)
}

// accepts reports whether a list of settings has a value, or is empty.
func accepts(list []string, value string) bool {
	for _, v := range list {
		if strings.EqualFold(strings.TrimSpace(v), value) {
			return true
		}
	}
	return len(list) == 0
}

func containsFold(s, word string) bool { return strings.Contains(strings.ToLower(s), word) }

func orDiscard(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// ParseGTIDSet reads the text form of either server; white space is ignored.
func ParseGTIDSet(text string) (track.GTIDSet, error) { return track.ParseGTIDSet(text) }

// flavorOf tells the two servers apart by their version text.
func flavorOf(version string) string {
	if containsFold(version, "mariadb") {
		return mysql.MariaDBFlavor
	}
	return mysql.MySQLFlavor
}
