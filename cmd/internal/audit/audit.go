package audit

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/cmd/internal/audit/gtids"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// DefaultRemember is how many changes are remembered over all partitions, to
// know a repeat again; each takes 32 bytes.
const DefaultRemember = 1 << 22

// Options are what an audit is told.
type Options struct {
	Topics topicreader.Config

	// Destination is whose records are judged; empty for all that have
	// headers.
	Destination string
	// Read tells how many rows a record has and sums up its content, as package
	// content does: content.Flat, Packet, or a test's own.
	Read func(value []byte) (rows int, sum uint64, err error)
	// Entries takes a record apart that holds several changes, each with the place
	// of its event for Tx and, for what it has in one partition, a number for Row;
	// nil for records of one change. It goes with a Source.
	Entries func(value []byte) ([]Change, error)
	Once    bool // any repeat is a fault
	// Letters is the topic of dead letters, if it is read: each stands for the row
	// that it names.
	Letters string

	// Source is what the topics must hold, nil if that is not known. With
	// Whole, all of it must be there from its beginning on, otherwise from the
	// first change of the topics on.
	Source Source
	Whole  bool
	// Follow reads on until the topics hold all that the source has, and then
	// for Linger, so that a repeat of the end is seen.
	Follow bool
	Linger time.Duration

	Remember int // DefaultRemember if 0
}

// pause is between two looks at topics that are followed.
const pause = 50 * time.Millisecond

// edge is how far before the end of topics that are being written to a
// transaction may still be incomplete.
const edge = 10 * time.Second

// Run reads the topics and judges them. The report is worth reading also when
// there is an error. An error means that the audit did not come to its end;
// faults that were found are in the report alone.
func Run(ctx context.Context, o Options) (*Report, error) {
	reader, err := topicreader.Open(ctx, o.Topics)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	a := newAuditor(o, reader.Ranges())
	err = a.read(ctx, reader)
	if err == nil {
		err = a.finish(ctx, reader)
	}
	return a.report, err
}

// auditor is one run.
type auditor struct {
	Options
	report  *Report
	lanes   map[place]*lane
	pending map[place]bool // partitions that have something and gave nothing yet
	cut     bool           // the beginning of some partition is not read
	rows    rows
	numbers *gtids.Seen
	files   bool // some transactions have no GTID
	keys    *keys
	compare *comparison

	headers headers
	newest  int64 // time of records, Unix ms
	settled bool  // nothing was written while it was read
}

func newAuditor(o Options, ranges []topicreader.Range) *auditor {
	if o.Read == nil {
		o.Read = content.Flat
	}
	if o.Remember == 0 {
		o.Remember = DefaultRemember
	}
	a := &auditor{Options: o, report: newReport(ranges), lanes: make(map[place]*lane), pending: make(map[place]bool), keys: newKeys()}
	for _, r := range ranges {
		p := place{r.Topic, r.Partition}
		a.lanes[p] = &lane{topic: r.Topic, partition: r.Partition, limit: max(o.Remember/len(ranges), 1<<10), highest: make(map[string]uint64),
			epoch: -1, aligned: r.Whole}
		if r.End > r.Start {
			a.pending[p] = true
		}
		a.cut = a.cut || !r.Whole
	}
	a.keys.single = len(ranges) == 1
	a.numbers = gtids.New()
	a.rows = rows{open: make(map[uint64]*counted), report: a.miscounted}
	if o.Source != nil {
		a.compare = &comparison{source: o.Source, waiting: make(map[place][]expected), met: o.Whole, read: make(map[string]bool), unread: a.report.Unread}
		for _, topic := range slices.Concat(o.Topics.Topics, o.Topics.Optional) {
			a.compare.read[topic] = true
		}
		if a.compare.read[o.Letters] {
			a.compare.absent = make(map[string][]expected)
		}
		a.report.Compared = true
	}
	return a
}

// read takes the records up to the end, and, when the topics are followed, on
// to where the source's last change is.
func (a *auditor) read(ctx context.Context, r *topicreader.Reader) error {
	lingered := false
	for {
		if err := r.Read(ctx, func(record *topicreader.Record) error { return a.record(ctx, record) }); err != nil {
			return err
		}
		moved, err := r.Extend(ctx)
		if err != nil {
			return err
		}
		a.settled = !moved
		if !a.Follow {
			return nil
		}
		if !moved {
			done, err := a.caughtUp(ctx)
			if done && lingered || err != nil || a.report.Faults(false) > 0 { // what is wrong already does not come right
				return err
			}
			wait := pause
			if done {
				wait, lingered = a.Linger, true
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// caughtUp reports whether the topics hold the last change of the source.
func (a *auditor) caughtUp(ctx context.Context) (bool, error) {
	if a.compare == nil || !a.compare.met {
		return a.compare == nil, nil
	}
	_, behind, err := a.compare.rest(ctx)
	return behind == 0, err
}

// record judges one record.
func (a *auditor) record(ctx context.Context, r *topicreader.Record) error {
	if r.Header(message.HeaderHeartbeat) != nil {
		a.report.Heartbeats++
		return nil
	}
	a.report.Records++
	l := a.lanes[place{r.Topic, r.Partition}]
	found, err := a.headers.read(r)
	if err != nil {
		return err
	}
	if found && a.Destination != "" && a.headers.destination != a.Destination {
		a.report.Foreign++
		return nil
	}
	letter, rows, sum, err := a.content(r)
	if err != nil {
		return fmt.Errorf("topic %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	a.report.Rows += uint64(rows)
	at := r.Time.UnixMilli()
	a.newest = max(a.newest, at)
	delete(a.pending, place{r.Topic, r.Partition})
	if !found {
		a.report.Bare++
		if rows == 0 || letter != nil { // protobuf, or nothing to follow the row from
			return nil
		}
		return a.keys.record(a, l, r, sum)
	}
	c := Change{Topic: r.Topic, Partition: r.Partition, Tx: a.headers.tx, Row: a.headers.row, Rows: rows, Sum: sum}
	if a.headers.epoch < l.epoch {
		a.report.add(Stale, l, r.Offset, &c, "an owner of epoch %d wrote after one of epoch %d", a.headers.epoch, l.epoch)
	}
	l.epoch = max(l.epoch, a.headers.epoch)
	if letter != nil {
		c.Topic, c.Partition = letter.Topic, letter.Partition
	} else if a.Entries != nil && a.compare != nil {
		return a.entries(ctx, l, r, at)
	}
	return a.place(ctx, l, &c, r.Offset, at)
}

// place finds out whether a change is new or a repeat.
func (a *auditor) place(ctx context.Context, l *lane, c *Change, offset, at int64) error {
	o := orderOf(c.Tx)
	m := mark{maphash.String(content.Seed, c.Tx), c.Row, c.Sum, o.number}
	if l.next < l.count && l.at(l.next).is(m) {
		a.repeats(l, c, m, offset)
		return nil
	}
	switch {
	case l.later(c, o):
		if l.next < l.count {
			a.report.add(Order, l, offset, c, "a repeat breaks off %d records before what was sent before it ends", l.count-l.next)
		}
		return a.fresh(ctx, l, c, o, m, offset, at)
	case a.goesBack(l, c, m, offset):
		return nil
	}
	if a.compare != nil && a.compare.met { // numbers need not grow on a source that is a replica
		next, err := a.compare.heads(ctx, c)
		if next || err != nil {
			if err == nil {
				err = a.fresh(ctx, l, c, o, m, offset, at)
			}
			return err
		}
	}
	if l.oldest() > 0 && o.number < l.at(l.oldest()).number {
		a.report.Repeats++
		a.report.Forgotten++
		return nil
	}
	a.report.add(Order, l, offset, c, "it stands behind %s row %d, which comes later, and was not sent before", l.tx, l.row)
	a.note(l, c, o, m, offset, at)
	return nil
}

// repeats takes a change that goes on with a repeat.
func (a *auditor) repeats(l *lane, c *Change, m mark, offset int64) {
	if was := l.at(l.next).sum; was != m.sum && was != 0 && m.sum != 0 {
		a.report.add(Content, l, offset, c, "it was sent before with another content")
	}
	l.next++
	a.report.Repeats++
}

// goesBack takes a change that was there before, out of turn.
func (a *auditor) goesBack(l *lane, c *Change, m mark, offset int64) bool {
	i := l.find(m)
	if i < 0 {
		return false
	}
	switch repeating := l.next < l.count; {
	case repeating && i > l.next:
		a.report.add(Order, l, offset, c, "a repeat leaves out %d records that were sent before", i-l.next)
	case l.opens(i):
		a.report.add(Repeat, l, offset, c, "from here on %d records are repeated, from where a transaction begins", l.count-i)
	default:
		a.report.add(Inside, l, offset, c, "from here on %d records are repeated, from within a transaction", l.count-i)
	}
	l.next = i
	a.repeats(l, c, m, offset)
	return true
}

// note keeps in mind a change that was not there before.
func (a *auditor) note(l *lane, c *Change, o order, m mark, offset, at int64) {
	if c.Tx != l.tx {
		if o.file || o.source == "" {
			a.files = true
		} else {
			a.numbers.Add(o.source, o.number)
		}
	}
	l.forward(c, o, m)
	a.report.Changes += uint64(c.Rows)
	if c.Rows > 0 && (a.Entries == nil || a.compare == nil) { // the rows of entries are numbered by event
		a.rows.add(m.tx, c, l, at, offset, a.cut && len(a.pending) > 0)
	}
}

// fresh takes a change that was not there before, and stands where it may.
func (a *auditor) fresh(ctx context.Context, l *lane, c *Change, o order, m mark, offset, at int64) error {
	a.note(l, c, o, m, offset, at)
	if a.compare == nil {
		return nil
	}
	if !a.compare.met {
		if err := a.compare.begin(ctx, c); err != nil {
			return err
		}
	}
	if l.topic == a.Letters {
		ok, err := a.compare.letter(ctx, c)
		if err == nil && !ok {
			a.report.add(Extra, l, offset, c, "the source has no such row for topic %s, partition %d", c.Topic, c.Partition)
		}
		return err
	}
	missing, differs, ok, err := a.compare.match(ctx, c)
	switch {
	case err != nil:
		return err
	case !ok:
		a.report.add(Extra, l, offset, c, "the source has no such change, or not there")
	case differs:
		a.report.add(Content, l, offset, c, "the source has another content")
	}
	for i := range missing {
		if e := &missing[i]; l.aligned && !a.compare.excuse(e, offset) {
			a.report.lost(l, offset, &e.Change)
		}
	}
	l.aligned = l.aligned || ok
	return nil
}

// miscounted takes a transaction whose rows do not add up.
func (a *auditor) miscounted(t *counted) {
	if t.edge || !a.settled && t.latest > a.newest-edge.Milliseconds() {
		a.report.Unjudged++
		return
	}
	c := Change{Tx: t.tx, Row: t.last}
	if t.rows > t.last+1 {
		a.report.add(Extra, t.lane, t.offset, &c, "the transaction has %d rows, and the number of the last one allows %d", t.rows, t.last+1)
		return
	}
	a.report.add(Gap, t.lane, t.offset, &c, "the transaction has %d rows up to number %d: %d are missing", t.rows, t.last, t.last+1-t.rows)
}

// finish judges what needs the end.
func (a *auditor) finish(ctx context.Context, _ *topicreader.Reader) error {
	a.rows.end()
	a.report.Holes, a.report.Missing = a.numbers.Holes(maxNamed)
	a.report.NumbersUnknown = a.numbers.Full() || a.files
	if a.compare == nil || !a.compare.met {
		return nil
	}
	missing, behind, err := a.compare.rest(ctx)
	if err != nil {
		return err
	}
	a.report.Behind = behind
	for i := range missing {
		e := &missing[i]
		l := a.lanes[place{e.Topic, e.Partition}]
		if l == nil {
			l = &lane{topic: e.Topic, partition: e.Partition, aligned: true}
		}
		if l.aligned && a.settled {
			a.report.lost(l, e.offset-1, &e.Change)
		}
	}
	return nil
}
