package relay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/simple"
)

// query takes a query event: a transaction boundary, or a statement.
func (a *assembler) query(h *replication.EventHeader, ev *replication.QueryEvent, text track.Text) error {
	switch text {
	case track.TextStatement:
		return a.statement(h, ev)
	case track.TextBegin:
		a.begins(h, ev.SlaveProxyID, "")
	case track.TextXAStart:
		a.begins(h, ev.SlaveProxyID, string(ev.Query))
	case track.TextCommit:
		a.ends(h, 0, "")
	case track.TextXAEnd:
		a.ends(h, 0, string(ev.Query))
	case track.TextSavepoint:
		if a.r.c.SimpleDDL { // Canal's simple parser does not know it, its other one does
			return a.statement(h, ev)
		}
	case track.TextXADecision:
		c := a.textChange(h, event.XACommit, string(ev.Query))
		if strings.HasPrefix(strings.ToUpper(c.SQL), "XA ROLLBACK") {
			c.Kind = event.XARollback
		}
		return a.add(c, 1)
	case track.TextRollback:
		if a.row > 0 {
			a.r.d.Unusual("rollback")
		}
	}
	return nil
}

func (a *assembler) textChange(h *replication.EventHeader, k event.Kind, sql string) event.Change {
	return event.Change{Kind: k, SQL: sql, Time: int64(h.Timestamp), ServerID: h.ServerID}
}

// statement takes DDL and statement-format DML.
func (a *assembler) statement(h *replication.EventHeader, ev *replication.QueryEvent) error {
	vars := readStatus(ev.StatusVars)
	sql := vars.text(ev.Query)
	results, err := a.r.c.Tracker.Apply(a.ctx, schema.Statement{
		SQL: sql, Database: string(ev.Schema), SQLMode: vars.sqlMode, MariaDB: a.mariadb, Version: a.server,
		At:       a.here(h),
		Captured: a.r.c.Filter.Table,
	})
	if err != nil {
		return err
	}
	if len(results) == 0 || !isDML(results[0].Kind) {
		a.version++
		a.applied = true
	}
	if len(results) == 0 {
		a.r.d.Unusual("statement_without_table")
	}
	if a.r.c.SimpleDDL {
		results = simple.Results(sql, string(ev.Schema), ddl.Options{SQLMode: vars.sqlMode, MariaDB: a.mariadb, Version: a.server}, results)
	}
	r, ok := a.choose(results)
	if !ok || a.r.c.Drop.QueryDDL {
		return nil
	}
	c := a.textChange(h, event.Kind(r.Kind), cutNUL(sql))
	c.Schema, c.Table, c.Database = r.Schema, r.Table, string(ev.Schema)
	c.DDL = !isDML(r.Kind)
	if !c.DDL {
		if err := a.statementDML(c); err != nil {
			return err
		}
		if a.r.c.SimpleDDL {
			c.Schema, c.Table = c.Database, "" // Canal's simple parser does not look for it
		}
	}
	return a.add(c, 1)
}

// here is the end of the event at hand, its transaction included.
func (a *assembler) here(h *replication.EventHeader) position.Position {
	p := a.track.Position()
	p.File, p.Offset, p.ServerID, p.Time = a.track.File, a.track.End, h.ServerID, time.Unix(int64(h.Timestamp), 0)
	p.GTIDs = string(a.track.AppendGTIDs(nil))
	return p
}

func isDML(k ddl.Kind) bool { return k == ddl.Insert || k == ddl.Update || k == ddl.Delete }

// choose is the first result that the filter accepts.
func (a *assembler) choose(results []ddl.Result) (ddl.Result, bool) {
	d, f := &a.r.c.Drop, a.r.c.Filter
	for _, r := range results {
		ok := false
		switch r.Kind {
		case ddl.Query:
			ok = !d.QueryDCL
		case ddl.Insert, ddl.Update, ddl.Delete:
			refused := d.QueryDML || r.Kind == ddl.Insert && d.DMLInsert || r.Kind == ddl.Update && d.DMLUpdate || r.Kind == ddl.Delete && d.DMLDelete
			ok = !refused && (r.Table == "" || f.Table(r.Schema, r.Table))
		case ddl.Rename:
			ok = f.Table(r.Schema, r.Table) || f.Table(r.OldSchema, r.OldTable)
		default:
			ok = f.Table(r.Schema, r.Table)
		}
		if ok {
			return r, true
		}
	}
	return ddl.Result{}, false
}

// statementDML counts a change that came as a statement, so that its rows are
// unknown, and says so once per table.
func (a *assembler) statementDML(c event.Change) error {
	table := c.Schema + "." + c.Table
	if a.r.c.StatementDML == StatementStop {
		return fmt.Errorf("%w: a change of %s was logged as a statement, and canal.relay.statement.dml is stop; set binlog_format=ROW on the source", binlog.ErrFormat, table)
	}
	a.r.d.Unusual("statement_dml")
	a.once("statement "+table, "a change was logged as a statement: its message has no rows; set binlog_format=ROW on the source", "table", table)
	return nil
}

// once logs a warning the first time that key occurs in the term.
func (a *assembler) once(key, message string, args ...any) {
	if a.noted[key] || len(a.noted) >= maxMaps {
		return
	}
	a.noted[key] = true
	a.r.log.Warn(message, append(args, "file", a.track.File, "offset", a.track.Start)...) //nolint:sloglint // constant at every caller
}

// annotation takes the text of the statement behind the rows that follow. Canal
// names the table of MySQL's, not that of MariaDB's.
func (a *assembler) annotation(h *replication.EventHeader, text []byte, named bool) error {
	if a.r.c.Drop.QueryDML {
		return nil
	}
	c := a.textChange(h, event.Query, cutNUL(string(text)))
	if named && !a.r.c.SimpleDDL {
		// What cannot be read has no table: it is a comment on rows that follow.
		st, err := ddl.Parse(c.SQL, "", ddl.Options{Version: a.server})
		if err == nil && len(st.Results) > 0 {
			c.Table = st.Results[0].Table
		}
	}
	c.Unnamed = named && c.Table == ""
	return a.add(c, 1)
}

// other takes the events that are left: variables that statements use, signs of
// life, and what must not pass unseen.
func (a *assembler) other(e *replication.BinlogEvent) error {
	var sql string
	switch e.Header.EventType {
	case replication.HEARTBEAT_EVENT, replication.HEARTBEAT_LOG_EVENT_V2:
		a.r.d.Alive()
	case replication.INCIDENT_EVENT:
		return fmt.Errorf("%w: the source lost events here (incident event); rebuild what consumers have and start behind it", binlog.ErrFormat)
	case replication.EXECUTE_LOAD_QUERY_EVENT:
		a.r.d.Unusual("statement_load_data")
		a.once("load data", "LOAD DATA was logged as a statement: there is no message for it; set binlog_format=ROW on the source")
		if a.r.c.StatementDML == StatementStop {
			return fmt.Errorf("%w: LOAD DATA was logged as a statement, and canal.relay.statement.dml is stop", binlog.ErrFormat)
		}
	case replication.INTVAR_EVENT:
		if v, ok := e.Event.(*replication.IntVarEvent); ok {
			sql = "SET INSERT_ID = " + strconv.FormatUint(v.Value, 10)
		}
	case replication.RAND_EVENT, replication.USER_VAR_EVENT:
		if v, ok := e.Event.(*replication.GenericEvent); ok {
			sql = variable(e.Header.EventType, v.Data)
		}
	}
	if sql == "" || a.r.c.Drop.QueryDML {
		return nil
	}
	return a.add(a.textChange(e.Header, event.Query, sql), 1)
}

// variable is the statement for a RAND or USER_VAR event as Canal writes it;
// empty if the bytes do not hold one. Layout of USER_VAR: name length (4) and
// name, null flag, then type (1), collation (4), length (4) and value.
func variable(t replication.EventType, b []byte) string {
	if t == replication.RAND_EVENT {
		if len(b) < 16 {
			return ""
		}
		return fmt.Sprintf("SET SESSION rand_seed1 = %d , rand_seed2 = %d", binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]))
	}
	if len(b) < 5 {
		return ""
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 0 || len(b) < 5+n {
		return ""
	}
	set := "SET @" + string(b[4:4+n]) + " := "
	null := b[4+n] != 0
	if b = b[5+n:]; null || len(b) < 9 {
		return set + "NULL"
	}
	size := int(binary.LittleEndian.Uint32(b[5:]))
	if size < 0 || len(b) < 9+size {
		return ""
	}
	return set + userValue(b[0], binary.LittleEndian.Uint32(b[1:]), b[9:9+size])
}

// userValue is the value of a user variable. Types: 0 text, 1 double, 2 integer,
// 4 decimal.
func userValue(kind byte, collation uint32, v []byte) string {
	switch {
	case kind == 1 && len(v) == 8:
		return string(column.AppendDouble(nil, math.Float64frombits(binary.LittleEndian.Uint64(v))))
	case kind == 2 && len(v) == 8:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(v)), 10)
	case kind == 4 && len(v) > 2:
		if text, err := column.AppendDecimal(nil, v[2:], int(v[0]), int(v[1]), false); err == nil {
			return string(text)
		}
	}
	return "'" + decode(uint64(collation), v) + "'"
}

// cutNUL ends a text at its first NUL, as Canal does.
func cutNUL(s string) string {
	before, _, _ := strings.Cut(s, "\x00")
	return before
}

// decode turns text of a collation's character set into UTF-8.
func decode(collation uint64, raw []byte) string {
	set := charset.ByCollation(collation)
	if set == nil {
		return string(raw)
	}
	return string(set.Append(nil, raw))
}

// statusVars is what a statement's status variables say about its text.
type statusVars struct {
	sqlMode uint64
	client  uint16 // collation id of the client's character set; 0 if not said
}

func (v statusVars) text(raw []byte) string {
	if v.client == 0 || ascii(raw) {
		return string(raw)
	}
	return decode(uint64(v.client), raw)
}

func ascii(b []byte) bool { return bytes.IndexFunc(b, func(r rune) bool { return r >= 0x80 }) < 0 }

// readStatus reads the status variables of a query event as far as they are
// needed; at an unknown code it stops. Codes: Query_event of MySQL.
func readStatus(b []byte) (v statusVars) {
	fixed := [...]int{0: 4, 1: 8, 3: 4, 4: 6, 7: 2, 8: 2, 9: 8, 10: 4, 13: 3, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1}
	for len(b) > 0 {
		code := int(b[0])
		b = b[1:]
		var n int
		switch {
		case code == 2 && len(b) > 0: // catalog with a NUL
			n = 2 + int(b[0])
		case (code == 5 || code == 6) && len(b) > 0: // time zone, catalog
			n = 1 + int(b[0])
		case code < len(fixed) && fixed[code] > 0:
			n = fixed[code]
		default:
			return v
		}
		if len(b) < n {
			return v
		}
		switch code {
		case 1:
			v.sqlMode = binary.LittleEndian.Uint64(b)
		case 4:
			v.client = binary.LittleEndian.Uint16(b)
		}
		b = b[n:]
	}
	return v
}
