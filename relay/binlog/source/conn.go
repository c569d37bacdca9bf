package source

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Conn is one connection to a source. It ends with the context that it was
// opened with.
type Conn struct {
	Server Server // what Inspect found

	conn *client.Conn
	link *wire.Link
	stop func() bool
}

// Open connects, and asks the server what it is.
func (c *Config) Open(ctx context.Context) (*Conn, error) {
	s, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.inspect(); err != nil {
		s.Close()
		return nil, fmt.Errorf("source %s: %w", c.Addr, err)
	}
	return s, nil
}

// Dial opens a connection that closes when ctx ends. Its statements are bounded
// by the configured timeout. TCP keep-alive is the dialer's.
func (c *Config) Dial(ctx context.Context) (*Conn, error) {
	s := &Conn{}
	dialer := net.Dialer{Timeout: c.DialTimeout, KeepAlive: 30 * time.Second}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		s.link = &wire.Link{Conn: conn, Timeout: 2*c.Heartbeat + 5*time.Second}
		s.stop = context.AfterFunc(ctx, func() { conn.Close() })
		return s.link, nil
	}
	password, err := c.password()
	if err != nil {
		return nil, fmt.Errorf("%w: password of the source: %w", ErrAway, err)
	}
	options := func(conn *client.Conn) error {
		conn.ReadTimeout, conn.WriteTimeout = c.Timeout, c.Timeout
		if c.TLS != nil {
			conn.SetTLSConfig(c.tlsFor())
		}
		conn.SetAttributes(map[string]string{"program_name": "canal-relay"})
		return nil
	}
	s.conn, err = c.handshake(ctx, password, dial, options)
	if c.TLS != nil && c.TLSOptional && err != nil && strings.Contains(err.Error(), noTLS) {
		s.Close()
		plain := *c
		plain.TLS = nil
		return plain.Dial(ctx)
	}
	if err != nil {
		if s.link != nil {
			s.Close()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to source %s as %q: %w", c.Addr, c.User, c.advise(plain(err)))
	}
	return s, nil
}

// tlsFor names the server that is expected, unless a name is configured.
func (c *Config) tlsFor() *tls.Config {
	settings := c.TLS.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _ = c.HostPort()
	}
	return settings
}

// noTLS is what go-mysql says of a server without TLS.
const noTLS = "does not support TLS"

// handshake connects and logs in. An answer that go-mysql does not expect makes
// it panic (an error in place of the server's public key does).
func (c *Config) handshake(ctx context.Context, password string, dial client.Dialer, options client.Option) (conn *client.Conn, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("unexpected answer of the server while logging in: %v", r)
		}
	}()
	return client.ConnectWithDialer(ctx, "tcp", c.Addr, c.User, password, "", dial, options)
}

// Close ends the connection without a word to the server, so that it cannot
// block or dial.
func (s *Conn) Close() {
	s.stop()
	_ = s.link.Close()
}

// Exec runs statements, each on its own.
func (s *Conn) Exec(statements ...string) error {
	for _, q := range statements {
		if _, err := s.conn.Execute(q); err != nil {
			return fmt.Errorf("%s: %w", q, plain(err))
		}
	}
	return nil
}

// Rows runs a query and returns its values as text; NULL is empty.
func (s *Conn) Rows(query string) ([][]string, error) {
	r, err := s.conn.Execute(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, plain(err))
	}
	if r.Resultset == nil {
		return nil, nil
	}
	defer r.Close()
	out := make([][]string, r.RowNumber())
	for i := range out {
		out[i] = make([]string, r.ColumnNumber())
		for j := range out[i] {
			v, err := r.GetString(i, j)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", query, plain(err))
			}
			out[i][j] = strings.Clone(v) // go-mysql uses its memory again
		}
	}
	return out, nil
}

// Replica makes the connection one that the source takes for a replica: the
// session variables of design §5, then COM_REGISTER_SLAVE.
func (s *Conn) Replica(c *Config) error {
	beat := c.Heartbeat.Nanoseconds()
	statements := []string{
		"SET SESSION net_write_timeout=7200, SESSION net_read_timeout=7200",
		"SET @master_binlog_checksum=@@global.binlog_checksum, @source_binlog_checksum=@@global.binlog_checksum",
		fmt.Sprintf("SET @master_heartbeat_period=%d, @source_heartbeat_period=%d", beat, beat),
	}
	if c.ReplicaUUID != "" {
		statements = append(statements, fmt.Sprintf("SET @slave_uuid='%s', @replica_uuid='%s'", c.ReplicaUUID, c.ReplicaUUID))
	}
	if s.Server.MariaDB() {
		statements = append(statements, "SET @mariadb_slave_capability=4")
	}
	if err := s.Exec(statements...); err != nil {
		return err
	}
	if err := s.command(registerCommand(c)); err != nil {
		return fmt.Errorf("register as replica: %w", err)
	}
	if _, err := s.conn.ReadOKPacket(); err != nil {
		return fmt.Errorf("register as replica: %w", plain(err))
	}
	return nil
}

// Scanner makes the connection one that a dump can be asked for, without
// registering it as a replica.
func (s *Conn) Scanner() error {
	err := s.Exec("SET SESSION net_write_timeout=7200", "SET @master_binlog_checksum=@@global.binlog_checksum, @source_binlog_checksum=@@global.binlog_checksum",
		fmt.Sprintf("SET @master_heartbeat_period=%d, @source_heartbeat_period=%d", time.Second, time.Second))
	if err == nil && s.Server.MariaDB() {
		err = s.Exec("SET @mariadb_slave_capability=4")
	}
	return err
}

// Dump asks for the events from a position on: by GTID set where position and
// source have one, else by file and offset.
func (s *Conn) Dump(c *Config, from position.Position) error {
	if from.GTIDs != "" && s.Server.GTID() {
		if !s.Server.MariaDB() {
			set, err := mysql.ParseMysqlGTIDSet(from.GTIDs)
			if err != nil {
				return fmt.Errorf("%w: GTID set %q: %w", ErrStart, from.GTIDs, err)
			}
			flags := uint16(0)
			if s.Server.AtLeast(8, 0) { // 8.0.26 and later know it: their own replicas ask every source for it
				flags = replication.USE_HEARTBEAT_EVENT_V2
			}
			return s.command(dumpGTIDCommand(c.ServerID, flags, set.Encode()))
		}
		err := s.Exec(fmt.Sprintf("SET @slave_connect_state='%s'", from.GTIDs),
			"SET @slave_gtid_strict_mode=0, @slave_gtid_ignore_duplicates=0")
		if err != nil {
			return err
		}
		return s.command(dumpCommand(c.ServerID, replication.BINLOG_SEND_ANNOTATE_ROWS_EVENT, "", 0))
	}
	switch {
	case from.File == "":
		return fmt.Errorf("%w: it has only a GTID set, and the source has GTIDs off", ErrStart)
	case from.Offset > math.MaxUint32:
		return fmt.Errorf("%w: %s:%d lies beyond 4 GiB, where a dump by file cannot begin; turn GTIDs on, or choose a later position", ErrStart, from.File, from.Offset)
	}
	flags := replication.BINLOG_DUMP_NEVER_STOP
	if s.Server.MariaDB() {
		flags = replication.BINLOG_SEND_ANNOTATE_ROWS_EVENT
	}
	return s.command(dumpCommand(c.ServerID, flags, from.File, uint32(max(from.Offset, 4))))
}

// Packets switches the connection to streaming; idle is called before a read blocks.
func (s *Conn) Packets(idle func() error) *wire.Packets {
	_ = s.link.SetDeadline(time.Time{})
	s.link.Stream(idle)
	return wire.NewPackets(s.conn.Conn.Conn)
}

// Failed is the error with which idle ended the stream, nil if it did not.
func (s *Conn) Failed() error { return s.link.Failed() }

func (s *Conn) command(body []byte) error {
	s.conn.ResetSequence()
	if err := s.conn.WritePacket(append(make([]byte, 4, 4+len(body)), body...)); err != nil {
		return fmt.Errorf("send command: %w", plain(err))
	}
	return nil
}

// registerCommand is COM_REGISTER_SLAVE: server id, host name, user, password
// (left empty: it would be sent in clear), port, rank, source id.
func registerCommand(c *Config) []byte {
	host, _ := os.Hostname()
	host = host[:min(len(host), 60)]
	b := binary.LittleEndian.AppendUint32([]byte{mysql.COM_REGISTER_SLAVE}, c.ServerID)
	b = append(append(b, byte(len(host))), host...)
	b = append(b, 0, 0)
	return append(b, make([]byte, 2+4+4)...)
}

// dumpCommand is COM_BINLOG_DUMP.
func dumpCommand(id uint32, flags uint16, file string, offset uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{mysql.COM_BINLOG_DUMP}, offset)
	b = binary.LittleEndian.AppendUint16(b, flags)
	b = binary.LittleEndian.AppendUint32(b, id)
	return append(b, file...)
}

// dumpGTIDCommand is COM_BINLOG_DUMP_GTID with an empty file name and offset 4.
func dumpGTIDCommand(id uint32, flags uint16, set []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{mysql.COM_BINLOG_DUMP_GTID}, flags)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, 4)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(set)))
	return append(b, set...)
}

// plain strips the stack trace that go-mysql's errors print.
func plain(err error) error {
	type causer interface{ Cause() error }
	for {
		if m, ok := errors.AsType[*mysql.MyError](err); ok {
			return &wire.SourceError{Code: m.Code, Message: strings.Clone(m.Message)}
		}
		c, ok := err.(causer)
		if !ok || c.Cause() == nil || c.Cause() == err { //nolint:errorlint // a cause that is the error itself
			return err
		}
		err = c.Cause()
	}
}
