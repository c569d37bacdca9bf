package audit

// remembered is how many of the latest transactions are kept to count their rows.
const remembered = 1 << 18

// rows counts the rows of each transaction over all partitions. They have the
// numbers from 0 on, so that a transaction whose last one is n has n+1.
type rows struct {
	open   map[uint64]*counted
	queue  []*counted // in the order of their first record
	report func(*counted)
}

type counted struct {
	tx     string
	hash   uint64
	rows   uint64 // that were seen
	last   uint64 // the highest number
	edge   bool   // what came before may be out of what is read
	latest int64  // time of its latest record, Unix ms
	lane   *lane  // of that one
	offset int64
}

// add notes the record of a change that was not there before.
func (r *rows) add(hash uint64, c *Change, l *lane, at, offset int64, edge bool) {
	t := r.open[hash]
	if t == nil {
		if len(r.queue) >= remembered {
			r.settle(r.queue[0])
			r.queue[0] = nil
			r.queue = r.queue[1:]
		}
		t = &counted{tx: c.Tx, hash: hash, edge: edge}
		r.open[hash] = t
		r.queue = append(r.queue, t)
	}
	t.rows += uint64(c.Rows)
	t.last = max(t.last, c.Row)
	t.latest, t.lane, t.offset = max(t.latest, at), l, offset
}

// settle judges a transaction and forgets it.
func (r *rows) settle(t *counted) {
	delete(r.open, t.hash)
	if t.rows != t.last+1 {
		r.report(t)
	}
}

// end judges all that are left.
func (r *rows) end() {
	for _, t := range r.queue {
		r.settle(t)
	}
	r.queue = nil
}
