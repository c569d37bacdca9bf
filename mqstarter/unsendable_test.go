package mqstarter

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// docs is a batch of one insert into a table of a key and a text, by the bytes
// of the texts; row n has the key n.
func docs(t *testing.T, key bool, kind event.Kind, texts ...int) *event.Batch {
	t.Helper()
	table := &schema.Table{Schema: "shop", Name: "docs", Columns: []schema.Column{bigint("id"), varchar("body")}}
	if key {
		table.PrimaryKey = []int{0}
	}
	l, err := event.NewLayout(table, &replication.TableMapEvent{Schema: []byte("shop"), Table: []byte("docs"), ColumnCount: 2, NullBitmap: []byte{0},
		ColumnType: []byte{mysql.MYSQL_TYPE_LONGLONG, mysql.MYSQL_TYPE_VARCHAR}, ColumnMeta: []uint16{0, 60_000}})
	if err != nil {
		t.Fatal(err)
	}
	c := event.Change{Kind: kind, Layout: l, Schema: "shop", Table: "docs", Rows: len(texts), Present: []byte{3}, PresentAfter: []byte{3},
		Tx: []byte("tx:1"), File: "mysql-bin.000001", Offset: 1234}
	image := func(id, n int) {
		c.Image = append(c.Image, 0, byte(id), 0, 0, 0, 0, 0, 0, 0, byte(n), byte(n>>8))
		c.Image = append(c.Image, strings.Repeat("x", n)...)
	}
	for i, n := range texts {
		if kind == event.Update {
			image(i+1, 0)
		}
		image(i+1, n)
	}
	b := whole(1, "a")
	b.Changes = []event.Change{c}
	return b
}

// oversized runs a term over batches and returns what it sent, its log, and why
// it ended.
func oversized(t *testing.T, policy oversize.Policy, packets bool, batches ...*event.Batch) (sent []message.Message, log string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, batches...)
		f.config.Message = style(t)
		f.config.Oversize, f.config.DeadLetters = policy, "lost"
		if packets {
			f.config.Packets = &PacketConfig{Form: message.Packet{Raw: true}, Bytes: 50 << 10}
		}
		f.producer.limits = map[string]int{"changes": 1400}
		f.producer.auto = func(_ int, done func(error)) { done(nil) }
		f.start(t)
		synctest.Wait()
		for i := range f.producer.sent {
			sent = append(sent, f.producer.sent[i].messages...)
		}
		f.cancel(errLost)
		err, log = f.ended(t), f.log.String()
	})
	return sent, log, err
}

func header(m message.Message, key string) string {
	for _, h := range m.Headers.All() {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// TestOversizeKeyOnly: of a row that is too large, the message shows the key
// alone; its neighbours are whole.
func TestOversizeKeyOnly(t *testing.T) {
	for _, kind := range []event.Kind{event.Insert, event.Update, event.Delete} {
		sent, log, err := oversized(t, oversize.KeyOnly, false, docs(t, true, kind, 5, 9000, 6))
		if err != nil || len(sent) != 3 {
			t.Fatalf("%v: %d messages, %v", kind, len(sent), err)
		}
		for i, want := range []string{`[{"id":"1","body":"xxxxx"}]`, `[{"id":"2"}]`, `[{"id":"3","body":"xxxxxx"}]`} {
			var m struct {
				Data      json.RawMessage
				Old       json.RawMessage
				MySQLType map[string]string
			}
			if err := json.Unmarshal(sent[i].Value, &m); err != nil {
				t.Fatal(err)
			}
			size := header(sent[i], "r-oversize")
			if string(m.Data) != want || len(m.MySQLType) != 2 || (size != "") != (i == 1) || header(sent[i], "r-row") != fmt.Sprint(i) {
				t.Errorf("%v: %s, r-oversize %q", kind, sent[i].Value, size)
			}
			if i == 1 && (string(m.Old) != "null" || len(size) != 4) {
				t.Errorf("%v: old %s, r-oversize %q", kind, m.Old, size)
			}
		}
		if !strings.Contains(log, `done=key-only table=shop.docs key="primary key {\"id\":\"2\"}" bytes=9`) || !strings.Contains(log, "takes=1400") {
			t.Errorf("log: %s", log)
		}
	}
}

// TestOversizeKeyOnlyPackets: the entry has a record of its own.
func TestOversizeKeyOnlyPackets(t *testing.T) {
	for _, kind := range []event.Kind{event.Insert, event.Update, event.Delete} {
		sent, _, err := oversized(t, oversize.KeyOnly, true, docs(t, true, kind, 5, 9000, 6, 7))
		if err != nil || len(sent) != 3 {
			t.Fatalf("%v: %d messages, %v", kind, len(sent), err)
		}
		for i, has := range []bool{false, true, false} {
			if size := header(sent[i], "r-oversize"); (size != "") != has || strings.Contains(string(sent[i].Value), "body") == has {
				t.Errorf("%v: record %d: r-oversize %q, %q", kind, i, size, sent[i].Value)
			}
		}
		if rows := header(sent[0], "r-row") + header(sent[1], "r-row") + header(sent[2], "r-row"); rows != "013" {
			t.Errorf("%v: rows %s", kind, rows)
		}
	}
}

// TestOversizeWithoutKeyStops: nothing could be shown of it. So does a statement.
func TestOversizeWithoutKeyStops(t *testing.T) {
	statement := whole(1, "a")
	statement.Changes[0].SQL = strings.Repeat("x", 3000)
	for _, b := range []*event.Batch{docs(t, false, event.Insert, 9000), statement} {
		for _, packets := range []bool{false, true} {
			clone := *b
			clone.Changes = append([]event.Change(nil), b.Changes...)
			sent, _, err := oversized(t, oversize.KeyOnly, packets, &clone)
			if len(sent) != 0 || !errors.Is(err, oversize.ErrTooLarge) {
				t.Errorf("%d messages, %v", len(sent), err)
			}
		}
	}
}

// TestOversizeDeadLetter: a note stands in its place, in the parcel of its
// neighbours, and nothing of the row but its key is in it.
func TestOversizeDeadLetter(t *testing.T) {
	for _, packets := range []bool{false, true} {
		for _, key := range []bool{true, false} {
			sent, log, err := oversized(t, oversize.DeadLetter, packets, docs(t, key, event.Insert, 5, 9000, 6))
			if err != nil {
				t.Fatal(err)
			}
			var letters, others []message.Message
			for _, m := range sent {
				if m.Topic == "lost" {
					letters = append(letters, m)
				} else {
					others = append(others, m)
				}
			}
			if len(letters) != 1 || len(others) == 0 {
				t.Fatalf("%d letters, %d others", len(letters), len(others))
			}
			text := string(letters[0].Value)
			var l oversize.Letter
			if err := json.Unmarshal(letters[0].Value, &l); err != nil {
				t.Fatal(err)
			}
			wantKey := "null"
			if key {
				wantKey = `{"id":"2"}`
			}
			if l.Destination != "shop" || l.Position != "tx:1" || l.Row != 1 || l.Topic != "changes" || l.Schema != "shop" || l.Table != "docs" ||
				string(l.Key) != wantKey || l.Bytes < 9000 || l.Reason == "" || strings.Contains(text, "xxx") {
				t.Errorf("%s", text)
			}
			if order := []string{`{"destination":`, `"position":`, `"row":`, `"topic":`, `"partition":`, `"schema":`, `"table":`, `"key":`, `"bytes":`, `"reason":`}; !inOrder(text, order) {
				t.Errorf("members: %s", text)
			}
			if header(letters[0], "r-row") != "1" || header(letters[0], "r-pos") != "tx:1" {
				t.Errorf("headers: %s", letters[0].Headers.All())
			}
			if !strings.Contains(log, "done=dead-letter table=shop.docs") {
				t.Errorf("log: %s", log)
			}
		}
	}
}

func inOrder(text string, parts []string) bool {
	for _, p := range parts {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}

// TestOversizeDeadLetterOfAStatement has no key.
func TestOversizeDeadLetterOfAStatement(t *testing.T) {
	b := whole(1, "a")
	b.Changes[0].SQL = strings.Repeat("x", 3000)
	sent, _, err := oversized(t, oversize.DeadLetter, false, b)
	if err != nil || len(sent) != 1 || sent[0].Topic != "lost" || !strings.Contains(string(sent[0].Value), `"key":null`) {
		t.Errorf("%v, %v", sent, err)
	}
}

// TestOversizeKeyTooLarge stops also when only the key is to be shown.
func TestOversizeKeyTooLarge(t *testing.T) {
	b := docs(t, true, event.Insert, 9000)
	b.Changes[0].Layout.Table.PrimaryKey = []int{1}
	sent, _, err := oversized(t, oversize.KeyOnly, false, b)
	if len(sent) != 0 || !errors.Is(err, oversize.ErrTooLarge) || len(err.Error()) > 1000 {
		t.Errorf("%d messages, %v", len(sent), err)
	}
}
