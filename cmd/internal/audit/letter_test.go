package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/cmd/internal/audit/content"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
)

// large sends what a notation says of four transactions, each an INSERT of the rows 0 to 2: "1:0-2" is a message with all rows of
// the first one, "1:2" one with its last row, "1:2k" that by its key alone, "1:2x" with another content, "1:2d" a dead letter.
func large(t *testing.T, notation string, protobuf bool) (records []*kgo.Record) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	for _, word := range strings.Fields(notation) {
		var tx, first, last int
		if n, _ := fmt.Sscanf(word, "%d:%d-%d", &tx, &first, &last); n < 3 {
			last = first
		}
		at = at.Add(time.Second)
		r := &kgo.Record{Topic: "t", Timestamp: at, Headers: []kgo.RecordHeader{{Key: message.HeaderDestination, Value: []byte("d")},
			{Key: message.HeaderPosition, Value: fmt.Appendf(nil, "0-1-%d", tx)}, {Key: message.HeaderRow, Value: fmt.Append(nil, last)}}}
		kind := word[len(word)-1]
		switch {
		case kind == 'd':
			l := oversize.Letter{Destination: "d", Position: fmt.Sprintf("0-1-%d", tx), Row: uint64(last), Topic: "t"}
			var err error
			if r.Value, err = l.Append(nil); err != nil {
				t.Fatal(err)
			}
			r.Topic = "lost"
		case protobuf:
			r.Value = packedRows(tx, rowTexts(tx, first, last, kind))
		default:
			rows, err := json.Marshal(rowTexts(tx, first, last, kind))
			if err != nil {
				t.Fatal(err)
			}
			r.Value = fmt.Appendf(nil, `{"data":%s,"database":"d","old":null,"table":"t","type":"INSERT"}`, rows)
		}
		if kind == 'k' {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: message.HeaderOversize, Value: []byte("2000000")})
		}
		records = append(records, r)
	}
	return records
}

func rowTexts(tx, first, last int, kind byte) (rows []string) {
	for i := first; i <= last; i++ {
		text := fmt.Sprintf("%d of %d", i, tx)
		if kind == 'k' || kind == 'x' {
			text = string(kind)
		}
		rows = append(rows, text)
	}
	return rows
}

// TestTooLarge: what was too large to be sent whole, and was split, sent by its key or put aside as a letter, is found all the
// same, wherever the letters stand among the other records, and what is missing or another one besides is no less noticed.
func TestTooLarge(t *testing.T) {
	for _, tt := range []struct {
		sent string
		want Kind // empty for nothing that is wrong
	}{
		{"1:0-2 2:0-2 3:0-2 4:0-2", ""},
		{"1:0-2 2:0 2:1 2:2 3:0-2 4:0-2", ""},
		{"1:0 1:1-2 2:0-1 2:2 3:0-2 4:0-2", ""},
		{"1:0-2 2:0 2:1k 2:2 3:0-2 4:0-2", ""},
		{"1:0-2 2:0 2:1 2:2k 3:0k 3:1k 3:2k 4:0-2", ""},
		{"1:0-2 2:0 2:1d 2:2 3:0-2 4:0-2", ""},
		{"1:0-2 2:0 2:2 3:0-2 4:0-2 2:1d", ""},
		{"1:0-2 2:2d 2:0 2:1 3:0-2 4:0-2", ""},
		{"2:1d 4:0d 1:0-2 2:0 2:2 3:0-2 4:1-2", ""},
		{"1:0-2 2:0d 2:1d 2:2d 3:0-2 4:0-2", ""},
		{"1:0-2 3:0-2 4:0-2 2:0d 2:1d 2:2d", ""},
		{"1:0-2 2:0 2:1 2:2 2:0 2:1 2:2 3:0-2 4:0-2", Repeat},
		{"1:0-2 2:0 2:2 3:0-2 4:0-2", Gap},
		{"1:0-2 2:0 2:1 3:0-2 4:0-2", Gap},
		{"1:0-2 2:0 2:1d 3:0-2 4:0-2", Gap},
		{"1:0-2 3:0-2 4:0-2 2:1d", Gap},
		{"1:0-2 2:0 2:1x 2:2 3:0-2 4:0-2", Content},
		{"1:0-2 2:0x 2:1 2:2 3:0-2 4:0-2", Content},
		{"1:0-2 2:0 2:1 2:2x 3:0-2 4:0-2", Content},
		{"1:0-2 2:0-2 3:0-2 4:0-2 7:1d", Extra},
		{"1:0-2 2:0-2 2:1d 3:0-2 4:0-2", Extra},
	} {
		for _, protobuf := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", tt.sent, protobuf), func(t *testing.T) {
				var all []Change
				for tx := 1; tx <= 4; tx++ {
					c := Change{Topic: "t", Tx: fmt.Sprintf("0-1-%d", tx), Row: 2, Rows: 3}
					if protobuf {
						entries, err := Entries(packedRows(tx, rowTexts(tx, 0, 2, 0)))
						if err != nil || len(entries) != 1 || entries[0].Rows != 3 {
							t.Fatal(err, entries)
						}
						c.In, c.Last = c.Tx, c.Row
						c.Tx, c.Row, c.Sum = entries[0].Tx, entries[0].Row, entries[0].Sum
					} else {
						records := large(t, fmt.Sprintf("%d:0-2", tx), false)
						_, c.Sum, _ = content.Flat(records[0].Value)
					}
					all = append(all, c)
				}
				o := Options{Destination: "d", Letters: "lost", Whole: true, Source: func(context.Context) (Change, error) {
					if len(all) == 0 {
						return Change{}, io.EOF
					}
					c := all[0]
					all = all[1:]
					return c, nil
				}}
				o.Topics.Optional = []string{"lost", "none"}
				if protobuf {
					o.Read, o.Entries = Packet, Entries
				}
				r, err := auditRecords(t, large(t, tt.sent, protobuf), o)
				if err != nil {
					t.Fatal(err)
				}
				if (r.Faults(false) > 0) != (tt.want != "" && tt.want != Repeat) || tt.want != "" && r.Counts[tt.want] == 0 {
					t.Errorf("%v: %+v", r.Counts, r.Findings)
				}
				if int(r.KeyOnly) != strings.Count(tt.sent, "k") || int(r.Letters) != strings.Count(tt.sent, "d") || r.Behind != 0 {
					t.Errorf("%d by their key, %d letters, %d behind", r.KeyOnly, r.Letters, r.Behind)
				}
			})
		}
	}
}
