package binlogtest

import (
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/go-mysql-org/go-mysql/server"
)

// User and Password are the account of every Server.
const (
	User     = "canal"
	Password = "canal-secret"
)

// Server is an in-process MySQL or MariaDB server that serves Logs.
type Server struct {
	listener net.Listener
	conf     *server.Server

	mu        sync.Mutex
	variables map[string]string
	tables    map[string]string // schema.table → CREATE TABLE
	logs      []*Log
	grown     chan struct{} // closed when logs grow, and replaced
	cuts      []int         // of the dumps to come: after how many events the connection breaks
	refusals  []error       // of the dumps to come
	dumps     []Dump
	conns     map[net.Conn]bool
	queries   []string
	wg        sync.WaitGroup
}

// Dump is what a reader asked for.
type Dump struct {
	File   string
	Offset uint64
	GTIDs  string
	ID     uint32 // server id of the reader
	UUID   string // its @replica_uuid
	GTID   bool   // by GTID set
}

// Start serves logs on a loopback port until the test ends. The version decides
// the server kind.
func Start(t testing.TB, version string, logs ...*Log) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		listener: listener, logs: logs, grown: make(chan struct{}), conns: make(map[net.Conn]bool), tables: make(map[string]string),
		conf: server.NewServer(version, mysql.DEFAULT_COLLATION_ID, mysql.AUTH_NATIVE_PASSWORD, nil, nil),
		variables: map[string]string{
			"version": version, "server_id": "11", "log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL", "binlog_checksum": "CRC32",
			"binlog_row_metadata": "MINIMAL", "binlog_expire_logs_seconds": "3600",
		},
	}
	if !strings.Contains(version, "MariaDB") {
		s.variables["server_uuid"], s.variables["gtid_mode"] = UUID, "ON"
	}
	s.wg.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Set changes a global variable; an empty value removes it.
func (s *Server) Set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.variables[name] = value; value == "" {
		delete(s.variables, name)
	}
}

// Define sets what SHOW CREATE TABLE answers.
func (s *Server) Define(schema, table, sql string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[schema+"."+table] = sql
}

// Cut lets the next dumps break off: one after each number of events.
func (s *Server) Cut(events ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts = append(s.cuts, events...)
}

// Refuse lets the next dump answer with an error packet.
func (s *Server) Refuse(code uint16, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, mysql.NewError(code, message))
}

// Grow appends to the last log while dumps are running.
func (s *Server) Grow(f func(l *Log)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.logs[len(s.logs)-1])
	close(s.grown)
	s.grown = make(chan struct{})
}

// Disconnect breaks all connections.
func (s *Server) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Down stops the server: what is connected breaks, and nobody gets in any more.
func (s *Server) Down() {
	s.listener.Close()
	s.Disconnect()
}

// Dumps lists the dumps that were asked for, oldest first.
func (s *Server) Dumps() []Dump {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Dump(nil), s.dumps...)
}

// Queries lists the statements that were asked, oldest first.
func (s *Server) Queries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.queries...)
}

func (s *Server) close() {
	s.listener.Close()
	s.Disconnect()
	s.wg.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *Server) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		c.Close()
	}()
	auth := server.NewInMemoryAuthenticationHandler(mysql.AUTH_NATIVE_PASSWORD)
	if err := auth.AddUser(User, Password); err != nil {
		return
	}
	h := &handler{s: s}
	conn, err := s.conf.NewCustomizedConn(c, auth, h)
	if err != nil {
		return
	}
	h.conn = conn
	for conn.HandleCommand() == nil {
	}
}

// handler is one connection.
type handler struct {
	server.EmptyHandler
	s    *Server
	conn *server.Conn
	dump Dump
	from string // @slave_connect_state

	beats bool // the reader wants heartbeats of the second version
}

// HandleQuery answers the statements of a reader.
func (h *handler) HandleQuery(q string) (*mysql.Result, error) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.queries = append(h.s.queries, q)
	switch {
	case strings.HasPrefix(q, "SET "):
		if _, rest, ok := strings.Cut(q, "@replica_uuid='"); ok {
			h.dump.UUID, _, _ = strings.Cut(rest, "'")
		}
		if _, rest, ok := strings.Cut(q, "@slave_connect_state='"); ok {
			h.from, _, _ = strings.Cut(rest, "'")
		}
		return nil, nil
	case strings.HasPrefix(q, "SHOW GLOBAL VARIABLES"):
		var rows [][]any
		for name, value := range h.s.variables {
			if strings.Contains(q, "'"+name+"'") {
				rows = append(rows, []any{name, value})
			}
		}
		return result([]string{"Variable_name", "Value"}, rows)
	case strings.HasPrefix(q, "SHOW CREATE TABLE "):
		name := strings.ReplaceAll(strings.TrimPrefix(q, "SHOW CREATE TABLE "), "`", "")
		if sql, ok := h.s.tables[name]; ok {
			return result([]string{"Table", "Create Table"}, [][]any{{name, sql}})
		}
		return nil, mysql.NewError(mysql.ER_NO_SUCH_TABLE, "Table '"+name+"' doesn't exist")
	case strings.HasPrefix(q, "SHOW CREATE DATABASE "):
		return nil, mysql.NewError(mysql.ER_BAD_DB_ERROR, "Unknown database")
	}
	if strings.HasPrefix(q, "SELECT GTID_SUBTRACT(") || strings.HasPrefix(q, "SELECT WAIT_FOR_EXECUTED_GTID_SET(") {
		return result([]string{"set"}, [][]any{{h.s.subtract(q)}})
	}
	return h.status(q)
}

func (h *handler) status(q string) (*mysql.Result, error) {
	last := h.s.logs[len(h.s.logs)-1]
	switch q {
	case "select 1":
		return result([]string{"1"}, [][]any{{"1"}})
	case "SELECT @@global.gtid_purged", "SELECT @@global.gtid_owned":
		return result([]string{q[7:]}, [][]any{{h.s.variables[q[16:]]}})
	case "SHOW BINARY LOGS":
		var rows [][]any
		for _, l := range h.s.logs {
			rows = append(rows, []any{l.Name, strconv.FormatUint(l.offset(len(l.Bytes)), 10)})
		}
		return result([]string{"Log_name", "File_size"}, rows)
	case "SHOW MASTER STATUS", "SHOW BINARY LOG STATUS":
		if h.s.variables["server_uuid"] != "" && q == "SHOW MASTER STATUS" {
			return nil, mysql.NewError(mysql.ER_PARSE_ERROR, "SHOW MASTER STATUS is gone")
		}
		return result([]string{"File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set"}, [][]any{{last.Name, strconv.FormatUint(last.offset(len(last.Bytes)), 10), "", "", last.executed()}})
	case "SHOW GRANTS":
		return result([]string{"Grants"}, [][]any{{"GRANT SELECT, REPLICATION SLAVE ON *.* TO `canal`@`%`"}})
	case "SELECT @@lower_case_table_names":
		return result([]string{q[7:]}, [][]any{{"0"}})
	case "SELECT CURRENT_USER()":
		return result([]string{"CURRENT_USER()"}, [][]any{{"canal@%"}})
	case "SELECT @@global.gtid_binlog_pos":
		return result([]string{"@@global.gtid_binlog_pos"}, [][]any{{""}})
	case "SELECT @@global.gtid_binlog_state, @@global.gtid_slave_pos, @@global.gtid_binlog_pos":
		return result([]string{"state", "replayed", "last"}, [][]any{{h.s.variables["gtid_binlog_state"], h.s.variables["gtid_slave_pos"], h.s.variables["gtid_binlog_pos"]}})
	}
	return nil, mysql.NewError(mysql.ER_UNKNOWN_ERROR, "not known to binlogtest: "+q)
}

func (l *Log) executed() string {
	if l.gno == 0 {
		return ""
	}
	return gtidText(l.gno)
}

func result(names []string, rows [][]any) (*mysql.Result, error) {
	if len(rows) == 0 {
		rows = nil
	}
	r, err := mysql.BuildSimpleTextResultset(names, rows)
	if err != nil {
		return nil, err
	}
	return mysql.NewResult(r), nil
}

var errDone = errors.New("dump ended")

// HandleOtherCommand takes registrations and dumps.
func (h *handler) HandleOtherCommand(cmd byte, data []byte) error {
	switch cmd {
	case mysql.COM_REGISTER_SLAVE:
		return nil
	case mysql.COM_BINLOG_DUMP:
		h.dump.Offset = uint64(binary.LittleEndian.Uint32(data))
		h.dump.ID = binary.LittleEndian.Uint32(data[6:])
		h.dump.File = string(data[10:])
		if h.dump.File == "" {
			h.dump.GTID, h.dump.GTIDs = true, h.from
		}
	case mysql.COM_BINLOG_DUMP_GTID:
		h.beats = data[0]&replication.USE_HEARTBEAT_EVENT_V2 != 0
		h.dump.ID = binary.LittleEndian.Uint32(data[2:])
		set, err := mysql.DecodeMysqlGTIDSet(data[22:])
		if err != nil {
			return err
		}
		h.dump.GTID, h.dump.GTIDs = true, set.String()
	default:
		return errors.New("not served")
	}
	if err := h.stream(); err != nil && !errors.Is(err, errDone) {
		return err
	}
	h.conn.Conn.Conn.Close()
	return nil
}

const heartbeat = 20 * time.Millisecond
