package history

import (
	"context"
	"encoding/json"

	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// void deletes what stands behind a position at which a snapshot is taken: neither
// times nor, on MariaDB, the numbers of later transactions tell that it holds no more.
func (h *MySQL) void(ctx context.Context, at position.Position) error {
	for table, column := range map[string]string{"meta_snapshot": "data", "meta_history": "extra"} {
		r, err := h.run(ctx, "SELECT id, "+column+" FROM "+table+" WHERE destination = ? AND binlog_timestamp >= ?", h.destination, at.Time.UnixMilli())
		if err != nil {
			return err
		}
		var gone []int64
		for i := range r.RowNumber() {
			id, _ := r.GetInt(i, 0)
			text, _ := r.GetString(i, 1)
			var e schema.Entry
			if entries, err := snapshotOf(text, e.At); err == nil && len(entries) > 0 && column == "data" {
				e = entries[0]
			} else if column == "extra" {
				_ = json.Unmarshal([]byte(text), &e) // Canal's have nothing there
			}
			if behind(e.At, at) {
				gone = append(gone, id)
			}
		}
		for _, id := range gone {
			if _, err := h.run(ctx, "DELETE FROM "+table+" WHERE id = ?", id); err != nil {
				return err
			}
		}
	}
	return nil
}

// behind reports that p is known to be after q.
func behind(p, q position.Position) bool {
	return !q.IsZero() && schema.Before(q, p) && !schema.Before(p, q)
}
