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

// Step is one change as a text that names its kind, table and values. First
// says that a transaction begins with it.
type Step struct {
	Text  string
	First bool
}

// Prove walks through a topic's changes and the binlog's, and returns how many
// of the topic's are repeats. Every change of the binlog must be there, in
// order; the topic may step back only to the beginning of a transaction.
func Prove(binlog []Step, topic []string) (repeats int, err error) {
	starts := map[string][]int{}
	for i, s := range binlog {
		if s.First {
			starts[s.Text] = append(starts[s.Text], i)
		}
	}
	next, furthest := 0, 0
	for i, change := range topic {
		if next >= len(binlog) || binlog[next].Text != change {
			back := -1
			for _, at := range starts[change] {
				if at < next {
					back = at
				}
			}
			if back < 0 {
				wanted := "nothing more"
				if next < len(binlog) {
					wanted = binlog[next].Text
				}
				return repeats, fmt.Errorf("change %d of the topic is %q; the binlog has %q there (its change %d of %d)",
					i, change, wanted, next, len(binlog))
			}
			next = back
		}
		if next < furthest {
			repeats++
		}
		next++
		furthest = max(furthest, next)
	}
	if furthest < len(binlog) {
		return repeats, fmt.Errorf("%d of %d changes are missing, the first is %q", len(binlog)-furthest, len(binlog), binlog[furthest].Text)
	}
	return repeats, nil
}

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

// ReadBinlog reads a server's binlog between two marks with go-mysql's own
// syncer and decoder, for the tables of one database: what the relay must have
// sent. Values are those of integers, texts, decimals and dates.
func (s Stack) ReadBinlog(ctx context.Context, server, database string, from, to Mark) ([]Step, error) {
	addr, err := s.Server(server)
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(addr)
	number, _ := strconv.ParseUint(port, 10, 16)
	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{ServerID: 4242, Flavor: server, Host: host,
		Port: uint16(number), User: s.AdminUser, Password: s.AdminPassword, Logger: slog.New(slog.DiscardHandler)})
	defer syncer.Close()
	stream, err := syncer.StartSync(mysql.Position{Name: from.File, Pos: from.Offset})
	if err != nil {
		return nil, fmt.Errorf("read the binlog of %s: %w", server, err)
	}
	reading := &reading{database: database, file: from.File}
	for !reading.reached(to) {
		e, err := stream.GetEvent(ctx)
		if err != nil {
			return nil, fmt.Errorf("read the binlog of %s: %w", server, err)
		}
		reading.add(e)
	}
	return reading.steps, nil
}

type reading struct {
	database string
	file     string
	offset   uint32
	first    bool
	steps    []Step
}

func (r *reading) reached(to Mark) bool {
	return r.file > to.File || r.file == to.File && r.offset >= to.Offset
}

func (r *reading) add(e *replication.BinlogEvent) {
	switch ev := e.Event.(type) {
	case *replication.RotateEvent:
		r.file, r.offset = string(ev.NextLogName), uint32(ev.Position)
		return
	case *replication.GTIDEvent, *replication.MariadbGTIDEvent, *replication.GtidTaggedLogEvent:
		r.first = true
	case *replication.QueryEvent:
		text := string(ev.Query)
		if text != "BEGIN" && text != "COMMIT" && string(ev.Schema) == r.database {
			r.step("DDL " + text)
		}
	case *replication.RowsEvent:
		if string(ev.Table.Schema) == r.database {
			r.rows(e.Header.EventType, ev)
		}
	}
	if e.Header.LogPos > 0 {
		r.offset = e.Header.LogPos
	}
}

func (r *reading) rows(kind replication.EventType, ev *replication.RowsEvent) {
	table := string(ev.Table.Schema) + "." + string(ev.Table.Table) + " "
	name, step, at := "INSERT ", 1, 0
	switch kind {
	case replication.UPDATE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv2:
		name, step, at = "UPDATE ", 2, 1
	case replication.DELETE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv2:
		name = "DELETE "
	}
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
		r.step(name + table + strings.Join(values, "|"))
	}
}

func (r *reading) step(text string) {
	r.steps = append(r.steps, Step{Text: text, First: r.first})
	r.first = false
}
