package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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

func TestLayoutAfterStatements(t *testing.T) {
	maria := Statement{MariaDB: true}
	for _, c := range []struct {
		name  string
		q     Statement
		sql   []string
		table string
		want  string
	}{
		{name: "key order", sql: []string{"CREATE TABLE t (a INT, b INT, c INT, PRIMARY KEY (c, a))"}, want: "a INT, b INT, c INT KEY c,a"},
		{name: "prefix and function keys", sql: []string{"CREATE TABLE t (a TEXT, b INT, CONSTRAINT k PRIMARY KEY USING BTREE (b DESC, a(10)), KEY ((b + 1)), UNIQUE (b))"}, want: "a TEXT, b INT KEY b,a"},
		{
			name: "order of an alter: drops, changes in place, then additions and moves as listed",
			sql: []string{
				"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT)",
				"ALTER TABLE t ADD z INT FIRST, DROP b, CHANGE c cc BIGINT AFTER id, ADD y INT AFTER cc, MODIFY a TEXT",
			},
			want: "z INT, id INT, cc BIGINT, y INT, a TEXT KEY id",
		},
		{
			name: "after a column that moves later", sql: []string{"CREATE TABLE t (x INT, y INT, z INT)", "ALTER TABLE t ADD g INT AFTER yy, CHANGE y yy INT FIRST"},
			want: "yy INT, x INT, g INT, z INT",
		},
		{name: "columns that move behind each other", sql: []string{"CREATE TABLE t (x INT, y INT, z INT)", "ALTER TABLE t MODIFY x INT AFTER y, MODIFY y INT AFTER x"}, want: "x INT, y INT, z INT"},
		{
			name: "a change takes the place of an addition", q: maria, sql: []string{"CREATE TABLE t (x INT)", "ALTER TABLE t ADD k BIT FIRST, CHANGE nope k DATETIME"},
			want: "x INT, k DATETIME",
		},
		{name: "a column dropped and added", sql: []string{"CREATE TABLE t (f INT, g INT)", "ALTER TABLE t DROP f, ADD f VARCHAR(5) FIRST"}, want: "f VARCHAR(5), g INT"},
		{name: "several columns", sql: []string{"CREATE TABLE t (a INT)", "ALTER TABLE t ADD COLUMN (b INT, c INT KEY, INDEX (b))"}, want: "a INT, b INT, c INT KEY c"},
		{
			name: "renames, also in the key",
			sql:  []string{"CREATE TABLE t (id INT, b INT, PRIMARY KEY (id, b))", "ALTER TABLE t RENAME COLUMN id TO b, RENAME COLUMN b TO id", "ALTER TABLE t CHANGE b pk BIGINT"},
			want: "pk BIGINT, id INT KEY pk,id",
		},
		{
			name: "after refers to new names", sql: []string{"CREATE TABLE t (a1 INT, c INT)", "ALTER TABLE t CHANGE a1 a2 INT AFTER c, ADD COLUMN k INT AFTER a2"},
			want: "c INT, a2 INT, k INT",
		},
		{name: "key dropped and made", sql: []string{"CREATE TABLE t (a INT KEY, b INT)", "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (b, a)"}, want: "a INT, b INT KEY b,a"},
		{name: "key dropped as an index", sql: []string{"CREATE TABLE t (a INT KEY)", "DROP INDEX `PRIMARY` ON t"}, want: "a INT"},
		{name: "key column dropped", sql: []string{"CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b))", "ALTER TABLE t DROP a"}, want: "b INT KEY b"},
		{name: "modify keeps the key", sql: []string{"CREATE TABLE t (a INT KEY)", "ALTER TABLE t MODIFY a BIGINT UNSIGNED"}, want: "a BIGINT unsigned KEY a"},
		{name: "visibility", sql: []string{"CREATE TABLE t (a INT, b INT INVISIBLE)", "ALTER TABLE t ALTER a SET INVISIBLE, ALTER b SET VISIBLE"}, want: "a INT hidden, b INT"},
		{
			name: "if exists looks at the table before", q: maria,
			sql: []string{
				"CREATE TABLE t (a INT, b INT)",
				"ALTER TABLE t ADD COLUMN IF NOT EXISTS a TEXT, ADD COLUMN IF NOT EXISTS c INT, DROP COLUMN IF EXISTS nope, MODIFY COLUMN IF EXISTS x INT, " +
					"CHANGE COLUMN IF EXISTS y z INT, RENAME COLUMN IF EXISTS v TO w, ALTER COLUMN IF EXISTS u SET DEFAULT 1",
			},
			want: "a INT, b INT, c INT",
		},
		{name: "create again", sql: []string{"CREATE TABLE t (a INT)", "CREATE TABLE IF NOT EXISTS t (b INT)"}, want: "a INT"},
		{name: "create or replace", q: maria, sql: []string{"CREATE TABLE t (a INT)", "CREATE OR REPLACE TABLE t (b INT)"}, want: "b INT"},
		{name: "temporary", sql: []string{"CREATE TABLE t (a INT)", "CREATE TEMPORARY TABLE t (b INT)", "DROP TEMPORARY TABLE t"}, want: "a INT"},
		{name: "like", sql: []string{"CREATE TABLE s (a INT KEY, b TEXT)", "CREATE TABLE t LIKE s", "ALTER TABLE s DROP b"}, want: "a INT, b TEXT KEY a"},
		{name: "like in brackets", sql: []string{"CREATE TABLE s (a INT KEY)", "CREATE TABLE t (LIKE s)"}, want: "a INT KEY a"},
		{name: "select", sql: []string{"CREATE TABLE t (a INT)", "DROP TABLE t", "CREATE TABLE t (b INT) SELECT 1 AS a"}, want: "unknown"},
		{name: "as a transaction", sql: []string{"CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `name` varchar(20) DEFAULT 'x'\n) START TRANSACTION"}, want: "id int, name varchar(20)"},
		{name: "swap", sql: []string{"CREATE TABLE x (a INT)", "CREATE TABLE t (b INT)", "RENAME TABLE x TO d.x_tmp, t TO x, x_tmp TO t"}, want: "a INT"},
		{name: "rename across databases", sql: []string{"CREATE TABLE x (a INT)", "ALTER TABLE x RENAME TO e.x, ADD b INT"}, table: "e.x", want: "a INT, b INT"},
		{name: "renamed away", sql: []string{"CREATE TABLE t (a INT)", "RENAME TABLE t TO u"}, want: "unknown"},
		{name: "rename of an unknown table", sql: []string{"CREATE TABLE t (a INT)", "DROP TABLE t", "CREATE TABLE t (a INT)", "RENAME TABLE t TO u, nobody TO t"}, want: "unknown"},
		{name: "truncate", sql: []string{"CREATE TABLE t (a INT)", "TRUNCATE t"}, want: "a INT"},
		{name: "drop many", sql: []string{"CREATE TABLE t (a INT)", "DROP TABLE IF EXISTS a, `t` /* generated by server */"}, want: "unknown"},
		{name: "drop database", sql: []string{"CREATE TABLE t (a INT)", "DROP DATABASE d"}, want: "unknown"},
		{name: "partitions", sql: []string{"CREATE TABLE t (a INT KEY) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (2))", "ALTER TABLE t ADD b INT REMOVE PARTITIONING", "ALTER TABLE t DROP PARTITION p, q"}, want: "a INT, b INT KEY a"},
		{
			name: "system versioning", q: maria,
			sql:  []string{"CREATE TABLE t (a INT KEY) WITH SYSTEM VERSIONING", "ALTER TABLE t ADD b INT"},
			want: "a INT, b INT, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY a",
		},
		{
			name: "system versioning of one's own", q: maria,
			sql: []string{"CREATE TABLE t (a INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, " +
				"PERIOD FOR SYSTEM_TIME (s, e)) ENGINE=InnoDB WITH SYSTEM VERSIONING"},
			want: "a INT, s TIMESTAMP(6), e TIMESTAMP(6)",
		},
		{name: "system versioning added and dropped", q: maria, sql: []string{"CREATE TABLE t (a INT)", "ALTER TABLE t ADD SYSTEM VERSIONING", "ALTER TABLE t DROP SYSTEM VERSIONING"}, want: "a INT"},
		{name: "periods", q: maria, sql: []string{"CREATE TABLE t (id INT, s DATE, e DATE, PERIOD FOR p (s, e), PRIMARY KEY (id, p WITHOUT OVERLAPS))"}, want: "id INT, s DATE, e DATE KEY id,e,s"},
		{name: "partition made a table", q: maria, sql: []string{"CREATE TABLE x (a INT)", "ALTER TABLE x CONVERT PARTITION p TO TABLE t"}, want: "a INT"},
		{name: "table made a partition", q: maria, sql: []string{"CREATE TABLE x (a INT)", "CREATE TABLE t (a INT)", "ALTER TABLE x CONVERT TABLE t TO PARTITION p VALUES LESS THAN (5)"}, want: "unknown"},

		{
			name: "character sets: column, table, database, default",
			sql: []string{
				"CREATE DATABASE d CHARACTER SET latin1", "CREATE TABLE t (a TEXT, b CHAR(2) CHARSET gbk, c ENUM('x') COLLATE utf8_bin, n NCHAR(2), i INT)",
				"ALTER DATABASE COLLATE utf8mb4_bin", "ALTER TABLE t ADD d TEXT, DEFAULT CHARSET=cp1251, ADD e TEXT COLLATE uca1400_ai_ci, ADD j JSON",
			},
			want: "a TEXT(latin1), b CHAR(2)(gbk), c ENUM('x')(utf8mb3), n NCHAR(2)(utf8mb3), i INT, d TEXT(cp1251), e TEXT(cp1251), j JSON",
		},
		{
			name: "conversion", sql: []string{"CREATE TABLE t (a TEXT, b VARBINARY(3), c CHAR(4) BYTE) COLLATE latin1_bin", "ALTER TABLE t CONVERT TO CHARACTER SET gbk, ADD x TEXT"},
			want: "a TEXT(gbk), b VARBINARY(3)(binary), c CHAR(4)(binary), x TEXT(gbk)",
		},
		{
			name: "conversion to the default", sql: []string{"CREATE DATABASE d CHARSET sjis", "CREATE TABLE t (a TEXT) CHARSET latin1", "ALTER TABLE t CONVERT TO CHARACTER SET DEFAULT"},
			want: "a TEXT(sjis)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := NewTracker(DefaultConfig(), nil, nil)
			q := c.q
			q.Captured = all
			apply(t, tr, q, c.sql...)
			schema, name, ok := strings.Cut(c.table, ".")
			if !ok {
				schema, name = "d", "t"
			}
			if got := shape(tr.Known(schema, name)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestBinaryBases(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (a CHAR(4), b VARCHAR(4), c TEXT(9), d LONGTEXT, e ENUM('x'), f TEXT CHARSET latin1) CHARACTER SET binary")
	var got []string
	for _, c := range tr.Known("d", "t").Columns {
		got = append(got, c.Base+" "+c.Charset)
	}
	want := []string{"binary binary", "varbinary binary", "blob binary", "longblob binary", "enum binary", "text latin1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPublishedTableNeverChanges(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (a INT KEY, b TEXT)")
	before := tr.Known("d", "t")
	was := shape(before)
	apply(t, tr, Statement{}, "ALTER TABLE t MODIFY a BIGINT FIRST, DROP PRIMARY KEY, CONVERT TO CHARACTER SET latin1", "CREATE TABLE u LIKE t", "RENAME TABLE t TO v")
	if got := shape(before); got != was || before.Name != "t" {
		t.Errorf("%s became %s", was, got)
	}
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

// TestServerTypes says what SHOW CREATE TABLE prints; the pairs were seen on
// MySQL 9.7 and MariaDB 10.11.
func TestServerTypes(t *testing.T) {
	for _, c := range []struct{ written, mysql, mariadb string }{
		{"INTEGER", "int", "int(11)"},
		{"INT4 UNSIGNED", "int unsigned", "int(10) unsigned"},
		{"INT(5) ZEROFILL", "int(5) unsigned zerofill", "int(5) unsigned zerofill"},
		{"BIGINT ZEROFILL", "bigint(20) unsigned zerofill", "bigint(20) unsigned zerofill"},
		{"BOOL", "tinyint(1)", "tinyint(1)"},
		{"TINYINT(1) UNSIGNED", "tinyint unsigned", "tinyint(1) unsigned"},
		{"MIDDLEINT", "mediumint", "mediumint(9)"},
		{"SERIAL", "bigint unsigned", "bigint(20) unsigned"},
		{"NUMERIC(5)", "decimal(5,0)", "decimal(5,0)"},
		{"DEC", "decimal(10,0)", "decimal(10,0)"},
		{"REAL", "double", "double"},
		{"FLOAT(30)", "double", "double"},
		{"FLOAT(24)", "float", "float"},
		{"FLOAT(7,2) ZEROFILL", "float(7,2) unsigned zerofill", "float(7,2) unsigned zerofill"},
		{"YEAR", "year", "year(4)"},
		{"BIT", "bit(1)", "bit(1)"},
		{"CHARACTER", "char(1)", "char(1)"},
		{"CHAR(4) BYTE", "binary(4)", "binary(4)"},
		{"NATIONAL VARCHAR(5)", "varchar(5)", "varchar(5)"},
		{"VARCHAR(8) CHARACTER SET binary", "varbinary(8)", "varbinary(8)"},
		{"TEXT(20)", "tinytext", "tinytext"},
		{"TEXT(100)", "text", "text"},
		{"TEXT(100) CHARACTER SET latin1", "tinytext", "tinytext"},
		{"BLOB(70000)", "mediumblob", "mediumblob"},
		{"LONG VARCHAR", "mediumtext", "mediumtext"},
		{"JSON", "json", "longtext"},
		{"ENUM('a', \"it's\")", "enum('a','it''s')", "enum('a','it''s')"},
		{"DATETIME(0)", "datetime", "datetime"},
		{"TIMESTAMP(3)", "timestamp(3)", "timestamp(3)"},
		{"GEOMETRYCOLLECTION", "geomcollection", "geometrycollection"},
	} {
		for i, want := range []string{c.mysql, c.mariadb} {
			tr := NewTracker(Config{ServerTypes: true}, nil, nil)
			apply(t, tr, Statement{MariaDB: i == 1, Captured: all}, "CREATE TABLE t (a "+c.written+")")
			if got := tr.Known("d", "t").Columns[0].Type; got != want {
				t.Errorf("%s: %s, want %s", c.written, got, want)
			}
		}
	}
	tr := NewTracker(Config{ServerTypes: true}, nil, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (a TEXT, b TINYTEXT) CHARSET latin1", "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4")
	if got, want := shape(tr.Known("d", "t")), "a mediumtext, b text"; got != want {
		t.Errorf("converted: %s, want %s", got, want)
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
