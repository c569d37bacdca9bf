package source

import (
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"time"
)

// Defaults of a Config.
const (
	DefaultHeartbeat   = 15 * time.Second
	DefaultDialTimeout = 10 * time.Second
	DefaultTimeout     = 30 * time.Second // canal.instance.network.soTimeout
)

// Config is how a source is reached, and as whom.
type Config struct {
	Addr           string // host:port; the host is resolved at each connection
	User, Password string
	// Secret, if not nil, is asked for the password at each login.
	Secret func() (string, error)

	TLS *tls.Config // nil for a plain connection
	// TLSOptional takes a plain connection where the server has no TLS.
	TLSOptional bool

	// ServerID and ReplicaUUID are what the source knows the reader by: it
	// drops an older dump with the same ones.
	ServerID    uint32
	ReplicaUUID string

	Heartbeat   time.Duration // how often an idle source says so; two of them without a sign end the stream
	DialTimeout time.Duration
	Timeout     time.Duration // of one statement

	Formats   []string // values of binlog_format that are accepted; empty accepts all
	RowImages []string // values of binlog_row_image that are accepted; empty accepts all
}

// Complete fills in defaults.
func (c *Config) Complete() {
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

// Unnamed is the configuration of a dump that only looks. Server id 0 would end
// a dump by file at the last event; it also keeps the source from taking this
// connection for a second copy of the reader.
func (c *Config) Unnamed() *Config {
	u := *c
	u.ServerID = 0
	return &u
}

// HostPort splits the address.
func (c *Config) HostPort() (string, uint16) {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return c.Addr, 0
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return host, uint16(n)
}

func (c *Config) password() (string, error) {
	if c.Secret == nil {
		return c.Password, nil
	}
	return c.Secret()
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
