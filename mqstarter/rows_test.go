package mqstarter

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// wide is a table of an INT key, bigints, dates, decimals and texts: 12 columns.
var wide = []struct {
	schema.Column
	wire byte
	meta uint16
	raw  []byte // a value as it stands in an image
}{
	{schema.Column{Name: "id", Type: "int", Base: "int", Key: true}, mysql.MYSQL_TYPE_LONG, 0, []byte{0, 0, 0, 0}},
	{bigint("customer"), mysql.MYSQL_TYPE_LONGLONG, 0, binary.LittleEndian.AppendUint64(nil, 8839201)},
	{bigint("product"), mysql.MYSQL_TYPE_LONGLONG, 0, binary.LittleEndian.AppendUint64(nil, 77123)},
	{varchar("name"), mysql.MYSQL_TYPE_VARCHAR, 255, text("a name of some length")},
	{varchar("mail"), mysql.MYSQL_TYPE_VARCHAR, 255, text("somebody@example.org")},
	{varchar("street"), mysql.MYSQL_TYPE_VARCHAR, 255, text("12 Long Street, Springfield")},
	{varchar("note"), mysql.MYSQL_TYPE_VARCHAR, 255, text("nothing of note to be said about it")},
	{varchar("state"), mysql.MYSQL_TYPE_VARCHAR, 255, text("shipped")},
	{bigint("amount"), mysql.MYSQL_TYPE_LONGLONG, 0, binary.LittleEndian.AppendUint64(nil, 1999)},
	{schema.Column{Name: "price", Type: "decimal(10,2)", Base: "decimal"}, mysql.MYSQL_TYPE_NEWDECIMAL, 10<<8 | 2, []byte{0x80, 0, 0, 19, 99}},
	{schema.Column{Name: "created", Type: "datetime", Base: "datetime"}, mysql.MYSQL_TYPE_DATETIME2, 0, []byte{0x99, 0xb5, 0x56, 0xc8, 0xe5}},
	{schema.Column{Name: "changed", Type: "datetime", Base: "datetime"}, mysql.MYSQL_TYPE_DATETIME2, 0, []byte{0x99, 0xb5, 0x56, 0xc8, 0xe5}},
}

func bigint(name string) schema.Column {
	return schema.Column{Name: name, Type: "bigint", Base: "bigint"}
}

func varchar(name string) schema.Column {
	return schema.Column{Name: name, Type: "varchar(64)", Base: "varchar", Charset: "utf8mb4"}
}

func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// layout is that of the first n columns of wide.
func layout(t testing.TB, name string, n int) *event.Layout {
	t.Helper()
	table := &schema.Table{Schema: "shop", Name: name, PrimaryKey: []int{0}}
	m := &replication.TableMapEvent{Schema: []byte("shop"), Table: []byte(name), ColumnCount: uint64(n), NullBitmap: make([]byte, (n+7)/8)}
	for _, c := range wide[:n] {
		table.Columns = append(table.Columns, c.Column)
		m.ColumnType = append(m.ColumnType, c.wire)
		m.ColumnMeta = append(m.ColumnMeta, c.meta)
	}
	l, err := event.NewLayout(table, m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rows is an insert of rows with these keys.
func rows(l *event.Layout, keys ...uint32) event.Change {
	n := len(l.Columns)
	c := event.Change{
		Kind: event.Insert, Layout: l, Schema: "shop", Table: l.Table.Name, Time: 1700000000, Rows: len(keys),
		Tx: []byte("tx"), File: "mysql-bin.000001", Offset: 1234,
	}
	for i := range n {
		if i%8 == 0 {
			c.Present = append(c.Present, 0)
		}
		c.Present[i/8] |= 1 << (i % 8)
	}
	for _, key := range keys {
		c.Image = append(c.Image, make([]byte, (n+7)/8)...)
		c.Image = binary.LittleEndian.AppendUint32(c.Image, key)
		for _, column := range wide[1:n] {
			c.Image = append(c.Image, column.raw...)
		}
	}
	return c
}

func style(t testing.TB) message.Config {
	t.Helper()
	s, err := event.NewStyle(nil, false, "")
	if err != nil {
		t.Fatal(err)
	}
	return message.Config{Style: s}
}

// describe shows what the producer got, a line a message: partition, r-row, ids.
func describe(t *testing.T, messages []message.Message) string {
	t.Helper()
	var all []string
	for _, m := range messages {
		var v struct{ Data []map[string]string }
		if err := json.Unmarshal(m.Value, &v); err != nil {
			t.Fatalf("%v: %s", err, m.Value)
		}
		var ids []string
		for _, row := range v.Data {
			ids = append(ids, row["id"])
		}
		all = append(all, fmt.Sprintf("%s/%d row %s: %s", m.Topic, m.Partition, m.Headers.All()[2].Value, strings.Join(ids, ",")))
	}
	return strings.Join(all, "\n")
}

func TestRowsAreSpreadOverPartitions(t *testing.T) {
	three := int32(3)
	router, err := route.New(route.Config{
		Topic: "changes", DynamicTopic: `items:shop\.items`, PartitionsNum: &three,
		PartitionHash: `shop\.orders:$pk$,shop\.items:name`,
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		orders, items, other := layout(t, "orders", 4), layout(t, "items", 4), layout(t, "other", 4)
		b := whole(1, "a")
		ddl := b.Changes[0]
		ddl.Row = 8
		second := rows(items, 1, 2)
		second.Row = 4
		third := rows(other, 9, 8)
		third.Row = 6
		// "1" hashes to 49: 49 mod 3 is 1; so 3 is 0 and 2 is 2, and 4 is 52: 1 again.
		b.Changes = []event.Change{rows(orders, 1, 3, 2, 4), second, third, ddl}
		f := newFixture(t, b)
		f.config.Router, f.config.Message = router, style(t)
		f.start(t)
		synctest.Wait()
		name := route.Partition(route.Hash("a name of some length"), 3)
		want(t, "messages", describe(t, f.producer.sent[0].messages), fmt.Sprintf("changes/0 row 1: 3\nchanges/1 row 3: 1,4\nchanges/2 row 2: 2\n"+
			"items/%d row 5: 1,2\nchanges/0 row 7: 9,8\nchanges/0 row 8: ", name))
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestOversizeEventIsSplitByRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		b.Changes = []event.Change{rows(layout(t, "orders", 12), 1, 2, 3)}
		f := newFixture(t, b)
		f.config.Message = style(t)
		f.producer.limits = map[string]int{"changes": 1400}
		f.start(t)
		synctest.Wait()
		want(t, "messages", describe(t, f.producer.sent[0].messages), "changes/0 row 0: 1\nchanges/0 row 1: 2\nchanges/0 row 2: 3")
		f.cancel(errLost)
		f.ended(t)
	})
}

func TestOversizeRowNamesItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := whole(1, "a")
		b.Changes = []event.Change{rows(layout(t, "orders", 12), 1, 271828)}
		f := newFixture(t, b)
		f.config.Message = style(t)
		f.producer.limits = map[string]int{"changes": 500}
		f.start(t)
		err := f.ended(t)
		if !errors.Is(err, oversize.ErrTooLarge) || !strings.Contains(err.Error(), `primary key {"id":"1"}`) ||
			!strings.Contains(err.Error(), "shop.orders at mysql-bin.000001:1234") {
			t.Errorf("got %v", err)
		}
		want(t, "sent", f.producer.count(), 0)
		want(t, "saved", f.cursor.list(), "")
	})
}

func TestUndecodableRowEndsTheTermBehindWhatCameBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := whole(2, "b")
		c := rows(layout(t, "orders", 12), 1)
		c.Image = c.Image[:20]
		bad.Changes = []event.Change{c}
		f := newFixture(t, whole(1, "a"), bad)
		f.config.Message = style(t)
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		f.start(t)
		err := f.ended(t)
		if err == nil || !strings.Contains(err.Error(), "shop.orders at mysql-bin.000001:1234") {
			t.Errorf("got %v", err)
		}
		want(t, "saved", f.cursor.list(), "a")
	})
}

// endless yields the same batch forever.
type endless struct {
	changes []event.Change
	bytes   int
	left    int
	free    chan *event.Batch
	id      uint64
}

func (e *endless) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (e *endless) Next(ctx context.Context) (*event.Batch, error) {
	if e.left == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e.left--
	var b *event.Batch
	select {
	case b = <-e.free:
	default:
		b = &event.Batch{}
	}
	e.id++
	*b = event.Batch{ID: e.id, Changes: append(b.Changes[:0], e.changes...), Bytes: e.bytes, Resume: position.Position{File: "x", Offset: e.id}}
	return b, nil
}

func (e *endless) Release(b *event.Batch) {
	select {
	case e.free <- b:
	default:
	}
}

// discard acknowledges everything at once.
type discard struct{}

func (discard) Claim(context.Context, int64) (position.Resume, error) {
	return position.Resume{}, position.ErrNone
}

func (discard) Send(_ context.Context, _ *message.Parcel, done func(error)) { done(nil) }

func (discard) Close(context.Context) error { return nil }

// BenchmarkBuild turns row events of a 12-column table into messages: what a
// term costs besides reading and producing. An event has 45 rows as MySQL
// writes them (8 KB), or one.
func BenchmarkBuild(b *testing.B) {
	for _, each := range []int{45, 1} {
		for _, hash := range []string{"", `.*\..*:$pk$`} {
			b.Run(fmt.Sprintf("rows=%d/hash=%t", each, hash != ""), func(b *testing.B) {
				benchmark(b, each, hash, func() (Producer, error) { return &discard{}, nil })
			})
		}
	}
}

// benchmark runs a term over b.N rows, so many an event, until all is acknowledged.
func benchmark(b *testing.B, each int, hash string, dial func() (Producer, error)) {
	twelve := int32(12)
	router, err := route.New(route.Config{Topic: "mqstarter-bench", PartitionHash: hash, PartitionsNum: &twelve})
	if err != nil {
		b.Fatal(err)
	}
	inBatch := 1440 // rows: 256 KiB of binlog
	if each == 1 {
		inBatch = 540 // with the events of a transaction around each
	}
	l := layout(b, "orders", 12)
	source := &endless{free: make(chan *event.Batch, 64)}
	var keys []uint32
	for i := range each {
		keys = append(keys, uint32(i*7919))
	}
	for range inBatch / each {
		source.changes = append(source.changes, rows(l, keys...))
		source.bytes += len(source.changes[0].Image)
	}
	batches := b.N/inBatch + 1
	source.left = batches
	c := DefaultConfig()
	c.Destination, c.Router, c.Message = "bench", router, style(b)
	out := &last{left: batches, all: make(chan struct{})}
	wrapped := func() (Producer, error) {
		p, err := dial()
		out.Producer = p
		return out, err
	}
	s := New(c, nil, func(position.Resume) (Source, error) { return source, nil }, wrapped, nil, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancelCause(b.Context())
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, 1) }()
	<-out.all
	b.StopTimer()
	n := float64(batches * inBatch)
	b.ReportMetric(n/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(cpuTime()-cpu)/n, "cpu-ns/row")
	cancel(errLost)
	<-ended
}

// cpuTime is what the process has used, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// last tells when the last parcel is acknowledged.
type last struct {
	Producer
	left int
	all  chan struct{}
}

func (l *last) Send(ctx context.Context, p *message.Parcel, done func(error)) {
	l.left--
	end := l.left == 0
	l.Producer.Send(ctx, p, func(err error) {
		if err != nil {
			panic(err)
		}
		done(nil)
		if end {
			close(l.all)
		}
	})
}
