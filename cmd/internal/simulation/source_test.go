package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

const (
	binlogFile = "mysql-bin.000001"
	serverUUID = "11111111-2222-3333-4444-555555555555"
	step       = 1000 // bytes of a transaction in the binlog
	rowsMost   = 64   // rows of a transaction, less than this
)

// history is what the database does: the same for every node. Row r of
// transaction k has the id k*rowsMost+r.
type history struct {
	layout       *event.Layout
	began        time.Time
	transactions []transaction
	most         atomic.Int64 // batches that a term held, at most
}

type transaction struct {
	at     time.Time // of the commit
	events [][]int   // rows by event: their numbers in the transaction; a statement has one
	ddl    bool
	cuts   []int // before which events the source cuts it into batches
	rows   int
}

func newHistory(r *rand.Rand, n int, span time.Duration) (*history, error) {
	h := &history{began: time.Now(), transactions: make([]transaction, n)}
	table := &schema.Table{Schema: "shop", Name: "orders", PrimaryKey: []int{0}}
	table.Columns = []schema.Column{{Name: "id", Type: "int", Base: "int", Key: true}}
	var err error
	h.layout, err = event.NewLayout(table, &replication.TableMapEvent{
		Schema: []byte("shop"), Table: []byte("orders"), ColumnCount: 1, NullBitmap: []byte{0},
		ColumnType: []byte{mysql.MYSQL_TYPE_LONG}, ColumnMeta: []uint16{0},
	})
	if err != nil {
		return nil, err
	}
	at := h.began
	for k := range h.transactions {
		if r.IntN(4) > 0 { // else right behind the one before
			at = at.Add(time.Duration(r.Int64N(int64(span) / int64(n) * 8 / 3)))
		}
		h.transactions[k] = newTransaction(r, at)
	}
	return h, nil
}

func newTransaction(r *rand.Rand, at time.Time) transaction {
	t := transaction{at: at}
	if r.IntN(10) == 0 {
		t.ddl, t.rows, t.events = true, 1, [][]int{{0}}
		return t
	}
	events := 1 + r.IntN(2)
	big := r.IntN(8) == 0
	if big {
		events = 3 + r.IntN(6)
	}
	for e := range events {
		if big && e > 0 && r.IntN(2) == 0 {
			t.cuts = append(t.cuts, e)
		}
		var rows []int
		for range 1 + r.IntN(4) {
			rows = append(rows, t.rows)
			t.rows++
		}
		t.events = append(t.events, rows)
	}
	return t
}

// end is the position behind transaction k.
func (h *history) end(k int) position.Position {
	return position.Position{
		File: binlogFile, Offset: uint64(k+1) * step, ServerID: 1, ServerUUID: serverUUID,
		Time: h.transactions[k].at.Truncate(time.Second), Host: "db", Port: 3306,
	}
}

// next is the transaction that follows a position.
func next(p position.Position) int { return int(p.Offset / step) }

// change makes the change of an event without the rows before skip.
func (h *history) change(k, e, skip int) event.Change {
	t := &h.transactions[k]
	c := event.Change{
		Schema: "shop", Time: t.at.Unix(), Tx: fmt.Appendf(nil, "%s:%d@%s", binlogFile, k*step, serverUUID),
		File: binlogFile, Offset: uint64(k*step + e), ServerID: 1,
	}
	if t.ddl {
		c.Kind, c.DDL, c.Table, c.Rows = event.Truncate, true, "items", 1
		c.SQL = fmt.Sprintf("truncate items /* %d */", k*rowsMost)
		return c
	}
	c.Kind, c.Layout, c.Table, c.Present = event.Insert, h.layout, "orders", []byte{1}
	for _, row := range t.events[e] {
		if row < skip {
			continue
		}
		if c.Rows == 0 {
			c.Row = uint64(row)
		}
		c.Rows++
		c.Image = binary.LittleEndian.AppendUint32(append(c.Image, 0), uint32(k*rowsMost+row))
	}
	return c
}

// source reads the history from a position on, as a relay does: whole
// transactions, several where it is behind, and large ones in parts.
type source struct {
	*history
	k    int // the transaction to be read
	e    int // its event
	skip int // its rows that readers have
	id   uint64
	held atomic.Int64 // batches that were handed out and not released
}

func (h *history) from(p position.Resume) *source {
	return &source{history: h, k: next(p.Position), skip: int(p.Sent)}
}

func (s *source) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (s *source) Release(*event.Batch) { s.held.Add(-1) }

// Next is called by one goroutine at a time.
func (s *source) Next(ctx context.Context) (*event.Batch, error) {
	if s.k >= len(s.transactions) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	timer := time.NewTimer(time.Until(s.transactions[s.k].at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.id++
	b := &event.Batch{ID: s.id}
	for range 3 {
		if !s.read(b) || s.k >= len(s.transactions) || s.transactions[s.k].at.After(time.Now()) {
			break
		}
	}
	b.Bytes = 64 * len(b.Changes)
	s.most.Store(max(s.most.Load(), s.held.Add(1)))
	return b, nil
}

// read adds a transaction to a batch, or a part of one. It reports whether more
// may follow.
func (s *source) read(b *event.Batch) bool {
	t := &s.transactions[s.k]
	for s.e < len(t.events) {
		rows := t.events[s.e]
		if last := rows[len(rows)-1]; last >= s.skip {
			b.Changes = append(b.Changes, s.change(s.k, s.e, s.skip))
			b.Rows = uint64(last + 1)
		}
		s.e++
		for _, cut := range t.cuts {
			if cut == s.e && b.Rows > 0 {
				return false
			}
		}
	}
	b.Rows, b.Resume = 0, s.end(s.k)
	b.Transactions++
	s.k, s.e, s.skip = s.k+1, 0, 0
	return true
}

// ending is a source that tells where the binlog ends.
type ending struct{ *source }

func (s ending) End(context.Context) (position.Position, error) {
	k := 0
	for k < len(s.transactions) && !s.transactions[k].at.After(time.Now()) {
		k++
	}
	if k == 0 {
		return position.Position{File: binlogFile, ServerUUID: serverUUID}, nil
	}
	return s.end(k - 1), nil
}
