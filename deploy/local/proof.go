package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// Changes returns the changes in a flat message, one text for each row, as ReadBinlog writes them.
func Changes(message []byte) ([]string, error) {
	var m struct {
		Data            []json.RawMessage
		Database, Table string
		SQL, Type       string
		IsDdl           bool
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return nil, fmt.Errorf("read a message: %w", err)
	}
	if m.IsDdl {
		return []string{"DDL " + m.SQL}, nil
	}
	if m.Data == nil {
		return []string{m.Type + " " + m.SQL}, nil
	}
	var all []string
	for _, row := range m.Data {
		values, err := orderedValues(row)
		if err != nil {
			return nil, err
		}
		all = append(all, m.Type+" "+m.Database+"."+m.Table+" "+values)
	}
	return all, nil
}

// orderedValues joins the values of a JSON object of texts in their order.
func orderedValues(object []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	var out strings.Builder
	for i := 0; ; i++ {
		token, err := dec.Token()
		if err != nil {
			return "", fmt.Errorf("read a row: %w", err)
		}
		if d, ok := token.(json.Delim); ok {
			if d == '}' {
				return out.String(), nil
			}
			continue
		}
		value, err := dec.Token()
		if err != nil {
			return "", fmt.Errorf("read a row: %w", err)
		}
		if out.Len() > 0 {
			out.WriteByte('|')
		}
		if value == nil {
			out.WriteString("NULL")
		} else {
			fmt.Fprint(&out, value)
		}
	}
}

// Mark is a point in a server's binlog.
type Mark struct {
	File   string
	Offset uint32
}

// End returns the end of a server's binlog.
func End(conn *client.Conn) (Mark, error) {
	r, err := conn.Execute("SHOW BINARY LOG STATUS")
	if err != nil {
		r, err = conn.Execute("SHOW MASTER STATUS")
	}
	if err != nil {
		return Mark{}, fmt.Errorf("find the end of the binlog: %w", err)
	}
	file, _ := r.GetString(0, 0)
	offset, _ := r.GetUint(0, 1)
	return Mark{file, uint32(offset)}, nil
}

// Event is what one event of a binlog changes, told apart from the relay's own reading.
type Event struct {
	Tx      string   // the GTID
	Row     uint64   // index in the transaction of the event's last row, within the database
	Changes []string // one text for each row, that names its kind, table and values; or one for a DDL
}

// ReadBinlog reads a server's binlog between two marks with go-mysql's own
// syncer and decoder, for the tables of one database: what the relay must have
// sent. Values are those of integers, texts, decimals and dates.
func (s Stack) ReadBinlog(ctx context.Context, server, database string, from, to Mark, each func(Event) error) error {
	addr, err := s.Server(server)
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(addr)
	number, _ := strconv.ParseUint(port, 10, 16)
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{ServerID: 4242, Flavor: server, Host: host,
		Port: uint16(number), User: s.AdminUser, Password: s.AdminPassword, Logger: slog.New(slog.DiscardHandler), EventCacheCount: 256,
		DumpCommandFlag: replication.BINLOG_SEND_ANNOTATE_ROWS_EVENT})
	defer syncer.Close()
	stream, err := syncer.StartSync(mysql.Position{Name: from.File, Pos: from.Offset})
	if err != nil {
		return fmt.Errorf("read the binlog of %s: %w", server, err)
	}
	reading := &reading{database: database, file: from.File, offset: from.Offset, each: each}
	for !reading.reached(to) {
		e, err := stream.GetEvent(ctx)
		if err != nil {
			return fmt.Errorf("read the binlog of %s: %w", server, err)
		}
		if err := reading.add(e); err != nil {
			return err
		}
	}
	return nil
}

type reading struct {
	database string
	file     string
	offset   uint32
	tx       string
	row      uint64
	each     func(Event) error
}

func (r *reading) reached(to Mark) bool {
	return r.file > to.File || r.file == to.File && r.offset >= to.Offset
}

func (r *reading) add(e *replication.BinlogEvent) error {
	var changes []string
	switch ev := e.Event.(type) {
	case *replication.RotateEvent:
		r.file, r.offset = string(ev.NextLogName), uint32(ev.Position)
		return nil
	case *replication.GTIDEvent:
		return r.begin(ev.GTIDNext())
	case *replication.GtidTaggedLogEvent:
		return r.begin(ev.GTIDNext())
	case *replication.MariadbGTIDEvent:
		r.tx, r.row = ev.GTID.String(), 0
	case *replication.QueryEvent:
		text := string(ev.Query)
		if text != "BEGIN" && text != "COMMIT" && string(ev.Schema) == r.database {
			changes = []string{"DDL " + text}
		}
	case *replication.RowsQueryEvent: // the text of a statement whose rows follow; of any table, as in Canal
		changes = []string{"QUERY " + string(ev.Query)}
	case *replication.MariadbAnnotateRowsEvent:
		changes = []string{"QUERY " + string(ev.Query)}
	case *replication.RowsEvent:
		if string(ev.Table.Schema) == r.database {
			changes = rows(e.Header.EventType, ev)
		}
	}
	if e.Header.LogPos > 0 {
		r.offset = e.Header.LogPos
	}
	if len(changes) == 0 {
		return nil
	}
	r.row += uint64(len(changes))
	return r.each(Event{r.tx, r.row - 1, changes})
}

func (r *reading) begin(gtid mysql.GTIDSet, err error) error {
	if err != nil {
		return err
	}
	r.tx, r.row = gtid.String(), 0
	return nil
}

func rows(kind replication.EventType, ev *replication.RowsEvent) []string {
	table := string(ev.Table.Schema) + "." + string(ev.Table.Table) + " "
	name, step, at := "INSERT ", 1, 0
	switch kind {
	case replication.UPDATE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv2:
		name, step, at = "UPDATE ", 2, 1
	case replication.DELETE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv2:
		name = "DELETE "
	}
	var changes []string
	for ; at < len(ev.Rows); at += step {
		values := make([]string, len(ev.Rows[at]))
		for i, v := range ev.Rows[at] {
			switch v := v.(type) {
			case nil:
				values[i] = "NULL"
			case []byte:
				values[i] = string(v)
			default:
				values[i] = fmt.Sprint(v)
			}
		}
		changes = append(changes, name+table+strings.Join(values, "|"))
	}
	return changes
}
