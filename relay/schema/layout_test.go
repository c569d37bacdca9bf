package schema

import (
	"slices"
	"strings"
	"testing"
)

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
		{name: "rename with an equals sign", sql: []string{"CREATE TABLE x (a INT)", "ALTER TABLE x RENAME = t, ADD b INT"}, want: "a INT, b INT"},
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
		{
			name: "system versioning of one's own becomes hidden", q: maria,
			sql: []string{"CREATE TABLE t (a INT KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, " +
				"PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING", "ALTER TABLE t CHANGE e f TIMESTAMP(6) GENERATED ALWAYS AS ROW END", "ALTER TABLE t DROP s, DROP f"},
			want: "a INT, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY a",
		},
		{
			name: "system versioning of one's own dropped", q: maria,
			sql: []string{"CREATE TABLE t (a INT KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, " +
				"PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING", "ALTER TABLE t DROP SYSTEM VERSIONING, DROP s, DROP e"},
			want: "a INT KEY a",
		},
		{
			name: "system versioning of one's own added", q: maria,
			sql: []string{"CREATE TABLE t (a INT KEY)", "ALTER TABLE t ADD COLUMN s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, " +
				"ADD COLUMN e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, ADD PERIOD FOR SYSTEM_TIME (s, e), ADD SYSTEM VERSIONING"},
			want: "a INT, s TIMESTAMP(6), e TIMESTAMP(6) KEY a,e",
		},
		{
			name: "system versioning by a column", q: maria, sql: []string{"CREATE TABLE t (a INT KEY, b INT WITH SYSTEM VERSIONING, c INT WITHOUT SYSTEM VERSIONING)"},
			want: "a INT, b INT, c INT, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY a",
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

// A conversion to wider characters makes a wider type of a text, whatever its type was written as: a table map says so.
func TestConversionWidens(t *testing.T) {
	for _, serverTypes := range []bool{false, true} {
		tr := NewTracker(Config{ServerTypes: serverTypes}, nil, nil)
		apply(t, tr, Statement{}, "CREATE TABLE t (a TEXT, b TINYTEXT, c MEDIUMTEXT, d LONGTEXT, e BLOB, f TEXT CHARACTER SET utf8mb4, g VARCHAR(9)) CHARSET latin1",
			"ALTER TABLE t CONVERT TO CHARACTER SET utf16, ADD h TEXT CHARACTER SET latin1")
		var got []string
		for _, c := range tr.Known("d", "t").Columns {
			got = append(got, c.Base)
		}
		if want := []string{"mediumtext", "text", "longtext", "longtext", "blob", "text", "varchar", "text"}; !slices.Equal(got, want) {
			t.Errorf("types as the server has them: %v: %q, want %q", serverTypes, got, want)
		}
	}
}

// TestConversionBesideADefault: on MariaDB the default that stands beside a conversion is for columns of later, wherever it
// stands. Seen on a server; MySQL refuses two that differ.
func TestConversionBesideADefault(t *testing.T) {
	for _, sql := range []string{
		"ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ADD x TEXT, DEFAULT CHARACTER SET cp1251",
		"ALTER TABLE t DEFAULT CHARACTER SET cp1251, ADD x TEXT, CONVERT TO CHARACTER SET utf8mb4",
	} {
		tr := NewTracker(DefaultConfig(), nil, nil)
		apply(t, tr, Statement{MariaDB: true, Captured: all}, "CREATE TABLE t (a TEXT, b VARCHAR(30)) CHARACTER SET latin1", sql, "ALTER TABLE t ADD y CHAR(3)")
		var got []string
		for _, c := range tr.Known("d", "t").Columns {
			got = append(got, c.Base+" "+c.Charset)
		}
		if want := []string{"mediumtext utf8mb4", "varchar utf8mb4", "text utf8mb4", "char cp1251"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// MySQL keeps an invisible key that it made in front of what goes FIRST. Seen on a server.
func TestInvisibleKeyStaysFirst(t *testing.T) {
	const made = "CREATE TABLE t (`my_row_id` bigint unsigned NOT NULL AUTO_INCREMENT /*!80023 INVISIBLE */, a INT, b INT, PRIMARY KEY (`my_row_id`))"
	for _, c := range []struct {
		sql  []string
		want string
	}{
		{[]string{made, "ALTER TABLE t MODIFY b INT FIRST, ADD c INT FIRST"}, "my_row_id,c,b,a"},
		{[]string{made, "ALTER TABLE t ALTER my_row_id SET VISIBLE, ADD c INT FIRST", "ALTER TABLE t ADD d INT FIRST"}, "d,my_row_id,c,a,b"},
		{[]string{made, "ALTER TABLE t DROP my_row_id, ADD c INT FIRST"}, "c,a,b"},
		{[]string{"CREATE TABLE t (a INT, my_row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT INVISIBLE PRIMARY KEY)", "ALTER TABLE t ADD c INT FIRST"}, "c,a,my_row_id"},
		{[]string{"CREATE TABLE t (my_row_id BIGINT UNSIGNED NOT NULL INVISIBLE, a INT PRIMARY KEY)", "ALTER TABLE t ADD c INT FIRST"}, "c,my_row_id,a"},
	} {
		tr := NewTracker(DefaultConfig(), nil, nil)
		apply(t, tr, Statement{Version: 90700}, c.sql...)
		var names []string
		for _, c := range tr.Known("d", "t").Columns {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, ","); got != c.want {
			t.Errorf("%s: %s, want %s", c.sql[1:], got, c.want)
		}
	}
}
