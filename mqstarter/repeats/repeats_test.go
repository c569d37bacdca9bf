package repeats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/position"
)

const uuid = "6be1439e-ecaa-11f1-aa2a-02fc00000001"

// ends is what the places end with.
type ends map[message.Place]message.Tail

func (e ends) Tails(_ context.Context, destination string, places []message.Place) []message.Tail {
	tails := make([]message.Tail, len(places))
	for i, p := range places {
		tails[i] = e[p]
	}
	return tails
}

func tail(tx string, row uint64) message.Tail {
	return message.Tail{Found: true, Tx: tx, Row: row, Epoch: 5}
}

// flat is a record of partition 0 of a topic.
func flat(tx string, row uint64) message.Message {
	o := message.NewOrigin("shop", 6)
	return message.Message{Topic: "changes", Value: fmt.Appendf(nil, "%s#%d", tx, row),
		Headers: o.Headers([]byte(tx), fmt.Append(nil, row))}
}

func in(partition int32, m message.Message) message.Message {
	m.Partition = partition
	return m
}

func file(offset uint64) string { return fmt.Sprintf("binlog.000002:%d@%s", offset, uuid) }

func gtid(n int) string { return fmt.Sprintf("%s:%d", uuid, n) }

func set(n int) string { return fmt.Sprintf("%s:1-%d", uuid, n) }

func at(offset uint64) position.Position {
	return position.Position{File: "binlog.000002", Offset: offset, ServerUUID: uuid}
}

// left runs parcels through a Filter and shows what is left of them.
func left(t *testing.T, c Config, e ends, parcels ...*message.Parcel) (all []string, log string) {
	t.Helper()
	var b strings.Builder
	c.Destination, c.Epoch, c.Headers, c.Routing, c.Saved.Routing = "shop", 6, true, "r", "r"
	f := New(c, e, nil, slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn})))
	for i, p := range parcels {
		f.Drop(t.Context(), p, uint64(i+1))
		for _, m := range p.Messages {
			text := string(m.Value)
			if m.Partition > 0 {
				text = fmt.Sprintf("%d/%s", m.Partition, text)
			}
			all = append(all, strings.NewReplacer("binlog.000002:", "", "@"+uuid, "", uuid+":", "g").Replace(text))
		}
	}
	return all, b.String()
}

func parcel(resume position.Position, messages ...message.Message) *message.Parcel {
	return &message.Parcel{Messages: messages, Resume: resume}
}

func endsAt(p position.Position) func(context.Context) (position.Position, error) {
	return func(context.Context) (position.Position, error) { return p, nil }
}

// TestWhatReadersHaveIsTakenOut: each rule for one place.
func TestWhatReadersHaveIsTakenOut(t *testing.T) {
	byFile := func() []*message.Parcel {
		return []*message.Parcel{
			parcel(at(150), flat(file(100), 0), flat(file(100), 1)),
			parcel(at(250), flat(file(200), 0), flat(file(200), 4)),
			parcel(at(350), flat(file(300), 0)),
		}
	}
	byGTID := func() []*message.Parcel {
		var all []*message.Parcel
		for i, p := range byFile() {
			for j := range p.Messages {
				m := flat(gtid(11+i), uint64(j))
				p.Messages[j] = m
			}
			p.Resume.GTIDs = set(11 + i)
			all = append(all, p)
		}
		return all
	}
	gtids := func(n int) position.Position { p := at(100); p.GTIDs = set(n); return p }
	none := position.Position{}
	tests := []struct {
		name    string
		parcels []*message.Parcel
		tail    message.Tail
		from    position.Position
		end     position.Position
		want    string
		warning string
	}{
		{"met in the middle of a transaction", byFile(), tail(file(200), 0), at(90), at(900), "200#4 300#0", ""},
		{"met at the end of a transaction", byFile(), tail(file(200), 4), at(90), at(900), "300#0", ""},
		{"covered by the cursor", byFile(), tail(file(80), 0), at(90), at(900), "100#0 100#1 200#0 200#4 300#0", ""},
		{"the next transaction is not covered", byFile(), tail(file(100), 0), at(100), at(900), "100#1 200#0 200#4 300#0", ""},
		{"a row that does not come any more", byFile(), tail(file(200), 2), at(90), at(900), "200#4 300#0", "passed without meeting it"},
		{"a transaction that does not come any more", byFile(), tail(file(150), 0), at(90), at(900), "200#0 200#4 300#0", "passed without meeting it"},
		{"a binlog that is shorter", byFile(), tail(file(200), 0), at(90), at(150), "100#0 100#1 200#0 200#4 300#0", "does not hold the last record"},
		{"another server", byFile(), tail("binlog.000002:200@another", 0), at(90), at(900), "100#0 100#1 200#0 200#4 300#0", "of another server"},
		{"nothing was written", byFile(), message.Tail{Empty: true}, at(90), at(900), "100#0 100#1 200#0 200#4 300#0", ""},
		{"not found", byFile(), message.Tail{}, at(90), at(900), "100#0 100#1 200#0 200#4 300#0", ""},
		{"not allowed to read", byFile(), message.Tail{Err: errors.New("no access")}, at(90), at(900), "100#0 100#1 200#0 200#4 300#0", "no access"},
		{"a later owner's", byFile(), message.Tail{Found: true, Tx: file(200), Epoch: 7}, at(90), at(900), "100#0 100#1 200#0 200#4 300#0", "later owner"},
		{"before the position was moved", byFile(), message.Tail{Found: true, Tx: file(200), Epoch: 3}, at(90), at(900), "100#0 100#1 200#0 200#4 300#0", ""},

		{"GTID met", byGTID(), tail(gtid(12), 0), gtids(10), gtids(99), "g12#1 g13#0", ""},
		{"GTID met at its end", byGTID(), tail(gtid(12), 1), gtids(10), gtids(99), "g13#0", ""},
		{"GTID covered", byGTID(), tail(gtid(9), 0), gtids(10), gtids(99), "g11#0 g11#1 g12#0 g12#1 g13#0", ""},
		{"GTID that the source does not have", byGTID(), tail(gtid(12), 0), gtids(10), gtids(11), "g11#0 g11#1 g12#0 g12#1 g13#0", "does not hold"},
		{"GTID of another source", byGTID(), tail("7be1439e-ecaa-11f1-aa2a-02fc00000001:5", 0), gtids(10), gtids(99), "g11#0 g11#1 g12#0 g12#1 g13#0", "does not hold"},
		{"GTID executed without a record", byGTID(), tail(gtid(12), 7), gtids(10), gtids(99), "g12#0 g12#1 g13#0", "passed without meeting it"},
		{"GTID and no set to compare", byGTID(), tail(gtid(12), 0), none, gtids(99), "g11#0 g11#1 g12#0 g12#1 g13#0", "cannot be compared"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{From: tt.from, End: endsAt(tt.end), Saved: position.Saved{Since: 4}}
			got, log := left(t, c, ends{{Topic: "changes"}: tt.tail}, tt.parcels...)
			if strings.Join(got, " ") != tt.want {
				t.Errorf("left %v, want %s", got, tt.want)
			}
			if tt.warning == "" && log != "" || !strings.Contains(log, tt.warning) {
				t.Errorf("want the warning %q, got %s", tt.warning, log)
			}
		})
	}
}

// TestGTIDsOutOfOrder: GTIDs are only met: a smaller number behind a larger one
// is a record as any other.
func TestGTIDsOutOfOrder(t *testing.T) {
	from, end := at(90), at(900)
	from.GTIDs, end.GTIDs = set(10), set(99)
	resume := at(200)
	resume.GTIDs = uuid + ":1-11:13-14"
	got, log := left(t, Config{From: from, End: endsAt(end)}, ends{{Topic: "changes"}: tail(gtid(12), 0)},
		parcel(resume, flat(gtid(14), 0), flat(gtid(11), 0), flat(gtid(13), 0)),
		parcel(end, flat(gtid(12), 0), flat(gtid(15), 0)))
	if want := []string{"g15#0"}; !slices.Equal(got, want) || log != "" {
		t.Errorf("left %v, %s, want %v", got, log, want)
	}
}

// TestMariaDBDomainPassed: whichever server writes the next number of a domain,
// the mark is passed.
func TestMariaDBDomainPassed(t *testing.T) {
	gtids := func(s string) position.Position { return position.Position{GTIDs: s} }
	got, log := left(t, Config{From: gtids("0-2-3,1-9-70"), End: endsAt(gtids("0-2-9,0-3-6,1-9-80"))}, ends{{Topic: "changes"}: tail("0-2-5", 0)},
		parcel(gtids("0-2-4,1-9-71"), flat("0-2-4", 0), flat("1-9-71", 0)),
		parcel(gtids("0-3-6,1-9-71"), flat("0-3-6", 0)))
	if want := []string{"0-3-6#0"}; !slices.Equal(got, want) || !strings.Contains(log, "passed without meeting it") {
		t.Errorf("left %v, %s, want %v", got, log, want)
	}
}

// TestMariaDBAnotherServerWentOn: a source that was promoted without the last transactions of the one before numbers its own from
// where it stood. None of them is taken for one that readers have, however far it has come.
func TestMariaDBAnotherServerWentOn(t *testing.T) {
	gtids := func(s string) position.Position { return position.Position{GTIDs: s} }
	got, log := left(t, Config{From: gtids("0-1-89"), End: endsAt(gtids("0-1-90,0-2-120"))}, ends{{Topic: "changes"}: tail("0-1-100", 0)},
		parcel(gtids("0-2-91"), flat("0-1-90", 0), flat("0-2-91", 0)),
		parcel(gtids("0-2-101"), flat("0-2-100", 0), flat("0-2-101", 0)))
	if want := []string{"0-1-90#0", "0-2-91#0", "0-2-100#0", "0-2-101#0"}; !slices.Equal(got, want) || !strings.Contains(log, "does not hold the last record") {
		t.Errorf("left %v, %s, want %v", got, log, want)
	}
}

// TestPlacesAreLookedAtOnce: each at its first record, and settled by itself.
func TestPlacesAreLookedAtOnce(t *testing.T) {
	asked := 0
	e := ends{{Topic: "changes", Partition: 1}: tail(file(200), 0), {Topic: "changes", Partition: 2}: tail(file(100), 0)}
	scan := scanner(func(places []message.Place) []message.Tail {
		asked += len(places)
		return e.Tails(t.Context(), "", places)
	})
	f := New(Config{Headers: true, Routing: "r", Saved: position.Saved{Routing: "r"}, Destination: "shop", Epoch: 6, From: at(90), End: endsAt(at(900))}, scan, nil, slog.New(slog.DiscardHandler))
	var got []string
	for id := range 3 {
		p := parcel(at(uint64(id)), in(1, flat(file(100), 0)), in(2, flat(file(100), 0)), in(1, flat(file(200), 0)), in(2, flat(file(200), 0)))
		if id > 0 {
			p = parcel(at(900), in(2, flat(file(300), 0)), in(3, flat(file(300), 0)))
		}
		f.Drop(t.Context(), p, 1)
		for _, m := range p.Messages {
			got = append(got, fmt.Sprintf("%d:%s", m.Partition, strings.TrimPrefix(string(m.Value), "binlog.000002:")[:3]))
		}
	}
	if want := "[2:200 2:300 3:300 2:300 3:300]"; fmt.Sprint(got) != want || asked != 3 {
		t.Errorf("left %v, %d places asked; want %s, 3", got, asked, want)
	}
}

type scanner func([]message.Place) []message.Tail

func (s scanner) Tails(_ context.Context, _ string, places []message.Place) []message.Tail {
	return s(places)
}

// TestStaticHistory: without an election epochs are all 0, and times tell what
// was written before the position was moved.
func TestStaticHistory(t *testing.T) {
	moved := time.Unix(1_790_000_000, 0)
	for _, tt := range []struct {
		written time.Time
		want    int
	}{{moved.Add(-time.Second), 1}, {moved.Add(time.Second), 0}} {
		last := tail(file(100), 0)
		last.Epoch, last.Time = 0, tt.written
		got, _ := left(t, Config{From: at(90), End: endsAt(at(900)), Saved: position.Saved{SinceAt: moved}}, ends{{Topic: "changes"}: last}, parcel(at(150), flat(file(100), 0)))
		if len(got) != tt.want {
			t.Errorf("written %v: left %v", tt.written, got)
		}
	}
}

// TestEntriesAreTakenOut: of a protobuf record in which the mark stands, the
// entries behind it are left, under the same headers.
func TestEntriesAreTakenOut(t *testing.T) {
	for _, form := range []message.Packet{{}, {Raw: true}} {
		frames := []string{frame(1), frame(2), frame(2), frame(3)} // begin, two rows, end
		value := form.AppendPacket(nil, 1, len(strings.Join(frames, "")))
		entries := make([]message.Entry, 0, 4)
		for i, fr := range frames {
			value = append(value, fr...)
			entries = append(entries, message.Entry{End: len(value), Tx: []byte(file(100)), Row: []uint64{0, 0, 1, 1}[i], Kind: []event.Kind{event.Begin, 0, 0, event.End}[i]})
		}
		whole := func(n int) []byte {
			rest := strings.Join(frames[n:], "")
			return append(form.AppendPacket(nil, 1, len(rest)), rest...)
		}
		upTo := func(n int) []byte {
			part := strings.Join(frames[:n], "")
			return append(form.AppendPacket(nil, 77, len(part)), part...)
		}
		for n := 1; n <= 4; n++ {
			last := tail(file(100), entries[n-1].Row)
			last.Value = upTo(n)
			m := flat(file(100), 1)
			m.Value, m.Entries = slices.Clone(value), entries
			p := parcel(at(150), m)
			f := New(Config{Headers: true, Routing: "r", Saved: position.Saved{Routing: "r"}, Destination: "shop", Epoch: 6, From: at(90), End: endsAt(at(900)), Form: form}, ends{{Topic: "changes"}: last}, nil, slog.New(slog.DiscardHandler))
			f.Drop(t.Context(), p, 1)
			if n == 4 {
				if len(p.Messages) != 0 {
					t.Errorf("%v, all: %q", form, p.Messages[0].Value)
				}
				continue
			}
			if len(p.Messages) != 1 || string(p.Messages[0].Value) != string(whole(n)) {
				t.Errorf("%v, %d entries: left %+v, want %q", form, n, p.Messages, whole(n))
			}
		}
	}
}

// frame is an entry of a type as it stands in a record.
func frame(kind byte) string {
	return string([]byte{0x12, 6, 0x0a, 2, 0x08, 1, 0x10, kind})
}

// BenchmarkSettled: what a settled place costs for a record.
func BenchmarkSettled(b *testing.B) {
	f := New(Config{Headers: true, Routing: "r", Saved: position.Saved{Routing: "r"}, Destination: "shop", Epoch: 6, From: at(90), End: endsAt(at(900))}, ends{}, nil, slog.New(slog.DiscardHandler))
	p := parcel(at(150))
	for range 1000 {
		p.Messages = append(p.Messages, flat(file(100), 0))
	}
	f.Drop(b.Context(), p, 1)
	b.ReportAllocs()
	for b.Loop() {
		f.Drop(b.Context(), p, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/record")
}
