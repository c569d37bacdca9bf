package relay

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/track"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/half"
	"github.com/canal-relay/canal-relay/relay/pace"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/rekey"
)

const (
	maxChanges = 1024            // of a batch
	saveEvery  = 5 * time.Second // how often a stream without changes moves its position
	caughtUp   = 5 * time.Second // an idle stream whose last event is younger has nothing left to read
)

// assembler puts the events of a stream into batches. It is the binlog.Handler
// of its Relay, and runs on the stream's goroutine.
type assembler struct {
	r   *Relay
	ctx context.Context // of the stream, for what a handler must wait for

	begun    bool  // a stream was opened
	loaded   bool  // table definitions were
	compared int   // times that they were compared with the source
	failed   error // what a method returned to the stream

	track *track.Track
	batch *event.Batch
	saved time.Time // when a batch with Resume was last queued

	row  uint64           // rows of the open transaction so far
	sent uint64           // of these, how many at its start were handed on by an earlier stream
	half half.Transaction // of which that is known

	txKept []byte // the open transaction's name in the open batch
	txAt   [2]int // bytes and changes of the open batch where the transaction began; negative when in an earlier one
	gtids  string // executed set including the open transaction, if asked for
	clock  *event.Clock
	bare   bool // the event at hand is the one to which Canal gives no GTIDs
	bounds boundaries

	checksum int    // bytes at the end of each event
	mariadb  bool   // the server that wrote the events
	server   uint32 // its version, as ddl.Options has it
	maps     map[uint64]*tableMap
	version  uint64 // counts the statements that may have changed a layout
	skipped  bool   // of the open transaction something was left out by order
	applied  bool   // the open transaction has such a statement
	noted    map[string]bool

	open2pc   *held            // the XA transaction under way; nil if none is, or nothing of it was met
	prepared  map[string]*held // those that wait for their decision, as far as they are held
	heldBytes int
	replaying bool   // an XA transaction is committed
	replayed  *place // where its event at hand stands

	last  position.Position // with Isolate: the end of the last transaction
	rekey rekey.Splitter
	pace  *pace.Pace

	received int    // bytes not yet counted
	lastTime uint32 // of the last event of the source
}

func newAssembler(ctx context.Context, r *Relay) *assembler {
	a := &assembler{r: r, ctx: ctx, maps: make(map[uint64]*tableMap), noted: make(map[string]bool)}
	if !r.c.Files {
		a.pace = pace.New(r.c.Rate)
	}
	return a
}

// Begin opens a stream behind what was handed on.
func (a *assembler) Begin(p position.Position) error { return a.keepErr(a.begin(p)) }

func (a *assembler) begin(p position.Position) error {
	t, err := track.New(p, a.r.c.Files)
	if err != nil {
		return err
	}
	if a.batch != nil {
		a.r.buf.Discard(a.batch)
	}
	a.track, a.batch = t, a.r.buf.Fresh()
	a.row, a.sent, a.txKept = 0, 0, nil
	a.half, a.applied, a.skipped = half.Transaction{Tx: a.r.tx, Rows: a.r.rows}, false, false
	clear(a.maps)
	a.open2pc = nil
	a.undecided()
	located := a.r.from.IsZero()
	a.begun = true
	if from := &a.r.from; !a.loaded || p.File != from.File || p.Offset != from.Offset || p.GTIDs != from.GTIDs {
		if err := a.r.c.Tracker.Load(a.ctx, p); err != nil {
			return fmt.Errorf("load table definitions: %w", err)
		}
		a.loaded, a.compared = true, 0
		a.compare()
	}
	switch {
	case !located || a.r.c.Files:
		return nil
	case p.File == "": // a GTID set alone: it gets its place with the first transaction
		a.r.from = p
		return nil
	}
	a.batch.Resume = p
	return a.queue()
}

// compare looks for tables that were changed without a log, a few times until
// the stream is found at the end of the binlog.
func (a *assembler) compare() {
	if a.compared > 3 || a.track.Open {
		return
	}
	differ, done, err := a.r.c.Tracker.Check(a.ctx, a.track.Position(), a.r.c.Filter.Table)
	if a.compared++; done {
		a.compared = 4
	}
	if err != nil {
		a.r.log.Warn("tables could not be compared with the source", "error", err)
	}
	for _, t := range differ {
		a.version++
		a.r.d.Unusual("schema_drift")
		a.r.log.Warn("a table is not what its logged changes made of it: taking the source's present definition", "table", t.Schema+"."+t.Name)
	}
}

// HandleEvent takes one event.
func (a *assembler) HandleEvent(e *replication.BinlogEvent) error { return a.keepErr(a.handle(e)) }

func (a *assembler) handle(e *replication.BinlogEvent) error {
	a.received += len(e.RawData)
	if err := a.pace.Wait(a.ctx, len(e.RawData)); err != nil {
		return err
	}
	if err := a.step(e, a.track.Next, a.checksum); err != nil {
		return err
	}
	if p, ok := e.Event.(*parse.Payload); ok {
		return p.Events(func(inner *replication.BinlogEvent) error { return a.step(inner, a.track.Inner, 0) })
	}
	return nil
}

// step gives an event to the track and takes it.
func (a *assembler) step(e *replication.BinlogEvent, next func(*replication.BinlogEvent) track.Step, trailer int) error {
	if err := a.decide(e); err != nil {
		return fmt.Errorf("%s behind %s:%d: %w", e.Header.EventType, a.track.File, a.track.End, err)
	}
	return a.take(e, next(e), trailer)
}

// Idle hands on what there is before the stream waits.
func (a *assembler) Idle() error { return a.keepErr(a.idle()) }

func (a *assembler) idle() error {
	a.count()
	a.compare()
	if time.Since(time.Unix(int64(a.lastTime), 0)) < caughtUp {
		a.r.d.Alive()
	}
	if len(a.batch.Changes) == 0 {
		return a.save()
	}
	return a.cut()
}

func (a *assembler) keepErr(err error) error {
	if err != nil {
		a.failed = err
	}
	return err
}

// finish hands on the rest at the end of the files.
func (a *assembler) finish() error {
	a.count()
	if err := a.cut(); err != nil {
		return err
	}
	return io.EOF
}

func (a *assembler) count() {
	if a.received > 0 {
		a.r.d.Received(a.received)
		a.received = 0
	}
}

// take handles one event, or one inside a payload; trailer is the size of its
// checksum.
func (a *assembler) take(e *replication.BinlogEvent, step track.Step, trailer int) error {
	if step.Began {
		a.open()
	}
	if e.Header.Timestamp != 0 {
		a.lastTime = e.Header.Timestamp
	}
	if a.track.XA && !a.replaying {
		return a.hold(e, step.Text, trailer)
	}
	if a.leaveOut(e, step.Text) {
		if step.Ended {
			return a.ended()
		}
		return nil
	}
	var err error
	switch ev := e.Event.(type) {
	case *replication.RowsEvent:
		err = a.rows(e, ev, trailer)
	case *replication.TableMapEvent:
		err = a.tableMap(e, ev, trailer)
	case *replication.QueryEvent:
		err = a.query(e.Header, ev, step.Text)
	case *replication.RowsQueryEvent:
		err = a.annotation(e.Header, ev.Query, true)
	case *replication.MariadbAnnotateRowsEvent:
		err = a.annotation(e.Header, ev.Query, false)
	case *replication.FormatDescriptionEvent:
		a.format(ev)
	case *replication.GTIDEvent:
		a.timed(ev)
	case *replication.GtidTaggedLogEvent:
		a.timed(&ev.GTIDEvent)
	case *replication.XIDEvent:
		a.ends(e.Header, ev.XID, "")
	case *replication.IntVarEvent:
		a.bare = true
		err = a.other(e)
		a.bare = false
	default:
		err = a.other(e)
	}
	if err != nil {
		return a.fault(e, err)
	}
	if step.Ended {
		return a.ended()
	}
	return nil
}

// format takes what a file says about its events.
func (a *assembler) format(ev *replication.FormatDescriptionEvent) {
	a.checksum = checksumOf(ev)
	a.mariadb, a.server = binlog.ParseVersion(ev.ServerVersion)
	a.r.c.Tracker.Serve(a.mariadb, a.server)
}

// checksumOf is the size of the checksums of a file.
func checksumOf(ev *replication.FormatDescriptionEvent) int {
	if ev.ChecksumAlgorithm == replication.BINLOG_CHECKSUM_ALG_CRC32 {
		return replication.BinlogChecksumLength
	}
	return 0
}

// open starts the bookkeeping of a transaction.
func (a *assembler) open() {
	a.open2pc = nil
	a.row, a.sent, a.txKept, a.gtids, a.clock = 0, 0, nil, "", nil
	a.txAt = [2]int{a.batch.Bytes, len(a.batch.Changes)}
	a.bounds.pending, a.bounds.held = false, false
	a.sent = a.half.Of(a.track.Tx, a.r.d.Unusual, a.r.log)
	if from := &a.r.from; from.File == "" && from.GTIDs != "" {
		a.batch.Resume = a.track.Position()
	}
	if a.r.c.GTID {
		a.gtids = string(a.track.AppendGTIDs(nil))
	}
}

// ended closes the bookkeeping of a transaction.
func (a *assembler) ended() error {
	a.batch.Transactions++
	if a.sent > 0 && a.row > 0 {
		a.half = half.Transaction{}
	}
	a.row, a.sent, a.txKept, a.gtids = 0, 0, nil, ""
	if a.r.c.Isolate {
		a.last = a.track.Position()
	}
	switch {
	case a.skipped:
		a.skipped, a.applied, a.batch.Skipped = false, false, true
		return a.cut()
	case a.applied || a.batch.Alone:
		// A new stream must not begin before a statement that was applied.
		a.applied = false
		return a.cut()
	case len(a.batch.Changes) == 0:
		return a.save()
	case a.full(a.batch.Bytes-a.txAt[0], len(a.batch.Changes)-a.txAt[1]):
		// Another one of its size would be cut, and a Kafka transaction ends where both end.
		return a.cut()
	}
	return nil
}

// save moves the position over transactions without changes, now and then.
func (a *assembler) save() error {
	if a.batch.Transactions == 0 || time.Since(a.saved) < saveEvery {
		return nil
	}
	return a.cut()
}

// cut queues the open batch, if there is anything in it.
func (a *assembler) cut() error {
	if len(a.batch.Changes) == 0 && a.batch.Transactions == 0 {
		return nil
	}
	if a.batch.Transactions > 0 {
		a.batch.Resume = a.track.Position()
	}
	if a.track.Open {
		a.batch.Rows = max(a.row, a.sent)
	}
	return a.queue()
}

// queue hands the open batch on and opens another.
func (a *assembler) queue() error {
	b := a.batch
	a.count()
	if err := a.r.c.Filter.Err(); err != nil {
		return err
	}
	rows, first, last := 0, time.Time{}, time.Time{}
	for i := range b.Changes {
		rows += b.Changes[i].Rows
	}
	if n := len(b.Changes); n > 0 {
		first, last = time.Unix(b.Changes[0].Time, 0), time.Unix(b.Changes[n-1].Time, 0)
	}
	resume, open := b.Resume, b.Rows
	if open > 0 {
		b.Tx = append([]byte(nil), a.track.Tx...)
	}
	tx := b.Tx
	bytes, transactions, changes := b.Bytes, b.Transactions, len(b.Changes)
	a.r.batches++
	b.ID = a.r.batches
	waited, err := a.r.buf.Put(a.ctx, b)
	if waited > 0 {
		a.r.d.PutBlocked(waited)
	}
	if err != nil {
		return err
	}
	a.r.d.Put(rows, bytes, transactions, changes, first, last)
	if !resume.IsZero() {
		a.r.from, a.saved = resume, time.Now()
	}
	a.r.rows, a.r.tx = open, tx
	a.batch, a.txKept = a.r.buf.Fresh(), nil
	a.txAt[0], a.txAt[1] = a.txAt[0]-bytes, a.txAt[1]-changes
	return nil
}
