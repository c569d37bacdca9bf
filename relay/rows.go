package relay

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/buffer"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/event/tablemap"
	"github.com/canal-relay/canal-relay/relay/schema"
)

const maxMaps = 4096 // table maps remembered

// tableMap is what a table id stands for.
type tableMap struct {
	body         []byte // of the table-map event, to know it again
	schema, name string
	captured     bool
	layout       *event.Layout // nil until a row event needs it
	version      uint64        // assembler.version at which layout was last right
}

// tableMap notes which table an id stands for. The same map comes before every
// statement, so that it mostly finds what it knows.
func (a *assembler) tableMap(e *replication.BinlogEvent, ev *replication.TableMapEvent, trailer int) error {
	body := e.RawData[replication.EventHeaderSize : len(e.RawData)-trailer]
	if err := tablemap.Fix(ev, body); err != nil {
		return err
	}
	if m := a.maps[ev.TableID]; m != nil && bytes.Equal(m.body, body) {
		return nil
	}
	if len(a.maps) >= maxMaps {
		clear(a.maps)
	}
	m := &tableMap{body: bytes.Clone(body), schema: string(ev.Schema), name: string(ev.Table)}
	m.captured = a.r.c.Filter.Table(m.schema, m.name)
	a.maps[ev.TableID] = m
	return nil
}

// rowKind is what a row event does; update says that it has two images a row.
func rowKind(t replication.EventType) (kind event.Kind, update bool) {
	switch t {
	case replication.WRITE_ROWS_EVENTv1, replication.WRITE_ROWS_EVENTv2, replication.MARIADB_WRITE_ROWS_COMPRESSED_EVENT_V1:
		return event.Insert, false
	case replication.DELETE_ROWS_EVENTv1, replication.DELETE_ROWS_EVENTv2, replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1:
		return event.Delete, false
	case replication.UPDATE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv2, replication.MARIADB_UPDATE_ROWS_COMPRESSED_EVENT_V1,
		replication.PARTIAL_UPDATE_ROWS_EVENT:
		return event.Update, true
	}
	return 0, false
}

func (a *assembler) dropsRows(k event.Kind) bool {
	d := &a.r.c.Drop
	return d.Rows || k == event.Insert && d.DMLInsert || k == event.Update && d.DMLUpdate || k == event.Delete && d.DMLDelete
}

// rows takes a row event: its images stay as they are.
func (a *assembler) rows(e *replication.BinlogEvent, ev *replication.RowsEvent, trailer int) error {
	kind, update := rowKind(e.Header.EventType)
	if ev.Table == nil { // a dummy event without rows
		return nil
	}
	m := a.maps[ev.TableID]
	if m == nil {
		return fmt.Errorf("%w: no table map for table id %d", binlog.ErrFormat, ev.TableID)
	}
	if !m.captured || a.dropsRows(kind) {
		return nil
	}
	if kind == 0 {
		return fmt.Errorf("%w: rows of %s.%s in an event of MySQL before 5.1", binlog.ErrFormat, m.schema, m.name)
	}
	image, err := wire.RowImages(e, ev, trailer)
	if err != nil {
		return fmt.Errorf("%w: rows of %s.%s: %w", binlog.ErrFormat, m.schema, m.name, err)
	}
	i := imageRows{update: update, partial: e.Header.EventType == replication.PARTIAL_UPDATE_ROWS_EVENT, image: image}
	n, err := a.countRows(m, ev, &i)
	switch {
	case err != nil && a.skips(m, err):
		return nil
	case err != nil:
		return fmt.Errorf("rows of %s.%s: %w", m.schema, m.name, err)
	case n == 0:
		return nil
	}
	c := a.rowChange(e, ev, m, kind, i.image)
	if update && a.r.c.SplitKeys {
		return a.split(c, n)
	}
	return a.add(c, n)
}

// imageRows are the row images of an event. Those of a partial update hold
// differences of documents until they are counted, whole documents from then on.
type imageRows struct {
	update, partial bool
	image           []byte
}

// rowChange is the change of a row event. Small events share memory with their
// neighbours, which may be refused ones: their bytes are copied, so that a
// batch holds what it is charged for.
func (a *assembler) rowChange(e *replication.BinlogEvent, ev *replication.RowsEvent, m *tableMap, kind event.Kind, image []byte) event.Change {
	c := event.Change{
		Kind: kind, Layout: m.layout, Schema: m.schema, Table: m.name, Time: int64(e.Header.Timestamp),
		Present: ev.ColumnBitmap1, PresentAfter: ev.ColumnBitmap2, Image: image,
		ServerID: e.Header.ServerID, TableID: ev.TableID,
	}
	if len(e.RawData) < wire.ChunkedBelow {
		c.Present, c.PresentAfter, c.Image = buffer.Keep(a.batch, c.Present), buffer.Keep(a.batch, c.PresentAfter), buffer.Keep(a.batch, c.Image)
	}
	return c
}

// countRows counts the rows of an event by its table's layout, which it makes
// when needed. A layout that does not fit is found anew, once.
func (a *assembler) countRows(m *tableMap, ev *replication.RowsEvent, i *imageRows) (int, error) {
	n, err := a.tryRows(m, ev, i)
	if !errors.Is(err, event.ErrMismatch) {
		return n, err
	}
	a.r.d.Unusual("layout_mismatch")
	a.r.log.Warn("a table's layout does not fit its rows, taking another one", "table", m.schema+"."+m.name,
		"file", a.track.File, "offset", a.track.Start, "error", err)
	a.r.c.Tracker.Forget(m.schema, m.name)
	a.version++
	if n, again := a.tryRows(m, ev, i); again == nil {
		return n, nil
	}
	return 0, err
}

// definition is the table at hand: as it is tracked, else as its table map
// describes it, else as the source has it now.
func (a *assembler) definition(m *tableMap, ev *replication.TableMapEvent) (*schema.Table, error) {
	if t := a.r.c.Tracker.Known(m.schema, m.name); t != nil {
		return t, nil
	}
	l, untold := a.newLayout(nil, ev)
	if untold == nil {
		return a.r.c.Tracker.Adopt(a.ctx, l.Described())
	}
	t, err := a.r.c.Tracker.Table(a.ctx, m.schema, m.name)
	if errors.Is(err, schema.ErrNoTable) {
		return nil, untold
	}
	if err == nil {
		a.r.log.Info("a table that nobody followed so far: its rows are read with the source's present definition", "table", m.schema+"."+m.name,
			"file", a.track.File, "offset", a.track.Start)
	}
	return t, err
}

func (a *assembler) tryRows(m *tableMap, ev *replication.RowsEvent, i *imageRows) (int, error) {
	if m.layout == nil || m.version != a.version {
		t, err := a.definition(m, ev.Table)
		if err != nil {
			return 0, err
		}
		if m.layout == nil || m.layout.Table != t {
			if m.layout, err = a.newLayout(t, ev.Table); err != nil {
				m.layout = nil
				return 0, err
			}
			if tell := a.r.c.Defined; tell != nil {
				tell(m.schema, m.name, a.r.c.Tracker.From(m.schema, m.name))
			}
		}
		m.version = a.version
	}
	if i.partial {
		whole, err := m.layout.Complete(ev.ColumnBitmap1, ev.ColumnBitmap2, i.image)
		if err != nil {
			return 0, err
		}
		i.image, i.partial = whole, false
	}
	return m.layout.CountRows(i.update, ev.ColumnBitmap1, ev.ColumnBitmap2, i.image)
}

func (a *assembler) newLayout(t *schema.Table, m *replication.TableMapEvent) (*event.Layout, error) {
	if a.mariadb {
		return event.NewMariaDBLayout(t, m)
	}
	return event.NewLayout(t, m)
}

// full reports that so much more is too much for the open batch.
func (a *assembler) full(bytes, changes int) bool {
	return a.batch.Bytes+bytes >= a.r.c.BatchBytes || len(a.batch.Changes)+changes >= maxChanges
}

// add puts a change of n rows into the open batch, unless an earlier stream has
// handed it on. It reports whether it did.
func (a *assembler) add(c event.Change, n int) error {
	c.Row, c.Rows = a.row, n
	a.row += uint64(n)
	a.data(&c, a.sent > 0)
	if a.row <= a.sent {
		return nil
	}
	if err := c.SkipTo(a.sent); err != nil { // another server may put the same rows into larger events
		return fmt.Errorf("%w: rows up to %d of the transaction were sent: %w", binlog.ErrStart, a.sent, err)
	}
	a.named(&c)
	if a.bare {
		c.GTID, c.Clock = "", nil
	}
	a.placed(&c)
	a.batch.Bytes += len(c.Image) + len(c.SQL)
	a.batch.Changes = append(a.batch.Changes, c)
	if a.full(0, 0) && a.track.Open {
		return a.cut()
	}
	return nil
}
