package schema

import (
	"slices"
	"testing"
	"time"

	"github.com/canal-relay/canal-relay/relay/position"
)

// TestLostStatement: a statement that the source never got is listed, and its layout does not hold there: neither where the stream
// goes back, nor later, when the numbers of the source have grown past it. One that it has holds again.
func TestLostStatement(t *testing.T) {
	const uuid, other = "7be1439e-ecaa-11f1-aa2a-02fc00000001", "8be1439e-ecaa-11f1-aa2a-02fc00000001"
	for _, tt := range []struct {
		name                         string
		created, altered, back, then string // positions
		lacks                        string
		want                         string
	}{
		{"MariaDB never got it", "0-1-3", "0-1-9", "0-1-7", "0-2-30", "yes", "a INT"},
		{"MariaDB has it", "0-1-3", "0-1-9", "0-1-7", "0-1-30", "", "x INT"},
		{"MySQL never got it", uuid + ":1-3", uuid + ":1-9", uuid + ":1-7", uuid + ":1-7," + other + ":1-40", "yes", "a INT"},
		{"MySQL has it", uuid + ":1-3", uuid + ":1-9", uuid + ":1-7", uuid + ":1-30", "", "x INT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, h := t.Context(), &memory{}
			load := func(gtids string) *Tracker {
				tr := NewTracker(DefaultConfig(), tables{"lacks": tt.lacks}, h)
				if err := tr.Load(ctx, position.Position{GTIDs: gtids}); err != nil {
					t.Fatal(err)
				}
				return tr
			}
			tr := load("")
			for at, sql := range map[string]string{tt.created: "CREATE TABLE t (a INT)"} {
				if _, err := tr.Apply(ctx, Statement{SQL: sql, Database: "d", At: position.Position{GTIDs: at}}); err != nil {
					t.Fatal(err)
				}
			}
			const rename = "ALTER TABLE t RENAME COLUMN a TO x"
			if _, err := tr.Apply(ctx, Statement{SQL: rename, Database: "d", At: position.Position{GTIDs: tt.altered}}); err != nil {
				t.Fatal(err)
			}
			ahead, err := tr.Ahead(ctx, position.Position{GTIDs: tt.altered}, position.Position{GTIDs: tt.back})
			if err != nil || !slices.Equal(ahead, []string{rename}) {
				t.Errorf("ahead: %q, %v", ahead, err)
			}
			if got := shape(load(tt.back).Known("d", "t")); got != "a INT" {
				t.Errorf("back: %s", got)
			}
			stored := len(h.entries)
			if got := shape(load(tt.then).Known("d", "t")); got != tt.want {
				t.Errorf("then: %s", got)
			}
			load(tt.back)
			if len(h.entries) != stored {
				t.Errorf("%d entries after the next term, %d before", len(h.entries), stored)
			}
		})
	}
}

// TestLostOnly: where all that is known was lost, nothing is known: neither where the stream goes back nor later. A definition that
// was fetched behind a lost statement, which may be what it shows, is listed as that statement would be.
func TestLostOnly(t *testing.T) {
	ctx, h := t.Context(), &memory{}
	source := tables{"d.u": "CREATE TABLE `u` (`x` int)"}
	lost, back, then := position.Position{GTIDs: "0-1-9"}, position.Position{GTIDs: "0-1-7"}, position.Position{GTIDs: "0-2-30"}
	tr := NewTracker(DefaultConfig(), source, h)
	if err := tr.Load(ctx, position.Position{}); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"CREATE TABLE t (a INT)", "ALTER TABLE u RENAME COLUMN a TO x"} {
		if _, err := tr.Apply(ctx, Statement{SQL: sql, Database: "d", At: lost}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tr.Table(ctx, "d", "u"); err != nil {
		t.Fatal(err)
	}
	ahead, err := tr.Ahead(ctx, lost, back)
	if want := []string{"CREATE TABLE t (a INT)", "the definition of d.u"}; err != nil || !slices.Equal(ahead, want) {
		t.Errorf("ahead: %q, %v", ahead, err)
	}
	source["lacks"] = "yes"
	for _, p := range []position.Position{back, then} {
		tr := NewTracker(DefaultConfig(), source, h)
		if err := tr.Load(ctx, p); err != nil {
			t.Fatal(err)
		}
		if tr.Known("d", "t") != nil || tr.Known("d", "u") != nil {
			t.Errorf("at %s: %s, %s", p.GTIDs, shape(tr.Known("d", "t")), shape(tr.Known("d", "u")))
		}
	}
}

// TestAnotherServersFiles: MariaDB says of which server a file is by its address only. A replica that took over the source's
// address has files of its own, whose numbers are lower: what is known by GTID holds all the same.
func TestAnotherServersFiles(t *testing.T) {
	h := &memory{}
	on := func(file string, offset uint64, gtids string) position.Position {
		return position.Position{File: file, Offset: offset, GTIDs: gtids, Host: "db", Port: 3306}
	}
	tr := NewTracker(DefaultConfig(), nil, h)
	if err := tr.Load(t.Context(), on("binlog.000007", 4, "0-1-2")); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Apply(t.Context(), Statement{SQL: "CREATE TABLE t (a INT)", Database: "d", At: on("binlog.000007", 900, "0-1-3")}); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]string{"0-1-3": "a INT", "0-2-8": "a INT", "0-1-2": "unknown"} {
		next := NewTracker(DefaultConfig(), nil, h)
		if err := next.Load(t.Context(), on("binlog.000001", 500, p)); err != nil {
			t.Fatal(err)
		}
		if got := shape(next.Known("d", "t")); got != want {
			t.Errorf("at %s: %s, want %s", p, got, want)
		}
	}
}

// TestAnotherServerByTime: without GTIDs another server is gone on with by time, a little back. Tables are what they were at that
// time, whatever they are now; a statement of a later time that the server never got does not hold there, neither then nor later, and
// what the server did in its place does.
func TestAnotherServerByTime(t *testing.T) {
	const one, other = "7be1439e-ecaa-11f1-aa2a-02fc00000001", "8be1439e-ecaa-11f1-aa2a-02fc00000001"
	h := &memory{}
	on := func(server string, second int64) position.Position {
		return position.Position{File: "binlog.000007", Offset: uint64(1000 - second), ServerUUID: server, Time: time.Unix(1700000000+second, 0)}
	}
	load := func(at position.Position) *Tracker {
		tr := NewTracker(DefaultConfig(), tables{"lacks": "yes", "d.t": "CREATE TABLE `t` (`now` int)"}, h)
		if err := tr.Load(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	apply := func(tr *Tracker, sql string, at position.Position) {
		if _, err := tr.Apply(t.Context(), Statement{SQL: sql, Database: "d", At: at}); err != nil {
			t.Fatal(err)
		}
	}
	tr := load(on(one, 0))
	apply(tr, "CREATE TABLE t (a INT)", on(one, 10))
	lost := on(one, 20)
	lost.Offset = 2000
	apply(tr, "ALTER TABLE t RENAME COLUMN a TO lost", lost)
	tr = load(on(other, 15))
	if got := shape(tr.Known("d", "t")); got != "a INT" {
		t.Errorf("at first: %s", got)
	}
	stored := len(h.entries)
	for _, second := range []int64{15, 30} {
		then := on(other, second)
		then.Offset = 1500
		if got := shape(load(then).Known("d", "t")); got != "a INT" {
			t.Errorf("at %d: %s", second, got)
		}
	}
	if len(h.entries) != stored {
		t.Errorf("%d entries after the next terms, %d before", len(h.entries), stored)
	}
	made := on(other, 18)
	made.Offset = 3000
	apply(load(on(other, 15)), "ALTER TABLE t RENAME COLUMN a TO made", made)
	made.Offset = 4000
	if got := shape(load(made).Known("d", "t")); got != "made INT" {
		t.Errorf("behind what it did: %s", got)
	}
	unknown := on(other, 0)
	unknown.Time, unknown.ServerUUID = time.Time{}, "9be1439e-ecaa-11f1-aa2a-02fc00000001"
	if got := shape(load(unknown).Known("d", "t")); got != "unknown" {
		t.Errorf("without a time: %s", got)
	}
}
