package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/binlogtest"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

// short is a change in a few letters: [ begins a transaction, ] ends it.
func short(c *event.Change) string {
	switch {
	case c.Kind == event.Begin:
		return fmt.Sprintf("[%d", c.Thread)
	case c.Kind == event.End:
		return fmt.Sprintf("%d]", c.XID)
	case c.Kind == event.Query && !c.DDL:
		return "text"
	}
	return strings.ToLower(c.Kind.String())
}

// TestBoundaries plays statements at seconds: which begins and ends are handed on.
func TestBoundaries(t *testing.T) {
	// A transaction is written as events: b BEGIN, x XID, c COMMIT, r ROLLBACK, i INSERT, f INSERT of a table that is not
	// captured, q rows-query text, v INSERT_ID, d DDL, g GTID, p previous GTIDs; a number is the time from there on.
	tests := []struct {
		name, events string
		filter       bool
		want         string
	}{
		{"transactions", "10 g b i x g b i i c", false, "[9 insert 77] [9 insert insert 0]"},
		{"DDL", "10 g d g b i x", false, "create [9 insert 77]"},
		{"MariaDB has no BEGIN", "10 g i x", false, "insert 77]"},
		{"first empty one is sent", "10 g b f x", false, "[9 77]"},
		{"empty ones less than five seconds apart are not", "10 g b f x 15 g b f x 16 g b f x 17 g b i x", false, "[9 77] [9 77] [9 insert 77]"},
		{"time may run back", "100 g b f x 10 g b f x 12 g b f x", false, "[9 77] [9 77]"},
		{"a text ends a list", "10 g b f x 11 g b q f x 12 g b q i x", false, "[9 77] [9 text [9 text insert 77]"},
		{"a statement too", "10 g b f x 11 g b d f x 12 g b d i x", false, "[9 77] [9 create [9 create insert 77]"},
		{"rolled back: no end", "10 g b i r g b f r", false, "[9 insert"},
		{"filter: first", "10 g b i x 12 g b i x g d", true, "[9 insert 77] insert create"},
		{"filter: after five seconds", "10 g b i x 15 g b i x 16 g b i x 17 g b i x", true, "[9 insert 77] insert [9 insert 77] insert"},
		{"filter: empty ones", "10 g b f x 11 g b f x 16 g b f x", true, "[9 77] [9 77]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config(t, `d\.t`, nil)
			c.Boundaries, c.Drop.Transactions = true, tt.filter
			var got []string
			for _, b := range played(t, c, tt.events) {
				for i := range b.Changes {
					got = append(got, short(&b.Changes[i]))
				}
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got  %s\nwant %s", text, tt.want)
			}
			c.Boundaries = false
			for _, b := range played(t, c, tt.events) {
				for i := range b.Changes {
					if k := b.Changes[i].Kind; k >= event.Begin {
						t.Errorf("not asked for: %s", short(&b.Changes[i]))
					}
				}
			}
		})
	}
}

// played gives the batches of events as TestBoundaries writes them.
func played(t *testing.T, c Config, events string) (batches []event.Batch) {
	t.Helper()
	source := script(func(_ context.Context, from position.Position, h binlog.Handler) error {
		if err := h.Begin(from); err != nil {
			return err
		}
		at := uint32(0)
		for n, word := range strings.Fields(events) {
			e := &replication.BinlogEvent{RawData: make([]byte, 50),
				Header: &replication.EventHeader{EventType: replication.QUERY_EVENT, EventSize: 50, Timestamp: at, ServerID: 1}}
			query := &replication.QueryEvent{SlaveProxyID: 9, Schema: []byte("d")}
			e.Event = query
			switch word {
			case "g":
				e.Header.EventType, e.Event = replication.GTID_EVENT, &replication.GTIDEvent{SID: make([]byte, 16), GNO: int64(n), SequenceNumber: 4, LastCommitted: 3}
			case "b":
				query.Query = []byte("BEGIN")
			case "c":
				query.Query = []byte("COMMIT")
			case "r":
				query.Query = []byte("ROLLBACK")
			case "i":
				query.Query = []byte("INSERT INTO t VALUES (1)")
			case "f":
				query.Query = []byte("INSERT INTO filtered VALUES (1)")
			case "d":
				query.Query = []byte("CREATE TABLE t (a INT)")
			case "q":
				e.Header.EventType, e.Event = replication.ROWS_QUERY_EVENT, &replication.RowsQueryEvent{Query: []byte("INSERT INTO t VALUES (1)")}
			case "v":
				e.Header.EventType, e.Event = replication.INTVAR_EVENT, &replication.IntVarEvent{Type: replication.INSERT_ID, Value: 5}
			case "p":
				e.Header.EventType, e.Event = replication.PREVIOUS_GTIDS_EVENT, &replication.PreviousGTIDsEvent{GTIDSets: binlogtest.UUID + ":1-7"}
			case "x":
				e.Header.EventType, e.Event = replication.XID_EVENT, &replication.XIDEvent{XID: 77}
			default:
				if _, err := fmt.Sscan(word, &at); err != nil {
					return err
				}
				continue
			}
			if err := h.HandleEvent(e); err != nil {
				return err
			}
		}
		return io.EOF
	})
	r := New(c, position.Resume{Position: position.Position{File: "f", Offset: 4}}, source, nil, nil)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(t.Context()) }()
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			if err := <-ended; !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return batches
		}
		seen := *b
		seen.Changes = slices.Clone(b.Changes)
		batches = append(batches, seen)
		r.Release(b)
	}
}

// TestManyEmptyTransactions: one in 8192 is handed on, however close together they are.
func TestManyEmptyTransactions(t *testing.T) {
	for _, filter := range []bool{false, true} {
		c := config(t, `d\.t`, nil)
		c.Boundaries, c.Drop.Transactions = true, filter
		begins := 0
		for _, b := range played(t, c, "10 "+strings.Repeat("g b f x ", 20_000)) {
			for i := range b.Changes {
				if b.Changes[i].Kind == event.Begin {
					begins++
				}
			}
		}
		// The filter counts begins and ends, and what it lets through counts as empty again.
		if want := map[bool]int{false: 3, true: 1}[filter]; begins != want {
			t.Errorf("filter %v: %d of 20000, want %d", filter, begins, want)
		}
	}
}

// TestBoundaryPlaces: begin and end say where their own events stand, and which transaction they belong to.
func TestBoundaryPlaces(t *testing.T) {
	c := config(t, `d\.t`, nil)
	c.Boundaries = true
	changes := played(t, c, "10 g b i i x")[0].Changes
	if len(changes) != 4 {
		t.Fatalf("%d changes", len(changes))
	}
	for i, want := range []struct {
		offset uint64
		row    uint64
		rows   int
	}{{54, 0, 0}, {104, 0, 1}, {154, 1, 1}, {204, 2, 0}} {
		got := &changes[i]
		if got.Offset != want.offset || got.Length != 50 || got.File != "f" || got.Row != want.row || got.Rows != want.rows || got.ServerID != 1 || got.Time != 10 {
			t.Errorf("change %d: %+v", i, got)
		}
		if string(got.Tx) != "00000000-0000-0000-0000-000000000000:1" || got.Clock != nil {
			t.Errorf("change %d: transaction %s, clock %v", i, got.Tx, got.Clock)
		}
	}
}

// TestBoundariesAcrossReconnects: wherever the connection breaks, each transaction begins and ends once, around its rows.
func TestBoundariesAcrossReconnects(t *testing.T) {
	for cut := 1; cut < 110; cut += 7 {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			s, want := source(t)
			s.Set("gtid_mode", "ON")
			s.Cut(cut, 7)
			c := config(t, `d\.t`, reader(t, s, nil))
			c.BatchBytes, c.Boundaries, c.GTID, c.Clocks = 300, true, true, true
			r := New(c, position.Resume{Position: position.Position{File: "binlog.000001", Offset: 4}}, reader(t, s, nil), nil, nil)
			var open string
			var rows, begins, ends int
			each := func(b *event.Batch) {
				for i := range b.Changes {
					c := &b.Changes[i]
					rows += c.Rows
					switch tx := string(c.Tx); {
					case c.Kind == event.Begin && open == "":
						open, begins = tx, begins+1
					case c.Kind == event.End && open == tx:
						open, ends = "", ends+1
					case c.Kind >= event.Begin || open != tx:
						t.Errorf("%s of %s while %q is open", short(c), tx, open)
					}
					if c.Clock == nil {
						t.Errorf("%s of %s has no clock", short(c), c.Tx)
					}
				}
			}
			follow(t, r, func([]seen) bool { return ends == 4 }, each)
			if begins != 4 || rows != len(want) {
				t.Errorf("%d begins, %d rows of %d", begins, rows, len(want))
			}
		})
	}
}

// TestInsertIDHasNoGTIDs: as in Canal, and unlike all else of its transaction.
func TestInsertIDHasNoGTIDs(t *testing.T) {
	c := config(t, `d\.t`, nil)
	c.Boundaries, c.GTID, c.Clocks = true, true, true
	for i, change := range played(t, c, "10 p g b v i x")[0].Changes {
		if bare := change.GTID == "" && change.Clock == nil; bare != (change.SQL == "SET INSERT_ID = 5") {
			t.Errorf("change %d, %s: GTIDs %q, clock %v", i, short(&change), change.GTID, change.Clock)
		}
	}
}
