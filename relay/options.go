package relay

import (
	"errors"
	"fmt"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// isolate puts a DDL into a batch of its own. The track is behind the statement
// already: what came before it resumes at the end of the last transaction.
func (a *assembler) isolate(c event.Change) error {
	if b := a.batch; len(b.Changes) > 0 || b.Transactions > 0 {
		if b.Transactions > 0 {
			b.Resume = a.last
		}
		b.Rows = max(a.row, a.sent)
		if err := a.queue(); err != nil {
			return err
		}
	}
	a.batch.Alone = true
	if err := a.add(c, 1); err != nil {
		return err
	}
	switch {
	case len(a.batch.Changes) == 0: // an earlier stream has handed it on, or add has
		a.batch.Alone = false
	case a.track.Open: // rows follow: CREATE TABLE … SELECT
		return a.cut()
	}
	return nil
}

// split puts an update of n rows into the open batch, in parts where it changes
// primary keys.
func (a *assembler) split(c event.Change, n int) error {
	c.Rows = n
	parts, err := a.rekey.Split(&c)
	if err != nil {
		return fmt.Errorf("rows of %s.%s: %w", c.Schema, c.Table, err)
	}
	for i := range parts {
		if err := a.add(parts[i], parts[i].Rows); err != nil {
			return err
		}
	}
	return nil
}

const tableDenied = 1142 // ER_TABLEACCESS_DENIED_ERROR

// skips reports whether the rows of a table are to be skipped because its
// definition cannot be had, and counts that.
func (a *assembler) skips(m *tableMap, err error) bool {
	var refusal *wire.SourceError
	known := errors.Is(err, schema.ErrNoTable) || errors.Is(err, event.ErrUnknownTable) || errors.Is(err, event.ErrMismatch) ||
		errors.As(err, &refusal) && refusal.Code == tableDenied
	if !a.r.c.SkipTables || !known {
		return false
	}
	a.r.d.Unusual("table_skipped")
	a.once("skipped "+m.schema+"."+m.name, "rows of a table are skipped, since canal.instance.filter.table.error is true",
		"table", m.schema+"."+m.name, "error", err)
	return true
}
