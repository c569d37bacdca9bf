package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/position"
)

// tables is a source: CREATE TABLE texts by "schema.table".
type tables map[string]string

func (s tables) ShowCreateTable(_ context.Context, schema, table string) (string, error) {
	text, ok := s[schema+"."+table]
	if !ok {
		return "", ErrNoTable
	}
	return text, nil
}

func (s tables) ShowCreateDatabase(_ context.Context, schema string) (string, error) {
	return s.ShowCreateTable(context.Background(), schema, "")
}

func (s tables) End(context.Context) (position.Position, error) {
	return at(uint64(len(s["end"]))), nil
}

func (s tables) Lacks(context.Context, string) (bool, error) { return s["lacks"] != "", nil }

func (s tables) LowerCase(context.Context) (int, error) { return 0, nil }

// memory is a history that goes through JSON, as a stored one does.
type memory struct{ entries []string }

func (m *memory) Load(context.Context, position.Position) ([]Entry, error) {
	all := make([]Entry, len(m.entries))
	for i, e := range m.entries {
		if err := json.Unmarshal([]byte(e), &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (m *memory) Append(_ context.Context, e Entry) error {
	b, err := json.Marshal(e)
	m.entries = append(m.entries, string(b))
	return err
}

func (m *memory) Trim(ctx context.Context, before time.Time) error {
	all, err := m.Load(ctx, position.Position{})
	m.entries = m.entries[Needless(all, before):]
	return err
}

func at(offset uint64) position.Position {
	return position.Position{File: "binlog.000007", Offset: offset, Host: "db1", Port: 3306}
}

func all(string, string) bool { return true }

// apply runs statements of database d, 10 bytes apart from offset 10 on.
func apply(t *testing.T, tr *Tracker, q Statement, statements ...string) {
	t.Helper()
	for i, sql := range statements {
		s := q
		s.SQL, s.At = sql, at(uint64(10*(i+1)))
		if s.Database == "" {
			s.Database = "d"
		}
		if _, err := tr.Apply(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// shape writes a table as "a INT, b TEXT(latin1) KEY b,a".
func shape(table *Table) string {
	if table == nil {
		return "unknown"
	}
	var columns, keys []string
	for _, c := range table.Columns {
		s := c.Name + " " + c.Type
		if c.Charset != "" && c.Charset != "utf8mb4" {
			s += "(" + c.Charset + ")"
		}
		if c.Invisible {
			s += " hidden"
		}
		columns = append(columns, s)
	}
	for _, k := range table.PrimaryKey {
		if !table.Columns[k].Key || table.Columns[k].Nullable {
			return "key column without the flags: " + table.Columns[k].Name
		}
		keys = append(keys, table.Columns[k].Name)
	}
	return strings.TrimSuffix(strings.Join(columns, ", ")+" KEY "+strings.Join(keys, ","), " KEY ")
}

func TestSource(t *testing.T) {
	ctx := t.Context()
	src := tables{"d.t": "CREATE TABLE `t` (\n  `a` int(10) unsigned NOT NULL,\n  `e` enum('x','it''s') DEFAULT NULL,\n  PRIMARY KEY (`a`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1"}
	tr := NewTracker(DefaultConfig(), src, nil)
	apply(t, tr, Statement{}, "ALTER TABLE t ADD COLUMN b INT") // not tracked: no matter
	table, err := tr.Table(ctx, "d", "t")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shape(table), "a int(10) unsigned, e enum('x','it''s')(latin1) KEY a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	src["d.t"] = `CREATE TABLE "t" ("a" int NOT NULL, "z" int)`
	if again, _ := tr.Table(ctx, "d", "t"); again != table {
		t.Error("fetched again")
	}
	tr.Forget("d", "t")
	if table, err = tr.Table(ctx, "d", "t"); err != nil || shape(table) != "a int, z int" {
		t.Errorf("after Forget: %v, %v", shape(table), err)
	}
	src["d.v"] = "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1"
	for _, name := range []string{"nope", "v"} {
		if _, err := tr.Table(ctx, "d", name); !errors.Is(err, ErrNoTable) || !strings.Contains(err.Error(), "d."+name) {
			t.Errorf("%s: %v, want ErrNoTable", name, err)
		}
	}
}

func TestStatementNotUnderstood(t *testing.T) {
	src := tables{"d.t": "CREATE TABLE `t` (`a` int, `n` int)"}
	tr := NewTracker(DefaultConfig(), src, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (a INT)")
	sql := "ALTER TABLE t FROBNICATE 'é" + strings.Repeat("x", 500) + "'"
	q := Statement{SQL: sql, Database: "d", At: at(42)}

	// A captured table: the term ends, and the message says what and where.
	q.Captured = all
	_, err := tr.Apply(t.Context(), q)
	if !errors.Is(err, ErrStatement) {
		t.Fatalf("got %v, want ErrStatement", err)
	}
	for _, part := range []string{"d.t", "binlog.000007:42", "FROBNICATE"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %q", err, part)
		}
	}
	if len(err.Error()) > 420 {
		t.Errorf("%d bytes of message", len(err.Error()))
	}

	// A table that nobody captures: counted, and unknown until seen again.
	q.Captured = nil
	results, err := tr.Apply(t.Context(), q)
	if err != nil || len(results) != 1 || results[0].Table != "t" || tr.NotUnderstood() != 1 {
		t.Errorf("%v, %v, %d not understood", results, err, tr.NotUnderstood())
	}
	if tr.Known("d", "t") != nil {
		t.Error("still tracked")
	}
	if table, err := tr.Table(t.Context(), "d", "t"); err != nil || shape(table) != "a int, n int" {
		t.Errorf("%v, %v", shape(table), err)
	}

	// What cannot have run on the layout that we know says that we know it wrong.
	for _, sql := range []string{"ALTER TABLE t DROP nope", "ALTER TABLE t ADD a INT", "ALTER TABLE t ADD x INT AFTER nope"} {
		_, err := tr.Apply(t.Context(), Statement{SQL: sql, Database: "d", Captured: all})
		if !errors.Is(err, ErrStatement) {
			t.Errorf("%s: %v, want ErrStatement", sql, err)
		}
	}
	if _, err := tr.Apply(t.Context(), Statement{SQL: "CREATE TABLE `broken", Captured: all}); err != nil || tr.NotUnderstood() != 2 {
		t.Errorf("a text that names no table: %v", err)
	}
}

func TestLowerCase(t *testing.T) {
	for _, c := range []struct {
		lower        int
		name, expect string // looked up; the name of what is found
	}{
		{0, "Foo", "Foo"},
		{0, "foo", ""},
		{1, "foo", "foo"},
		{1, "FOO", "foo"},
		{2, "foo", "Foo"},
		{LowerCaseUnknown, "Foo", "Foo"},
		{LowerCaseUnknown, "foo", "Foo"},
		{LowerCaseUnknown, "bar", ""}, // Bar and BAR: which?
	} {
		tr := NewTracker(Config{LowerCase: c.lower}, nil, nil)
		apply(t, tr, Statement{}, "CREATE TABLE Foo (a INT)", "CREATE TABLE Bar (a INT)", "CREATE TABLE BAR (a INT)")
		table := tr.Known("d", c.name)
		if got := table != nil; got != (c.expect != "") || got && table.Name != c.expect {
			t.Errorf("lower_case_table_names=%d: %s: %v, want %q", c.lower, c.name, table, c.expect)
		}
	}
}

func TestIfNotExistsOnAnUnknownTable(t *testing.T) {
	const sql = "CREATE TABLE IF NOT EXISTS t (id INT, name TEXT)"
	for _, c := range []struct{ server, want string }{
		{"", "id INT, name TEXT"}, // gone since
		{"CREATE TABLE `t` (`id` int, `name` text)", "id INT, name TEXT"},             // made by it, or as it says
		{"CREATE TABLE `t` (`id` int, `title` text)", "id int, title text"},           // it was there: the row event could not tell
		{"CREATE TABLE `t` (`id` int, `name` text, `more` int)", "id INT, name TEXT"}, // the row event will tell
		{"CREATE TABLE `t` (`id` int unsigned, `title` text)", "id INT, name TEXT"},   // the same
		{"CREATE VIEW `t` AS SELECT 1", "id INT, name TEXT"},
	} {
		src := tables{}
		if c.server != "" {
			src["d.t"] = c.server
		}
		tr := NewTracker(DefaultConfig(), src, nil)
		apply(t, tr, Statement{Captured: all}, sql)
		table, err := tr.Table(t.Context(), "d", "t")
		if err != nil || shape(table) != c.want {
			t.Errorf("%q: %s, %v, want %s", c.server, shape(table), err, c.want)
		}
	}
}

func TestHistory(t *testing.T) {
	ctx := t.Context()
	src := tables{"d.old": "CREATE TABLE `old` (`a` int)"}
	h := &memory{}
	run := func(from uint64) *Tracker {
		tr := NewTracker(DefaultConfig(), src, h)
		if err := tr.Load(ctx, at(from)); err != nil {
			t.Fatal(err)
		}
		return tr
	}
	stream := []string{ // at 10, 20, …
		"CREATE DATABASE d CHARSET latin1", "CREATE TABLE t (a TEXT)", "ALTER TABLE old ADD b INT", "ALTER TABLE t ADD b INT", "DROP VIEW v", "RENAME TABLE t TO u",
	}
	play := func(tr *Tracker, from, to int) {
		for i := from; i < to; i++ {
			if _, err := tr.Apply(ctx, Statement{SQL: stream[i], Database: "d", At: at(uint64(10 * (i + 1)))}); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				if _, err := tr.Table(ctx, "d", "old"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	play(run(0), 0, len(stream))
	if n := len(h.entries); n != 6 {
		t.Errorf("%d entries, want 6: DROP VIEW changes nothing, one table was fetched", n)
	}
	want := []string{ // at each end of a statement: t, u, old
		"unknown, unknown, unknown", "unknown, unknown, a int", "a TEXT(latin1), unknown, a int", "a TEXT(latin1), unknown, a int, b INT",
		"a TEXT(latin1), b INT, unknown, a int, b INT", "a TEXT(latin1), b INT, unknown, a int, b INT", "unknown, a TEXT(latin1), b INT, a int, b INT",
	}
	check := func(when string) {
		for i, w := range want {
			tr := run(uint64(10 * i))
			got := shape(tr.Known("d", "t")) + ", " + shape(tr.Known("d", "u")) + ", " + shape(tr.Known("d", "old"))
			if got != w {
				t.Errorf("%s, at %d: %s, want %s", when, 10*i, got, w)
			}
		}
	}
	check("once")
	// A stream that goes back appends what it plays a second time.
	play(run(20), 2, 4)
	play(run(30), 3, len(stream))
	check("after going back")

	// Another server's positions say nothing here.
	tr := NewTracker(DefaultConfig(), src, h)
	elsewhere := at(1000)
	elsewhere.Host = "db2"
	if err := tr.Load(ctx, elsewhere); err != nil || tr.Known("d", "u") != nil {
		t.Errorf("took up another server's history: %v", err)
	}
}

func TestEntryJSON(t *testing.T) {
	e := Entry{At: at(5), Schema: "d", Table: "t", SQL: "CREATE TABLE `t` (`a` int)", MariaDB: true, Version: 101119, SQLMode: 4}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back Entry
	if err := json.Unmarshal(b, &back); err != nil || !cmp.Equal(e, back) {
		t.Errorf("%s: %v", b, cmp.Diff(e, back))
	}
}

func TestLoadScript(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	script := `-- MySQL dump
/*!40101 SET NAMES utf8mb4 */;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ ` + "`shop`" + ` /*!40100 DEFAULT CHARACTER SET latin1 */ /*!80016 DEFAULT ENCRYPTION='N' */;
USE ` + "`shop`" + `;
DROP TABLE IF EXISTS t;
CREATE TABLE t (id int NOT NULL, s varchar(5) DEFAULT ';', PRIMARY KEY (id)) ENGINE=InnoDB;
INSERT INTO t VALUES (1,'a;b');
DELIMITER ;;
CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.s = 'x'; END ;;
DELIMITER ;
CREATE TABLE other.u (x int);
CREATE TABLE bad (x int;
`
	if err := tr.LoadScript(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"shop.t": "id int, s varchar(5)(latin1) KEY id", "other.u": "x int", "shop.bad": "unknown"} {
		schema, table, _ := strings.Cut(name, ".")
		if got := shape(tr.Known(schema, table)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if tr.NotUnderstood() != 1 {
		t.Errorf("%d not understood, want 1", tr.NotUnderstood())
	}
}

// FuzzApply feeds statements that no server checked: whatever they say, the
// tracker neither panics nor changes a table that it has handed out.
func FuzzApply(f *testing.F) {
	for _, s := range []string{
		"ALTER TABLE t DROP a, MODIFY a INT FIRST", "ALTER TABLE t ADD a INT AFTER b, RENAME COLUMN b TO a", "ALTER TABLE t DROP a, DROP b, DROP c",
		"ALTER TABLE t ADD SYSTEM VERSIONING, DROP a", "ALTER TABLE t ADD PERIOD FOR p (a, b), ADD PRIMARY KEY (p WITHOUT OVERLAPS)", "RENAME TABLE t TO t, t TO u",
		"ALTER TABLE t CONVERT TO CHARACTER SET binary, CHANGE b b TEXT(5) AFTER c",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, sql string, maria bool) {
		tr := NewTracker(Config{ServerTypes: true, LowerCase: LowerCaseUnknown}, nil, nil)
		apply(t, tr, Statement{MariaDB: true}, "CREATE TABLE t (a INT, b TEXT, c INT, PRIMARY KEY (c, a)) WITH SYSTEM VERSIONING")
		table := tr.Known("d", "t")
		was := shape(table)
		for range 2 {
			if _, err := tr.Apply(t.Context(), Statement{SQL: sql, Database: "d", MariaDB: maria}); err != nil {
				t.Error(err)
			}
		}
		if now := shape(table); now != was {
			t.Errorf("%s became %s", was, now)
		}
		for _, l := range tr.tables {
			shape(l.Table)
		}
	})
}

func BenchmarkTable(b *testing.B) {
	tr := NewTracker(Config{}, nil, nil)
	for i := range 1000 {
		if _, err := tr.Apply(b.Context(), Statement{SQL: fmt.Sprintf("CREATE TABLE t%d (a INT)", i), Database: "d"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tr.Table(b.Context(), "d", "t500"); err != nil {
			b.Fatal(err)
		}
	}
}
