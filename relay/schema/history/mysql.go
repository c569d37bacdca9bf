package history

import (
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// MySQLConfig is where Canal's structure store is (canal.instance.tsdb.*).
type MySQLConfig struct {
	Addr           string // host:port
	Database       string
	User, Password string
}

// MySQL is the history of one destination in Canal's own tables meta_snapshot
// and meta_history, so that both can use what the other has stored. What Canal
// has no column for stands in extra, and in a comment in a snapshot's data. It is
// made for a term and closed at its end.
type MySQL struct {
	config      MySQLConfig
	destination string
	log         *slog.Logger
	conn        *client.Conn   // from the first use on
	link        net.Conn       // below it
	parts       []schema.Entry // of a snapshot that is not whole yet
	away        bool           // it was said that the server is away
}

const (
	retryPause    = time.Second
	serverTimeout = 10 * time.Second // of a connection, and of an answer's silence
	ours          = "canal-relay"    // key of our comment in a snapshot's data
	anyServer     = "-1"             // Canal's server id for what stands at no event
)

// Canal's tables, by its columns (reference: its meta_snapshot and meta_history).
var canalTables = []string{
	`CREATE TABLE IF NOT EXISTS meta_snapshot (` + canalColumns + `, data LONGTEXT, extra TEXT` + canalKeys,
	`CREATE TABLE IF NOT EXISTS meta_history (` + canalColumns + `, use_schema VARCHAR(1024), sql_schema VARCHAR(1024), sql_table VARCHAR(1024),
sql_text LONGTEXT, sql_type VARCHAR(256), extra TEXT` + canalKeys,
}

const (
	canalColumns = `id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, gmt_create DATETIME NOT NULL, gmt_modified DATETIME NOT NULL,
destination VARCHAR(128), binlog_file VARCHAR(64), binlog_offest BIGINT, binlog_master_id VARCHAR(64), binlog_timestamp BIGINT`
	canalKeys = `, UNIQUE KEY binlog_file_offest (destination, binlog_master_id, binlog_file, binlog_offest), KEY destination (destination),
KEY destination_timestamp (destination, binlog_timestamp), KEY gmt_modified (gmt_modified)) DEFAULT CHARSET=utf8mb4`
)

// NewMySQL returns the history of a destination in a database. It does no I/O.
func NewMySQL(c MySQLConfig, destination string, l *slog.Logger) *MySQL {
	return &MySQL{config: c, destination: destination, log: l}
}

// Close lets go of the connection.
func (h *MySQL) Close() {
	if h.conn != nil {
		_ = h.conn.Close()
		h.conn = nil
	}
}

// run runs a statement, waiting for a server that is away.
func (h *MySQL) run(ctx context.Context, query string, args ...any) (*mysql.Result, error) {
	for {
		r, err := h.try(ctx, query, args)
		var answer *mysql.MyError
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		if errors.As(err, &answer) {
			return nil, fmt.Errorf("schema store %s on %s: %w", h.config.Database, h.config.Addr, answer)
		}
		h.Close()
		if !h.away {
			h.away = true
			h.log.Warn("the schema store is away, waiting for it", "address", h.config.Addr, "err", err.Error())
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try runs a statement once. A server that does not answer cannot hold up a term
// that ends: its connection is closed with the context.
func (h *MySQL) try(ctx context.Context, query string, args []any) (*mysql.Result, error) {
	if h.conn == nil {
		if err := h.connect(ctx); err != nil {
			return nil, err
		}
	}
	defer h.closeWith(ctx)()
	return h.conn.Execute(query, args...)
}

// connect logs in and makes Canal's tables where they are missing.
func (h *MySQL) connect(ctx context.Context) error {
	stop := func() bool { return true }
	defer func() { stop() }()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		link, err := (&net.Dialer{Timeout: serverTimeout}).DialContext(ctx, network, address)
		if err == nil {
			h.link = link
			stop = h.closeWith(ctx)
		}
		return link, err
	}
	conn, err := client.ConnectWithDialer(ctx, "tcp", h.config.Addr, h.config.User, h.config.Password, h.config.Database, dial, func(c *client.Conn) error {
		c.ReadTimeout, c.WriteTimeout = serverTimeout, serverTimeout
		return nil
	})
	if err != nil {
		return err
	}
	statements := []string{"SET NAMES utf8mb4"}
	r, err := conn.Execute("SHOW TABLES LIKE 'meta%'")
	if err == nil && r.RowNumber() < len(canalTables) { // each statement would be in the binlog
		statements = append(statements, canalTables...)
	}
	for _, sql := range statements {
		if err == nil {
			_, err = conn.Execute(sql)
		}
	}
	if err != nil {
		_ = conn.Close()
		return err
	}
	h.conn = conn
	return nil
}

// closeWith closes the connection when ctx ends, unless what it returns was called before.
func (h *MySQL) closeWith(ctx context.Context) (stop func() bool) {
	link := h.link
	return context.AfterFunc(ctx, func() { _ = link.Close() })
}

// Load returns the newest snapshot at or before a position, and what follows it.
func (h *MySQL) Load(ctx context.Context, at position.Position) ([]schema.Entry, error) {
	until := int64(1) << 62
	if !at.Time.IsZero() {
		until = at.Time.UnixMilli()
	}
	entries, taken, since, err := h.newest(ctx, at, until)
	if err != nil {
		return nil, err
	}
	r, err := h.run(ctx, "SELECT "+canalPosition+", use_schema, sql_text, extra FROM meta_history WHERE destination = ? AND binlog_timestamp >= ? AND binlog_timestamp <= ? ORDER BY id",
		h.destination, since, until)
	if err != nil {
		return nil, err
	}
	for i := range r.RowNumber() {
		e := schema.Entry{At: positionOf(r, i, at)}
		extra, _ := r.GetString(i, 6)
		if !strings.HasPrefix(extra, "{") && again(e.At, at) {
			continue
		}
		if strings.HasPrefix(extra, "{") {
			if err := json.Unmarshal([]byte(extra), &e); err != nil {
				return nil, fmt.Errorf("read the history of %s: %w", h.destination, err)
			}
		}
		if e.Database, _ = r.GetString(i, 4); e.Schema != "" {
			e.Database = ""
		}
		e.SQL, _ = r.GetString(i, 5)
		e.Database, e.SQL = strings.Clone(e.Database), strings.Clone(e.SQL) // the driver uses its memory again
		if within(e, taken) {
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// newest is the newest snapshot of a time that holds at a position: where it was
// taken, if it stands at an event, and since when statements follow. One from
// behind the position is of what the source has lost.
func (h *MySQL) newest(ctx context.Context, at position.Position, until int64) (entries []schema.Entry, taken position.Position, since int64, err error) {
	for skip := 0; ; skip++ {
		r, err := h.run(ctx, "SELECT "+canalPosition+", data FROM meta_snapshot WHERE destination = ? AND binlog_timestamp <= ? ORDER BY binlog_timestamp DESC, id DESC LIMIT 1 OFFSET ?",
			h.destination, until, skip)
		if err != nil {
			return nil, taken, 0, err
		}
		if r.RowNumber() == 0 {
			return nil, taken, -1 << 62, nil
		}
		data, _ := r.GetString(0, 4)
		if entries, err = snapshotOf(data, positionOf(r, 0, at)); err != nil {
			return nil, taken, 0, fmt.Errorf("read a snapshot of %s: %w", h.destination, err)
		}
		if len(entries) > 0 && behind(entries[0].At, at) {
			continue
		}
		if id, _ := r.GetString(0, 2); id != anyServer && len(entries) > 0 {
			taken = entries[0].At
		}
		since, _ = r.GetInt(0, 3)
		return entries, taken, since, nil
	}
}

// again reports that a statement of Canal's is read again from a position on:
// Canal's cursor behind a statement is the start of its event, where its row in
// the history stands, too. With GTIDs nothing is read again.
func again(stored, at position.Position) bool {
	return at.GTIDs == "" && at.File != "" && stored.File == at.File && stored.Offset == at.Offset
}

// within reports that a snapshot has an entry in it. A definition that was
// fetched at the snapshot's own position came after it.
func within(e schema.Entry, taken position.Position) bool {
	return !taken.IsZero() && !e.At.IsZero() && schema.Before(e.At, taken) && (e.Schema == "" || !schema.Before(taken, e.At))
}

const canalPosition = "binlog_file, binlog_offest, binlog_master_id, binlog_timestamp"

// positionOf is the position of a row, on the server of the position asked for.
// A row of another server, or of none, is before it: its time says so.
func positionOf(r *mysql.Result, i int, at position.Position) position.Position {
	var p position.Position
	id, _ := r.GetString(i, 2)
	if file, _ := r.GetString(i, 0); id != anyServer && (at.ServerID == 0 || id == strconv.FormatUint(uint64(at.ServerID), 10)) {
		p = at
		p.File, p.GTIDs, p.Prepared = strings.Clone(file), "", nil
		p.Offset, _ = r.GetUint(i, 1)
	}
	ms, _ := r.GetInt(i, 3)
	p.Time = time.UnixMilli(ms)
	return p
}

// snapshotOf reads a snapshot's data: an object of schema and CREATE TABLE texts.
// Canal 1.1.7 and later write the schema's name in back-quotes.
func snapshotOf(data string, at position.Position) ([]schema.Entry, error) {
	var texts map[string]string
	if err := json.Unmarshal([]byte(data), &texts); err != nil {
		return nil, err
	}
	var entries []schema.Entry
	if text := texts[ours]; text != "" {
		err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimPrefix(text, "/* "), " */")), &entries)
		return entries, err
	}
	for name, text := range texts {
		if n := len(name); n > 2 && name[0] == '`' && name[n-1] == '`' {
			name = strings.ReplaceAll(name[1:n-1], "``", "`")
		}
		for _, sql := range lex.SplitStatements(text) {
			entries = append(entries, schema.Entry{At: at, Database: name, SQL: sql, Snapshot: max(at.Time.Unix(), 1)})
		}
	}
	for i := range entries {
		entries[i].Part, entries[i].Of = i+1, len(entries)
	}
	return entries, nil
}

// Append stores an entry. One at the same position is replaced, but the same
// statement stays in its place: rows are read in the order in which they came.
// A statement stands where Canal has it, at the start of its event, so that each
// knows what the other has stored; the position of its end is in extra.
func (h *MySQL) Append(ctx context.Context, e schema.Entry) error {
	if e.Snapshot != 0 {
		if h.parts = append(h.parts, e); e.Part < e.Of {
			return nil
		}
		parts := h.parts
		h.parts = nil
		return h.snapshot(ctx, parts)
	}
	file, offset, id := e.At.File, e.At.Offset, strconv.FormatUint(uint64(e.At.ServerID), 10)
	if e.Start != 0 {
		offset = e.Start
	}
	if e.Schema != "" { // many may stand at one position
		file, id = fmt.Sprintf("%x", sha1.Sum([]byte(e.At.File+"\x00"+e.Schema+"\x00"+e.Table))), anyServer
	}
	database := e.Database
	if e.Schema != "" {
		database = e.Schema
	}
	rest := e
	rest.SQL, rest.Database = "", ""
	extra, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	r, err := h.run(ctx, "SELECT id FROM meta_history WHERE destination = ? AND binlog_master_id = ? AND binlog_file = ? AND binlog_offest = ? AND sql_text = ?",
		h.destination, id, file, offset, e.SQL)
	if err != nil {
		return err
	}
	if r.RowNumber() > 0 {
		row, _ := r.GetInt(0, 0)
		_, err = h.run(ctx, "UPDATE meta_history SET gmt_modified = NOW(), binlog_timestamp = ?, extra = ? WHERE id = ?", e.At.Time.UnixMilli(), string(extra), row)
		return err
	}
	_, err = h.run(ctx, `REPLACE INTO meta_history (gmt_create, gmt_modified, destination, binlog_file, binlog_offest, binlog_master_id, binlog_timestamp,
use_schema, sql_schema, sql_table, sql_text, sql_type, extra) VALUES (NOW(), NOW(), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		h.destination, file, offset, id, e.At.Time.UnixMilli(), database, e.Schema, e.Table, e.SQL, "", string(extra))
	return err
}

func (h *MySQL) snapshot(ctx context.Context, parts []schema.Entry) error {
	own, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	texts := map[string]string{ours: "/* " + strings.ReplaceAll(string(own), "*/", `*\u002f`) + " */"}
	for _, e := range parts {
		if e.Layout != nil {
			texts[e.Schema] += e.Layout.Create() + "; \n"
		}
	}
	data, err := json.Marshal(texts)
	if err != nil {
		return err
	}
	at := parts[0].At
	if err := h.void(ctx, at); err != nil {
		return err
	}
	_, err = h.run(ctx, `REPLACE INTO meta_snapshot (gmt_create, gmt_modified, destination, binlog_file, binlog_offest, binlog_master_id, binlog_timestamp, data, extra)
VALUES (NOW(), NOW(), ?, ?, ?, ?, ?, ?, '')`, h.destination, at.File, at.Offset, strconv.FormatUint(uint64(at.ServerID), 10), at.Time.UnixMilli(), string(data))
	return err
}

// Trim deletes rows before the newest snapshot of before a time.
func (h *MySQL) Trim(ctx context.Context, before time.Time) error {
	r, err := h.run(ctx, "SELECT COALESCE(MAX(binlog_timestamp), 0) FROM meta_snapshot WHERE destination = ? AND binlog_timestamp < ?", h.destination, before.UnixMilli())
	if err != nil {
		return err
	}
	oldest, _ := r.GetInt(0, 0)
	for _, table := range []string{"meta_snapshot", "meta_history"} {
		if _, err := h.run(ctx, "DELETE FROM "+table+" WHERE destination = ? AND binlog_timestamp > 0 AND binlog_timestamp < ?", h.destination, oldest); err != nil {
			return err
		}
	}
	return nil
}
