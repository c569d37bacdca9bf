package schema

import (
	"strings"
	"testing"
)

// TestFieldCases runs statements that have broken readers in the field: the
// layout after each is what SHOW CREATE TABLE says there on the named server.
// Case ids are those of the collection of field cases.
func TestFieldCases(t *testing.T) {
	const mysql, maria = 90704, 101119
	type step struct{ sql, table, want string }
	for _, c := range []struct {
		id      string
		servers []uint32
		start   []string
		steps   []step
	}{
		{"DDL-01", []uint32{mysql, maria}, []string{"CREATE TABLE t (id INT PRIMARY KEY, y INT, e ENUM('x','y'))"}, []step{
			{"ALTER TABLE t ADD COLUMN x INT AFTER id", "d.t", "id INT, x INT, y INT, e ENUM('x','y') KEY id"},
			{"ALTER TABLE t DROP COLUMN y", "d.t", "id INT, x INT, e ENUM('x','y') KEY id"},
			{"ALTER TABLE t MODIFY e enum('w','x','y')", "d.t", "id INT, x INT, e enum('w','x','y') KEY id"},
			{"DROP TABLE t", "d.t", "unknown"},
			{"CREATE TABLE t (e ENUM('x'), id INT)", "d.t", "e ENUM('x'), id INT"},
		}},
		{"DDL-04", []uint32{mysql}, nil, []step{
			{"CREATE TABLE `c2` (\n  `id` int NOT NULL,\n  `v` varchar(9) DEFAULT NULL\n) START TRANSACTION", "d.c2", "id int, v varchar(9)"},
		}},
		{"DDL-06", []uint32{mysql, maria}, []string{"CREATE TABLE a.x (p INT)", "CREATE TABLE a.y (q INT)", "CREATE TABLE a.`to` (z INT)", "CREATE TABLE d.w (w INT)", "CREATE TABLE d.v (v INT)"}, []step{
			{"RENAME TABLE a.x TO a.x_tmp, a.y TO a.x, a.x_tmp TO a.y", "a.x", "q INT"},
			{"RENAME TABLE `a`.`to`\n TO /* there */ `b` . `rename table`", "b.rename table", "z INT"},
			{"ALTER TABLE w RENAME TO b.w", "b.w", "w INT"},
			{"ALTER TABLE v RENAME AS y", "d.y", "v INT"},
			{"TRUNCATE TABLE a.y", "a.y", "p INT"},
		}},
		{"DDL-07", []uint32{mysql, maria}, []string{"CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT)"}, []step{
			{"ALTER TABLE t RENAME COLUMN a TO a1, RENAME COLUMN b TO b1", "d.t", "id INT, a1 INT, b1 INT, c INT KEY id"},
			{"ALTER TABLE t CHANGE a1 a2 INT AFTER c, ADD COLUMN k INT AFTER a2", "d.t", "id INT, b1 INT, c INT, a2 INT, k INT KEY id"},
			{"ALTER TABLE t RENAME COLUMN id TO pk_id", "d.t", "pk_id INT, b1 INT, c INT, a2 INT, k INT KEY pk_id"},
		}},
		{"DDL-10", []uint32{mysql, maria}, []string{"CREATE TABLE r (id INT, ts TIMESTAMP NOT NULL) PARTITION BY RANGE (UNIX_TIMESTAMP(ts)) (PARTITION p0 VALUES LESS THAN (1000), PARTITION `p 1` VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE h (id INT) PARTITION BY HASH (id) PARTITIONS 4", "CREATE TABLE u (id INT)"}, []step{
			{"ALTER TABLE r REORGANIZE PARTITION `p 1` INTO (PARTITION p1 VALUES LESS THAN (2000), PARTITION p2 VALUES LESS THAN MAXVALUE)", "d.r", "id INT, ts TIMESTAMP"},
			{"ALTER TABLE r DROP PARTITION p0", "d.r", "id INT, ts TIMESTAMP"},
			{"ALTER TABLE r TRUNCATE PARTITION p1", "d.r", "id INT, ts TIMESTAMP"},
			{"ALTER TABLE r EXCHANGE PARTITION p1 WITH TABLE u WITHOUT VALIDATION", "d.u", "id INT"},
			{"ALTER TABLE h ADD PARTITION PARTITIONS 2", "d.h", "id INT"},
			{"ALTER TABLE h COALESCE PARTITION 3", "d.h", "id INT"},
			{"ALTER TABLE h REMOVE PARTITIONING", "d.h", "id INT"},
		}},
		{"DDL-12", []uint32{mysql}, []string{"CREATE TABLE par (id INT)"}, []step{
			{"ALTER TABLE par /*!80000 ADD COLUMN vis INT */", "d.par", "id INT, vis INT"},
			{"ALTER TABLE par ADD b INT /*!99999 , ADD COLUMN never INT */", "d.par", "id INT, vis INT, b INT"},
			{"CREATE TABLE du (a INT, b INT /*!80023 INVISIBLE */) /*!50100 PARTITION BY HASH (a) */", "d.du", "a INT, b INT hidden"},
		}},
		{"DDL-12 on MariaDB", []uint32{maria}, []string{"CREATE TABLE par (id INT)"}, []step{
			{"ALTER TABLE par /*!100100 ADD COLUMN a INT */", "d.par", "id INT, a INT"},
			{"ALTER TABLE par /*M!100100 ADD COLUMN b INT */", "d.par", "id INT, a INT, b INT"},
			{"ALTER TABLE par ADD c INT /*!80000 , ADD COLUMN never INT */", "d.par", "id INT, a INT, b INT, c INT"},
		}},
		{"DDL-13", []uint32{mysql}, nil, []step{
			{"CREATE TABLE dx(id int primary key, u varchar(36) default (uuid()), j json default (json_object('a',1)), d date default (curdate()), c varchar(9) default ('a b'), n decimal(5,2) default +1.25, constraint ck check (n>0), key fi ((lower(c))), index ((cast(j->>\"$.a\" as char(10)))))",
				"d.dx", "id int, u varchar(36), j json, d date, c varchar(9), n decimal(5,2) KEY id"},
		}},
		{"DDL-16", []uint32{maria}, []string{"CREATE TABLE t (a INT, b INT, KEY k (b)) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (9))"}, []step{
			{"ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT", "d.t", "a INT, b INT, c INT"},
			{"ALTER TABLE t ADD COLUMN IF NOT EXISTS c TEXT FIRST", "d.t", "a INT, b INT, c INT"},
			{"ALTER TABLE t MODIFY COLUMN IF EXISTS c BIGINT", "d.t", "a INT, b INT, c BIGINT"},
			{"ALTER TABLE t MODIFY COLUMN IF EXISTS nope BIGINT", "d.t", "a INT, b INT, c BIGINT"},
			{"ALTER TABLE t RENAME COLUMN IF EXISTS c TO d", "d.t", "a INT, b INT, d BIGINT"},
			{"ALTER TABLE t RENAME COLUMN IF EXISTS c TO e", "d.t", "a INT, b INT, d BIGINT"},
			{"ALTER TABLE t DROP INDEX IF EXISTS k, DROP INDEX IF EXISTS k2", "d.t", "a INT, b INT, d BIGINT"},
			{"ALTER TABLE t ADD PARTITION IF NOT EXISTS (PARTITION p0 VALUES LESS THAN (9))", "d.t", "a INT, b INT, d BIGINT"},
			{"ALTER TABLE t DROP COLUMN IF EXISTS d", "d.t", "a INT, b INT"},
			{"ALTER TABLE t DROP COLUMN IF EXISTS d", "d.t", "a INT, b INT"},
		}},
		{"DDL-18", []uint32{maria}, nil, []step{
			{"CREATE TABLE sv(id int primary key, x int) WITH SYSTEM VERSIONING", "d.sv", "id int, x int, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY id"},
			{"ALTER TABLE sv ADD y INT", "d.sv", "id int, x int, y INT, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY id"},
			{"ALTER TABLE sv DROP SYSTEM VERSIONING", "d.sv", "id int, x int, y INT KEY id"},
			{"ALTER TABLE sv ADD SYSTEM VERSIONING", "d.sv", "id int, x int, y INT, row_start timestamp(6) hidden, row_end timestamp(6) hidden KEY id"},
		}},
		{"DDL-20", []uint32{mysql, maria}, nil, []step{
			{"CREATE TABLE `my-db`.`we.ird ``tbl`(`id` int primary key, `a.b` int, `order` int, `yes` int, `sequence` int, `encrypted` int)", "my-db.we.ird `tbl", "id int, a.b int, order int, yes int, sequence int, encrypted int KEY id"},
			{"ALTER TABLE `my-db`.`we.ird ``tbl` DROP `a.b`", "my-db.we.ird `tbl", "id int, order int, yes int, sequence int, encrypted int KEY id"},
		}},
		{"DDL-24", []uint32{mysql, maria}, nil, []step{
			{"CREATE TABLE shop.o(id int primary key)", "shop.o", "id int KEY id"},
			{"ALTER TABLE shop.o ADD x INT", "shop.o", "id int, x INT KEY id"},
			{"DROP TABLE shop.o, other.o", "shop.o", "unknown"},
		}},
		{"DDL-26", []uint32{mysql, maria}, []string{"CREATE TABLE a (x INT)", "CREATE TABLE b (x INT)", "CREATE TABLE t (x INT)"}, []step{
			{"DROP TABLE IF EXISTS `a`,`nosuch`,`b` /* generated by server */", "d.b", "unknown"},
			{"CREATE TEMPORARY TABLE t (y TEXT)", "d.t", "x INT"},
			{"DROP TEMPORARY TABLE t", "d.t", "x INT"},
			{"DROP TEMPORARY TABLE IF EXISTS `t` /* generated by server */", "d.t", "x INT"},
		}},
	} {
		for _, version := range c.servers {
			tr := NewTracker(DefaultConfig(), nil, nil)
			q := Statement{MariaDB: version == maria, Version: version, Captured: all}
			apply(t, tr, q, c.start...)
			for _, s := range c.steps {
				apply(t, tr, q, s.sql)
				schema, table, _ := strings.Cut(s.table, ".")
				if got := shape(tr.Known(schema, table)); got != s.want {
					t.Errorf("%s, server %d: after %s\n%s is %s\nwant %s", c.id, version, s.sql, s.table, got, s.want)
				}
			}
			if tr.NotUnderstood() > 0 {
				t.Errorf("%s, server %d: %d statements not understood", c.id, version, tr.NotUnderstood())
			}
		}
	}
}

// TestStatementsOfOthers: statements that no reader knows stop nothing unless
// they are about a captured table. DDL-21.
func TestStatementsOfOthers(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	q := Statement{Version: 90704, Captured: func(schema, _ string) bool { return schema == "d" }}
	apply(t, tr, q, "CREATE TABLE t (id INT)", "CREATE RESOURCE GROUP rg TYPE = USER VCPU = 0", "ALTER INSTANCE ROTATE INNODB MASTER KEY",
		"CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ export function f() { return ';' } $$", "ALTER TABLE other.t FROBNICATE 7")
	if got := shape(tr.Known("d", "t")); got != "id INT" {
		t.Errorf("t is %s", got)
	}
	_, err := tr.Apply(t.Context(), Statement{SQL: "ALTER TABLE t FROBNICATE 7", Database: "d", Captured: q.Captured, At: at(990)})
	for _, part := range []string{"d.t", "FROBNICATE", "990"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

// A statement that uses a temporary table of its session changes no other table of that name. DDL-26.
func TestTemporaryOfTheSession(t *testing.T) {
	tr := NewTracker(DefaultConfig(), nil, nil)
	apply(t, tr, Statement{}, "CREATE TABLE t (id INT KEY, v INT)", "CREATE TABLE like_t (a INT)")
	q := Statement{Session: true, Captured: all}
	apply(t, tr, q, "CREATE TEMPORARY TABLE t (z INT, y INT)", "ALTER TABLE t DROP z", "ALTER TABLE t ADD w INT", "CREATE INDEX i ON t (y)", "CREATE TABLE l LIKE t",
		"ALTER TABLE t RENAME TO u", "DROP TEMPORARY TABLE u", "DROP TABLE IF EXISTS u, like_t")
	if got := shape(tr.Known("d", "t")); got != "id INT, v INT KEY id" {
		t.Errorf("t is %s", got)
	}
	for _, name := range []string{"l", "u", "like_t"} {
		if tr.Known("d", name) != nil {
			t.Errorf("%s is %s", name, shape(tr.Known("d", name)))
		}
	}
}
