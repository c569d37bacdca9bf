package audit

// mark is a change as a lane remembers it: hashes of transaction and content,
// the row, and the number of the transaction.
type mark struct{ tx, row, sum, number uint64 }

func (m mark) is(o mark) bool { return m.tx == o.tx && m.row == o.row }

// lane is one partition: the changes that it held for the first time, in their
// order, of which it remembers the last ones, and where in them a repeat is.
type lane struct {
	topic     string
	partition int32

	history []mark // a ring once it is full
	limit   int    // of history
	count   int    // changes so far; the oldest one remembered is count-len(history)
	next    int    // what a repeat must go on with; count when nothing is being repeated

	highest map[string]uint64 // the latest transaction of each source
	tx      string            // of the last change that was new
	row     uint64
	epoch   int64
	entry   Change // the last one of a record that holds several
	aligned bool   // the source was met, or must be from the beginning
}

func (l *lane) oldest() int { return l.count - len(l.history) }

func (l *lane) at(i int) mark { return l.history[i%l.limit] }

// append adds a change at the front.
func (l *lane) append(m mark) {
	if len(l.history) < l.limit {
		l.history = append(l.history, m)
	} else {
		l.history[l.count%l.limit] = m
	}
	l.count++
	l.next = l.count
}

// find returns the last place of a change in what is remembered; -1 if it is
// not there.
func (l *lane) find(m mark) int {
	for i := l.count - 1; i >= l.oldest(); i-- {
		if l.at(i).is(m) {
			return i
		}
	}
	return -1
}

// opens reports whether the change at i is the first one of its transaction in
// this lane.
func (l *lane) opens(i int) bool {
	return i == 0 || i > l.oldest() && l.at(i-1).tx != l.at(i).tx
}

// later reports whether a change can only be a new one: by its row in the
// transaction, or by the number of its transaction.
func (l *lane) later(c *Change, o order) bool {
	if c.Tx == l.tx {
		return c.Row > l.row
	}
	highest, met := l.highest[o.source]
	return !met || o.number > highest
}

// forward notes a new change.
func (l *lane) forward(c *Change, o order, m mark) {
	front := l.later(c, o) // else it came too late
	l.append(m)
	if front {
		l.tx, l.row = c.Tx, c.Row
		l.highest[o.source] = max(l.highest[o.source], o.number)
	}
}
