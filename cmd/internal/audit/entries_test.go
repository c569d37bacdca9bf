package audit

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/canal-relay/canal-relay/mqstarter/message"
)

func text(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func number(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

// entry is that of an event at a place, with rows of one column.
func entry(place byte, rows ...string) []byte {
	header := number(text(nil, 2, []byte("binlog.000001")), 3, 100*uint64(place))
	var change []byte
	for _, row := range rows {
		change = text(change, 12, text(nil, 2, text(number(nil, 1, 0), 8, []byte(row))))
	}
	return text(number(text(nil, 1, header), 2, 2), 3, change)
}

// packedRows is a protobuf record of one entry.
func packedRows(tx int, rows []string) []byte {
	return text(number(nil, 3, 7), 5, text(nil, 2, entry(byte('0'+tx), rows...)))
}

// packed is a protobuf record of entries, each a letter for its content and a digit for the place of its event.
func packed(entries ...string) []byte {
	var all []byte
	for _, e := range entries {
		all = text(all, 2, entry(e[1], e[:1]))
		all = text(all, 2, text(number(nil, 2, 3), 3, nil)) // the end of a transaction
	}
	return text(number(nil, 3, 7), 5, all)
}

// TestEntries: what is wrong with entries of protobuf records is found, however they are cut into records.
func TestEntries(t *testing.T) {
	const right = "a1 b1 b1 c2 d3 e4 f5 f5 g6"
	for _, tt := range []struct {
		name, sent string // records are separated by bars
		want       Kind   // empty for nothing that is wrong
		repeats    uint64
	}{
		{"as it is", "a1 b1 b1|c2 d3|e4|f5 f5 g6", "", 0},
		{"cut otherwise", "a1 b1|b1 c2 d3 e4 f5|f5 g6", "", 0},
		{"again from an event on", "a1 b1 b1 c2 d3|d3 e4 f5 f5 g6", "", 1},
		{"again from the beginning", "a1 b1 b1|a1 b1 b1 c2|d3 e4 f5 f5 g6", "", 3},
		{"one is missing", "a1 b1 b1 c2|e4 f5 f5 g6", Gap, 0},
		{"one of an event is missing", "a1 b1 c2 d3|e4 f5 f5 g6", Gap, 0},
		{"swapped", "a1 b1 b1 d3 c2 e4 f5 f5 g6", Gap, 0},
		{"another content", "a1 b1 b1 c2 x3 e4 f5 f5 g6", Content, 0},
		{"one too many", "a1 b1 b1 c2 d3 e4 f5 f5 x7 g6", Extra, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var records []*kgo.Record
			for i, r := range strings.Split(tt.sent, "|") {
				records = append(records, &kgo.Record{Topic: "t", Value: packed(strings.Fields(r)...), Headers: []kgo.RecordHeader{
					{Key: message.HeaderPosition, Value: []byte("0-1-1")}, {Key: message.HeaderRow, Value: []byte{'0' + byte(i)}}}})
			}
			expected, err := Entries(packed(strings.Fields(right)...))
			if err != nil {
				t.Fatal(err)
			}
			for i := range expected {
				expected[i].Topic = "t"
				if i > 0 && expected[i-1].Tx == expected[i].Tx {
					expected[i].Row = expected[i-1].Row + 1
				}
			}
			r, err := auditRecords(t, records, Options{Read: Packet, Entries: Entries, Whole: true, Source: func(context.Context) (Change, error) {
				if len(expected) == 0 {
					return Change{}, io.EOF
				}
				c := expected[0]
				expected = slices.Delete(expected, 0, 1)
				return c, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if (r.Faults(false) > 0) != (tt.want != "") || tt.want != "" && r.Counts[tt.want] == 0 || r.Repeats != tt.repeats {
				t.Errorf("%v, %d repeats: %+v", r.Counts, r.Repeats, r.Findings)
			}
		})
	}
	if _, err := Entries([]byte(`{"data":null}`)); err == nil {
		t.Error("a flat message is taken for a packet")
	}
}
