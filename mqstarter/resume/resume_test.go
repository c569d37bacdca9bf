package resume

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/relay/position"
)

func at(file string, offset uint64) position.Position {
	return position.Position{File: file, Offset: offset, Host: "db", Port: 3306}
}

// keeper is a producer with a record of what readers have, nil if it has none.
type keeper struct {
	record *position.Resume
	begun  position.Resume
	steps  []string
}

func (k *keeper) Claim(context.Context, int64) (position.Resume, error) {
	if k.record == nil {
		return position.Resume{}, position.ErrNone
	}
	return *k.record, nil
}

func (k *keeper) Begin(_ context.Context, from position.Resume) error {
	k.begun, k.steps = from, append(k.steps, "begin")
	return nil
}

// TestClaim: readers' record decides, unless at-least-once or somebody else left the cursor ahead of it.
func TestClaim(t *testing.T) {
	const (
		ours   = "canal-relay cursor set record --destination shop --release --reason WHY"
		theirs = "canal-relay cursor set binlog.000001:4 --resend --destination shop --release --reason WHY"
	)
	record := position.Resume{Position: at("binlog.000002", 500), Sent: 7}
	elsewhere := position.Position{File: "binlog.000009", Offset: 4, Host: "db2"}
	numbered := elsewhere
	numbered.GTIDs = "0-1-7"
	once := func(p position.Position) position.Saved {
		return position.Saved{Position: p, Delivery: position.ExactlyOnce}
	}
	for name, c := range map[string]struct {
		saved  position.Saved
		offset uint64 // where it goes on
		sent   uint64
		says   []string // in the log or the error
	}{
		"no cursor":                    {position.Saved{}, 500, 7, nil},
		"our cursor is late":           {once(at("binlog.000002", 400)), 500, 7, nil},
		"our cursor is there":          {once(at("binlog.000002", 500)), 500, 7, nil},
		"our cursor is ahead":          {once(at("binlog.000002", 900)), 500, 7, []string{"has Kafka lost records?"}},
		"ours, of another server":      {once(elsewhere), 500, 7, nil},
		"at-least-once went on":        {position.Saved{Position: at("binlog.000002", 900)}, 900, 0, []string{"going on at the cursor", "at-least-once"}},
		"at-least-once saved nothing":  {position.Saved{Position: at("binlog.000002", 400)}, 500, 7, nil},
		"at-least-once went elsewhere": {position.Saved{Position: elsewhere}, 500, 7, []string{"at-least-once set the cursor", "cannot be compared", ours}},
		"set where readers are":        {position.Saved{Position: at("binlog.000002", 500), Foreign: true}, 500, 7, nil},
		"set ahead":                    {position.Saved{Position: at("binlog.000003", 4), Foreign: true}, 4, 0, []string{"going on at the cursor", "somebody else"}},
		"set back":                     {position.Saved{Position: at("binlog.000001", 4), Foreign: true}, 500, 7, []string{"already reached", ours, theirs}},
		"set on another server":        {position.Saved{Position: elsewhere, Foreign: true}, 500, 7, []string{"cannot be compared", "cursor set binlog.000009:4 --resend"}},
		"set by GTIDs on another server": {position.Saved{Position: numbered, Foreign: true}, 500, 7,
			[]string{"cannot be compared", "cursor set '0-1-7' --resend --destination shop"}},
	} {
		var log bytes.Buffer
		p := &keeper{record: &record}
		got, exact, err := Claim(t.Context(), p, c.saved, Owner{Destination: "shop", Epoch: 5}, slog.New(slog.NewTextHandler(&log, nil)))
		said := log.String()
		if err != nil {
			said += err.Error()
		}
		if got.Offset != c.offset || got.Sent != c.sent || len(c.says) == 0 && said != "" {
			t.Errorf("%s: goes on at %d after %d rows, says %q", name, got.Offset, got.Sent, said)
		}
		for _, text := range c.says {
			if !strings.Contains(said, text) {
				t.Errorf("%s: %q is missing in %q", name, text, said)
			}
		}
		if decision := Decide(record, c.saved); (decision == Neither) != (err != nil) || (decision == Record) != exact || (decision == Cursor) != (got.Offset != 500) {
			t.Errorf("%s: decided for %s", name, decision)
		}
		if err == nil && p.begun.Offset != c.offset {
			t.Errorf("%s: began at %d", name, p.begun.Offset)
		}
	}
}

// TestForeignCursorIsTakenOver before anything is sent behind it: a crash before the first save would leave it behind the record.
func TestForeignCursorIsTakenOver(t *testing.T) {
	for name, record := range map[string]*position.Resume{"no record": nil, "behind": {Position: at("binlog.000001", 4)}, "there": {Position: at("binlog.000003", 4), Sent: 2}} {
		for _, foreign := range []bool{true, false} {
			p := &keeper{record: record}
			o := Owner{Destination: "shop", Save: func(_ context.Context, p2 position.Position) error {
				p.steps = append(p.steps, "save "+p2.File)
				return nil
			}}
			_, _, err := Claim(t.Context(), p, position.Saved{Position: at("binlog.000003", 4), Foreign: foreign}, o, slog.New(slog.DiscardHandler))
			want := "begin"
			if foreign {
				want = "begin,save binlog.000003"
			}
			if got := strings.Join(p.steps, ","); err != nil || got != want {
				t.Errorf("%s, foreign %v: %s, %v", name, foreign, got, err)
			}
		}
	}
}

// TestOrderThatWasCarriedOut: what the record has passed and the cursor has not was left out by an owner that ended before it
// saved that. The order must not stay: elsewhere something else may have its name.
func TestOrderThatWasCarriedOut(t *testing.T) {
	record := position.Resume{Position: at("binlog.000002", 500)}
	record.GTIDs, record.ServerUUID = "0f1d9bd1-0000-11ee-9e8b-0242ac110002:1-9", "0f1d9bd1-0000-11ee-9e8b-0242ac110002"
	saved := record.Position
	saved.Offset, saved.GTIDs = 400, "0f1d9bd1-0000-11ee-9e8b-0242ac110002:1-7"
	for order, passed := range map[string]bool{
		"": false, "binlog.000002:450": true, "binlog.000002:500": false, "binlog.000002:300": false, "binlog.000003:4": false,
		"binlog.000002:400@0f1d9bd1-0000-11ee-9e8b-0242ac110002": true, "binlog.000002:450@0f1d9bd1-0000-11ee-9e8b-0242ac119999": false,
		"0f1d9bd1-0000-11ee-9e8b-0242ac110002:8": true, "0f1d9bd1-0000-11ee-9e8b-0242ac110002:10": false, "0-1-7": false,
	} {
		for _, exact := range []bool{true, false} {
			p, noted := &keeper{}, false
			if exact {
				p.record = &record
			}
			o := Owner{Destination: "shop", Skipped: func() { noted = true }}
			from, _, err := Claim(t.Context(), p, position.Saved{Position: saved, Delivery: position.ExactlyOnce, Skip: order}, o, slog.New(slog.DiscardHandler))
			if err != nil || noted != (exact && passed) || (from.Skip == "") != (noted || order == "") {
				t.Errorf("%q, with a record %v: noted %v, left %q, %v", order, exact, noted, from.Skip, err)
			}
		}
	}
}
