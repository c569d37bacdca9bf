package parse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/klauspost/compress/zstd"
)

const recorded = "../../testdata/compressed.mysql"

// split cuts a binlog file into events.
func split(t testing.TB, path string) (events [][]byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[4:]; len(b) > 0; {
		n := binary.LittleEndian.Uint32(b[9:])
		events = append(events, b[:n])
		b = b[n:]
	}
	return events
}

// formatted is a parser that has read a format event of MySQL's.
func formatted(t testing.TB) *Parser {
	t.Helper()
	p := New(mysql.MySQLFlavor)
	if _, err := p.Parse(split(t, recorded)[0]); err != nil {
		t.Fatal(err)
	}
	return p
}

// wrap makes an event; only those of a file have a checksum.
func wrap(kind replication.EventType, body []byte, checksum bool) []byte {
	size := replication.EventHeaderSize + len(body)
	if checksum {
		size += replication.BinlogChecksumLength
	}
	e := make([]byte, replication.EventHeaderSize, size)
	e[4] = byte(kind)
	binary.LittleEndian.PutUint32(e[9:], uint32(size))
	e = append(e, body...)
	if checksum {
		e = binary.LittleEndian.AppendUint32(e, crc32.ChecksumIEEE(e))
	}
	return e
}

// payload makes the event of a compressed transaction; method is as stored.
func payload(method []byte, body []byte) []byte {
	fields := append([]byte{replication.OTW_PAYLOAD_COMPRESSION_TYPE_FIELD, byte(len(method))}, method...)
	return wrap(replication.TRANSACTION_PAYLOAD_EVENT, append(append(fields, replication.OTW_PAYLOAD_HEADER_END_MARK), body...), true)
}

func rowsQuery(text string) []byte {
	return wrap(replication.ROWS_QUERY_EVENT, append([]byte{byte(len(text))}, text...), false)
}

// types are the types of a payload's events, and what Events returned.
func types(t testing.TB, p *Parser, raw []byte) (kinds []replication.EventType, err error) {
	t.Helper()
	e, err := p.Parse(raw)
	if err != nil {
		return nil, err
	}
	return kinds, e.Event.(*Payload).Events(func(e *replication.BinlogEvent) error {
		kinds = append(kinds, e.Header.EventType)
		return nil
	})
}

// The events of a server's payloads are those that go-mysql finds there.
func TestPayload(t *testing.T) {
	p, theirs := New(mysql.MySQLFlavor), replication.NewBinlogParser()
	payloads := 0
	for _, raw := range split(t, recorded) {
		want, err := theirs.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := want.Event.(*replication.TransactionPayloadEvent)
		if !ok {
			continue
		}
		payloads++
		for range 2 { // it may be read again
			i := 0
			err := got.Event.(*Payload).Events(func(e *replication.BinlogEvent) error {
				if i >= len(w.Events) || !bytes.Equal(e.RawData, w.Events[i].RawData) || e.Header.EventType != w.Events[i].Header.EventType {
					t.Errorf("event %d is %v", i, e.Header.EventType)
				}
				i++
				return nil
			})
			if err != nil || i != len(w.Events) {
				t.Errorf("%d events of %d, %v", i, len(w.Events), err)
			}
		}
	}
	if payloads == 0 {
		t.Error("no payload")
	}
}

// A server writes a payload that it could not compress as it is.
func TestPayloadNotCompressed(t *testing.T) {
	kinds, err := types(t, formatted(t), payload([]byte{252, 255, 0}, append(rowsQuery("a"), rowsQuery("b")...)))
	if err != nil || len(kinds) != 2 || kinds[1] != replication.ROWS_QUERY_EVENT {
		t.Errorf("%v, %v", kinds, err)
	}
}

func TestPayloadBroken(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	sound := z.EncodeAll(rowsQuery("text"), nil)
	flipped := payload([]byte{0}, sound)
	flipped[30] ^= 1
	tiny := rowsQuery("a")
	tiny[9] = 3
	for name, c := range map[string]struct {
		raw  []byte
		says string
	}{
		"checksum":     {flipped, "checksum"},
		"method":       {payload([]byte{7}, sound), "compression type 7"},
		"fields":       {wrap(replication.TRANSACTION_PAYLOAD_EVENT, []byte{1, 9, 1}, true), "ends in its fields"},
		"no fields":    {wrap(replication.TRANSACTION_PAYLOAD_EVENT, nil, true), "ends in its fields"},
		"no zstd":      {payload([]byte{0}, []byte("no stream of it")), "inflate"},
		"stream cut":   {payload([]byte{0}, sound[:len(sound)-3]), "inflate"},
		"event cut":    {payload([]byte{0}, z.EncodeAll(rowsQuery("text")[:22], nil)), "inflate"},
		"small size":   {payload([]byte{0}, z.EncodeAll(tiny, nil)), "an event of 3 bytes"},
		"unknown type": {payload([]byte{0}, z.EncodeAll(wrap(99, []byte("x"), false), nil)), "99"},
	} {
		kinds, err := types(t, formatted(t), c.raw)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, kinds, err)
		}
	}
	if _, err := New(mysql.MySQLFlavor).Parse(payload([]byte{0}, sound)); !errors.Is(err, ErrFormat) {
		t.Errorf("no format event: %v", err)
	}
	// What the taker says ends it, and the parser goes on.
	p, stop := formatted(t), errors.New("stop")
	e, err := p.Parse(payload([]byte{0}, sound))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Event.(*Payload).Events(func(*replication.BinlogEvent) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if kinds, err := types(t, p, payload([]byte{0}, sound)); err != nil || len(kinds) != 1 {
		t.Errorf("after it: %v, %v", kinds, err)
	}
}

// A transaction of 150 MiB is never held whole.
func TestPayloadInPieces(t *testing.T) {
	const events, most = 19200, 24 << 20
	one := wrap(replication.ROWS_QUERY_EVENT, append([]byte{0}, strings.Repeat("y", 8<<10)...), false)
	var body bytes.Buffer
	z, err := zstd.NewWriter(&body)
	if err != nil {
		t.Fatal(err)
	}
	for range events {
		if _, err := z.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p := formatted(t)
	e, err := p.Parse(payload([]byte{0}, body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, peak := 0, uint64(0)
	err = e.Event.(*Payload).Events(func(e *replication.BinlogEvent) error {
		if n++; n%3000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc-min(before.HeapAlloc, now.HeapAlloc))
		}
		return nil
	})
	if err != nil || n != events || peak > most {
		t.Errorf("%d events, %v, %d bytes held", n, err, peak)
	}
}

// A list of GTIDs, or a statement, that says it is larger than it can be takes no memory.
func TestUnbelievable(t *testing.T) {
	for name, c := range map[string]struct {
		kind replication.EventType
		body []byte
	}{
		"GTIDs":     {replication.MARIADB_GTID_LIST_EVENT, []byte{0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0}},
		"statement": {replication.MARIADB_QUERY_COMPRESSED_EVENT, append(make([]byte, 14), 0x84, 0x7f, 0xff, 0xff, 0xff, 0x78, 0x9c)},
	} {
		p := formatted(t)
		p.SetFlavor(mysql.MariaDBFlavor)
		raw := append(make([]byte, replication.EventHeaderSize), c.body...)
		raw[4] = byte(c.kind)
		binary.LittleEndian.PutUint32(raw[9:], uint32(len(raw)+4))
		raw = binary.LittleEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := p.Parse(raw); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 1<<20 {
			t.Errorf("%s: %d bytes were taken", name, after.TotalAlloc-before.TotalAlloc)
		}
	}
}

// Whatever the bytes of either server: no panic, no reading outside.
func FuzzParse(f *testing.F) {
	for _, raw := range split(f, recorded) {
		f.Add(raw, false)
		f.Add(raw, true)
	}
	for t := replication.MARIADB_ANNOTATE_ROWS_EVENT; t <= replication.MARIADB_DELETE_ROWS_COMPRESSED_EVENT_V1; t++ {
		for _, raw := range split(f, recorded) {
			raw = bytes.Clone(raw)
			raw[4] = byte(t)
			f.Add(raw, true)
		}
	}
	format := split(f, recorded)[0]
	f.Fuzz(func(t *testing.T, raw []byte, mariaDB bool) {
		if len(raw) > 1<<16 {
			return
		}
		p := New(mysql.MySQLFlavor)
		if mariaDB {
			p.SetFlavor(mysql.MariaDBFlavor)
		}
		if _, err := p.Parse(format); err != nil {
			t.Fatal(err)
		}
		if len(raw) > replication.EventHeaderSize+4 { // else hardly one is let in
			raw = raw[:len(raw):len(raw)]
			binary.LittleEndian.PutUint32(raw[len(raw)-4:], crc32.ChecksumIEEE(raw[:len(raw)-4]))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e, err := p.Parse(raw)
		if err == nil {
			if payload, ok := e.Event.(*Payload); ok {
				_ = payload.Events(func(*replication.BinlogEvent) error { return nil })
			} else if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > uint64(1<<24+1000*len(raw)) {
				t.Errorf("%d bytes were taken for an event of %d", after.TotalAlloc-before.TotalAlloc, len(raw))
			}
		}
	})
}

// TestPayloadsOfTen, case ML-02: ten destinations inflate at once what was compressed over a large window, as level 22 does.
// Each holds its window and little more, and all of that is let go of.
func TestPayloadsOfTen(t *testing.T) {
	const destinations, window, content, more = 10, 16 << 20, 40 << 20, 2 << 20
	one := wrap(replication.ROWS_QUERY_EVENT, append([]byte{0}, strings.Repeat("y", 64<<10)...), false)
	var body bytes.Buffer
	z, err := zstd.NewWriter(&body, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	events := content / len(one)
	for range events {
		if _, err := z.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	raw := payload([]byte{0}, body.Bytes())
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	var all, halfway sync.WaitGroup
	halfway.Add(destinations)
	measured := make(chan struct{})
	parsers := make([]*Parser, destinations)
	for i := range parsers {
		parsers[i] = formatted(t)
		all.Go(func() {
			there := sync.OnceFunc(halfway.Done)
			defer there()
			e, err := parsers[i].Parse(raw)
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			err = e.Event.(*Payload).Events(func(*replication.BinlogEvent) error {
				if n++; n == events/2 {
					there()
					<-measured
				}
				return nil
			})
			if err != nil || n != events {
				t.Errorf("%d events of %d, %v", n, events, err)
			}
		})
	}
	halfway.Wait()
	if now, most := held()-before, int64(destinations*(window+more)); now > most {
		t.Errorf("%d bytes held at a time, want %d at most", now, most)
	}
	close(measured)
	all.Wait()
	if left := held() - before; left > more {
		t.Errorf("%d bytes held at the end", left)
	}
	runtime.KeepAlive(parsers)
}
