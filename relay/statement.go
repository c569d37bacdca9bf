package relay

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/ddl/simple"
	"github.com/canal-relay/canal-relay/relay/sqltext"
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
	vars := sqltext.ReadVars(ev.StatusVars)
	sql := vars.Text(ev.Query)
	results, err := a.r.c.Tracker.Apply(a.ctx, schema.Statement{
		SQL: sql, Database: string(ev.Schema), SQLMode: vars.SQLMode, MariaDB: a.mariadb, Version: a.server,
		Charset:  vars.Charset(),
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
		results = simple.Results(sql, string(ev.Schema), ddl.Options{SQLMode: vars.SQLMode, MariaDB: a.mariadb, Version: a.server}, results)
	}
	r, ok := a.choose(results)
	if !ok || a.r.c.Drop.QueryDDL {
		return nil
	}
	c := a.textChange(h, event.Kind(r.Kind), sqltext.CutNUL(sql))
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
	c := a.textChange(h, event.Query, sqltext.CutNUL(string(text)))
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
			sql = sqltext.Variable(e.Header.EventType, v.Data)
		}
	}
	if sql == "" || a.r.c.Drop.QueryDML {
		return nil
	}
	return a.add(a.textChange(e.Header, event.Query, sql), 1)
}
