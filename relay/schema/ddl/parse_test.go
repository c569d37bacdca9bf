package ddl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// brief writes results as "CREATE db.t; RENAME db.a>db.b".
func brief(results []Result) string {
	var all []string
	for _, r := range results {
		s := kinds[r.Kind] + " "
		if r.Kind == Rename {
			s += r.OldSchema + "." + r.OldTable + ">"
		}
		all = append(all, s+r.Schema+"."+r.Table)
	}
	return strings.Join(all, "; ")
}

// TestResults says what Canal announces: its own parser's tests, what running
// it showed, and the statements that it leaves out.
func TestResults(t *testing.T) {
	maria, ansi := Options{MariaDB: true}, Options{SQLMode: lex.ANSIQuotes}
	for _, c := range []struct {
		db, sql, want string
		o             Options
	}{
		// Canal's DruidDdlParserTest.
		{db: "retl", sql: "CREATE TABLE retl_mark ( `ID` int(11) )", want: "CREATE retl.retl_mark"},
		{db: "retl", sql: "CREATE TABLE IF NOT EXISTS retl.retl_mark (a int)", want: "CREATE retl.retl_mark"},
		{db: "retl", sql: "CREATE TABLE IF NOT EXISTS `retl_mark` (a int)", want: "CREATE retl.retl_mark"},
		{db: "retl", sql: "CREATE TABLE  `retl`.`retl_mark` (\n `ID` int(10) unsigned NOT NULL )", want: "CREATE retl.retl_mark"},
		{db: "bak", sql: "CREATE table `bak591`.`j_order_log_back_201309` like j_order_log", want: "CREATE bak591.j_order_log_back_201309"},
		{db: "bak", sql: "CREATE DEFINER=sco*erce@% PROCEDURE p() BEGIN START TRANSACTION; COMMIT; END", want: "QUERY ."},
		{db: "retl", sql: "CREATE TABLE performance_schema.cond_instances(`ID` int(10) unsigned NOT NULL )", want: "CREATE performance_schema.cond_instances"},
		{db: "retl", sql: "DROP TABLE retl_mark", want: "ERASE retl.retl_mark"},
		{db: "retl", sql: "DROP TABLE IF EXISTS test.retl_mark;", want: "ERASE test.retl_mark"},
		{db: "retl", sql: "DROP TABLE IF EXISTS \n \"test\".`retl_mark`;", want: "ERASE test.retl_mark", o: ansi},
		{db: "test", sql: "DROP TABLE IF EXISTS \n retl.retl_mark , retl_test", want: "ERASE retl.retl_mark; ERASE test.retl_test"},
		{db: "x", sql: "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `temp_bond_keys`.`temp_bond_key_id`;", want: "ERASE temp_bond_keys.temp_bond_key_id"},
		{db: "retl", sql: "alter table retl_mark drop index emp_name", want: "DINDEX retl.retl_mark"},
		{db: "x", sql: "alter table retl.retl_mark drop index emp_name , add index emp_name(id)", want: "DINDEX retl.retl_mark; CINDEX retl.retl_mark"},
		{db: "retl", sql: "truncate \n  retl.`retl_mark`", want: "TRUNCATE retl.retl_mark"},
		{db: "test", sql: "truncate \n  retl.retl_mark , retl_test", want: "TRUNCATE retl.retl_mark; TRUNCATE test.retl_test"},
		{db: "retl", sql: "rename table retl_mark to retl_mark2", want: "RENAME retl.retl_mark>retl.retl_mark2"},
		{db: "retl", sql: "rename table totl.retl_mark to totl2.retl_mark2", want: "RENAME totl.retl_mark>totl2.retl_mark2"},
		{
			db: "retl", sql: "rename \n table \n `retl`.`retl_mark` to `retl2`.`retl_mark2` , `retl1`.`retl_mark1` to `retl3`.`retl_mark3`;",
			want: "RENAME retl.retl_mark>retl2.retl_mark2; RENAME retl1.retl_mark1>retl3.retl_mark3",
		},
		{db: "retl", sql: "CREATE UNIQUE INDEX index_1 ON retl_mark(id,x)", want: "CINDEX retl.retl_mark"},
		{db: "retl", sql: "create index idx_qca_cid_mcid on q_contract_account (contract_id,main_contract_id)", want: "CINDEX retl.q_contract_account"},
		{db: "retl", sql: "DROP INDEX index_str ON retl_mark", want: "DINDEX retl.retl_mark"},
		{db: "db0", sql: "create database db1", want: "QUERY db1."},
		{db: "db0", sql: "create database if not exists `db 1` character set latin1", want: "QUERY `db 1`."},
		{db: "retl", sql: "drop database db1", want: "QUERY db1."},

		// One result per item; table options come first, whatever their place.
		{db: "d", sql: "ALTER TABLE t ADD INDEX i(a), COMMENT='x'", want: "ALTER d.t; CINDEX d.t"},
		{db: "d", sql: "ALTER TABLE t RENAME u, ADD COLUMN b INT", want: "RENAME d.t>d.u; ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t RENAME AS e.u", want: "RENAME d.t>e.u"},
		{db: "d", sql: "ALTER TABLE t ADD PRIMARY KEY (a)", want: "CINDEX d.t"},
		{db: "d", sql: "ALTER TABLE t ADD CONSTRAINT u UNIQUE (a)", want: "CINDEX d.t"},
		{db: "d", sql: "ALTER TABLE t ADD CONSTRAINT FOREIGN KEY (a) REFERENCES p (id) ON DELETE SET NULL", want: ""},
		{db: "d", sql: "ALTER TABLE t ADD CHECK (a > 0)", want: ""},
		{db: "d", sql: "ALTER TABLE t DROP FOREIGN KEY fk", want: "DINDEX d.t"},
		{db: "d", sql: "ALTER TABLE t DROP CONSTRAINT c", want: "DINDEX d.t"},
		{db: "d", sql: "ALTER TABLE t DROP CHECK c, DROP PRIMARY KEY", want: "ALTER d.t; ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t REMOVE PARTITIONING", want: ""},
		{db: "d", sql: "ALTER TABLE t PARTITION BY KEY (a) PARTITIONS 4", want: ""},
		{db: "d", sql: "ALTER TABLE t ADD COLUMN c INT AFTER b PARTITION BY KEY (a) PARTITIONS 4", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t TRUNCATE PARTITION p0, p1", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t DROP PARTITION p0, `p 1`", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t ADD PARTITION IF NOT EXISTS (PARTITION p3 VALUES LESS THAN (5))", want: "ALTER d.t", o: maria},
		{db: "d", sql: "ALTER TABLE t EXCHANGE PARTITION p1 WITH TABLE u WITHOUT VALIDATION", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t ORDER BY a, b DESC, ADD c INT", want: "ALTER d.t; ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t ALGORITHM=INPLACE, LOCK=NONE, ADD COLUMN q INT", want: "ALTER d.t; ALTER d.t; ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t ENGINE InnoDB ROW_FORMAT=DYNAMIC, FORCE", want: "ALTER d.t; ALTER d.t"},
		{db: "d", sql: "ALTER ONLINE IGNORE TABLE t ADD c INT", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE IF EXISTS t WAIT 5 ADD c INT", want: "ALTER d.t", o: maria},
		{db: "d", sql: "ALTER TABLE t", want: ""},
		{db: "d", sql: "CREATE OR REPLACE TABLE t (id INT)", want: "CREATE d.t", o: maria},
		{db: "d", sql: "CREATE TEMPORARY TABLE t (id INT)", want: "CREATE d.t"},
		{db: "d", sql: "RENAME TABLE IF EXISTS a WAIT 3 TO b", want: "RENAME d.a>d.b", o: maria},
		{db: "d", sql: "DROP TABLES a, b", want: "ERASE d.a; ERASE d.b"},
		{db: "d", sql: "CREATE FULLTEXT INDEX IF NOT EXISTS i ON e.t (a)", want: "CINDEX e.t", o: maria},
		{db: "d", sql: "CREATE SPATIAL INDEX i ON t (g)", want: "CINDEX d.t"},
		{db: "d", sql: "CREATE TABLE a (i INT); CREATE TABLE b (i INT)", want: "CREATE d.a; CREATE d.b"},

		// Statements as text.
		{db: "d", sql: "INSERT IGNORE INTO e.t VALUES (1), ('a;b')", want: "INSERT e.t"},
		{db: "d", sql: "UPDATE LOW_PRIORITY t AS x SET a = 1", want: "UPDATE d.t"},
		{db: "d", sql: "UPDATE t, u SET t.a = u.a", want: "UPDATE d.t; UPDATE d."},
		{db: "d", sql: "UPDATE `e`.t AS x JOIN u USING (a) SET x.b = 1", want: "UPDATE e.t; UPDATE d."},
		{db: "d", sql: "DELETE FROM t WHERE a = 1", want: "DELETE d.t"},
		{db: "d", sql: "DELETE t, u FROM t JOIN u", want: "DELETE d."},
		{db: "d", sql: "DELETE u.* FROM t JOIN u", want: "DELETE d.u; DELETE d."},
		{db: "d", sql: "DELETE FROM u USING t JOIN u", want: "DELETE d.u; DELETE d."},
		{db: "d", sql: "WITH x AS (SELECT 1) UPDATE t SET a = 1", want: "UPDATE d.t"},
		{db: "d", sql: "WITH x AS (SELECT 1) SELECT * FROM x", want: ""},
		{db: "d", sql: "REPLACE INTO t VALUES (1)", want: ""},
		{db: "d", sql: "LOAD DATA INFILE 'x' INTO TABLE t", want: ""},
		{db: "d", sql: "ALTER DATABASE d CHARACTER SET latin1", want: ""},
		{db: "d", sql: "CREATE OR REPLACE ALGORITHM=MERGE DEFINER='a'@'%' SQL SECURITY INVOKER VIEW v AS SELECT 1", want: ""},
		{db: "d", sql: "CREATE DEFINER=CURRENT_USER() PROCEDURE p() BEGIN DROP TABLE t; END", want: ""},
		{db: "d", sql: "CREATE SEQUENCE s START WITH 5", want: "", o: maria},
		{db: "d", sql: "RENAME USER a TO b", want: ""},
		{db: "d", sql: "/* nothing */ -- at all", want: ""},
		{db: "d", sql: "CREATE RESOURCE GROUP g TYPE = USER", want: "QUERY ."},
		{db: "d", sql: "FROBNICATE t", want: "QUERY ."},

		// Comments and names.
		{db: "d", sql: "# c\n-- d\n/* e */ CREATE /* f */ TABLE t(id int)", want: "CREATE d.t"},
		{db: "d", sql: "/*!50000 create table t1(id int) */", want: "CREATE d.t1"},
		{db: "d", sql: "/*!99999 create table t1(id int) */", want: ""},
		{db: "d", sql: "/*!40000 ALTER TABLE `t` DISABLE KEYS */", want: ""},
		{db: "d", sql: "/*!50000 CREATE INDEX i ON t (a) */", want: ""},
		{db: "d", sql: "/*!40000 ALTER TABLE t ADD a INT */", want: "ALTER d.t"},
		{db: "d", sql: "ALTER TABLE t /*!40000 DISABLE KEYS */", want: "ALTER d.t"},
		{db: "d", sql: "/*!50000 UPDATE t SET a = 1 */", want: "UPDATE d.t"},
		{db: "d", sql: "/*!50701 create table t1(id int) */", want: "", o: maria},
		{db: "d", sql: "/*!100100 create table t1(id int) */", want: "CREATE d.t1", o: maria},
		{db: "d", sql: "/*M!100100 create table t1(id int) */", want: "CREATE d.t1", o: maria},
		{db: "d", sql: "/*M!100100 create table t1(id int) */", want: ""},
		{db: "d", sql: "/*!80000 create table t1(id int) */", want: "", o: Options{Version: 50744}},
		{db: "d", sql: "/*! create table t1(id int) */", want: "CREATE d.t1"},
		{db: "d", sql: "CREATE TABLE `we.ird ``tbl` (id int)", want: "CREATE d.we.ird `tbl"},
		{db: "d", sql: `CREATE TABLE "a""b" ("x" int)`, want: `CREATE d.a"b`, o: ansi},
		{db: "d", sql: "CREATE TABLE my_db.123num (1st INT)", want: "CREATE my_db.123num"},
		{db: "d", sql: "CREATE TABLE d2.1e5 (a INT)", want: "CREATE d2.1e5"},
		{db: "d", sql: "create table db . t (id int)", want: "CREATE db.t"},
		{db: "d", sql: "CREATE TABLE 动物 (编号 INT)", want: "CREATE d.动物"},
		{db: "d", sql: "RENAME TABLE `to` TO `rename table`", want: "RENAME d.to>d.rename table"},
		{db: "", sql: "ALTER TABLE shop.o ADD y INT", want: "ALTER shop.o"},
		{db: "d", sql: `ALTER TABLE t COMMENT 'it\'s; DROP TABLE x', ADD INDEX i (a)`, want: "ALTER d.t; CINDEX d.t"},
		{db: "d", sql: `ALTER TABLE t COMMENT 'back\', ADD INDEX i (a)`, want: "ALTER d.t; CINDEX d.t", o: Options{SQLMode: lex.NoBackslashEscapes}},
	} {
		st, err := Parse(c.sql, c.db, c.o)
		if err != nil {
			t.Errorf("%q: %v", c.sql, err)
		}
		if got := brief(st.Results); got != c.want {
			t.Errorf("%q: %s, want %s", c.sql, got, c.want)
		}
	}
}

// TestNotUnderstood keeps the names that were read before the point where
// reading ends.
func TestNotUnderstood(t *testing.T) {
	for _, c := range []struct{ sql, want, forgotten string }{
		{"ALTER TABLE e.t FROBNICATE a", "ALTER e.t", "{e t}"},
		{"ALTER TABLE t ADD COLUMN a", "ALTER d.t", "{d t}"},
		{"ALTER TABLE t ADD COLUMN a INT FIRST b", "ALTER d.t", "{d t}"},
		{"ALTER TABLE t ADD a INT, RENAME COLUMN b", "ALTER d.t", "{d t}"},
		{"CREATE TABLE t (a INT", "CREATE d.t", "{d t}"},
		{"CREATE TABLE t (a)", "CREATE d.t", "{d t}"},
		{"RENAME TABLE t", "RENAME d.>d.t", "{d t}"},
		{"CREATE TABLE x (a INT); ALTER TABLE t NONSENSE", "CREATE d.x; ALTER d.t", "{d t}"},
		{"CREATE TABLE `t (a INT)", "QUERY .", ""},
		{"ALTER TABLE /* t ADD a INT", "QUERY .", ""},
		{"DROP TABLE", "QUERY .", ""},
	} {
		st, err := Parse(c.sql, "d", Options{})
		if !errors.Is(err, ErrSyntax) {
			t.Errorf("%q: %v, want ErrSyntax", c.sql, err)
			continue
		}
		got := strings.Replace(brief(st.Results), "RENAME .>", "RENAME d.>", 1)
		forgotten := ""
		for _, x := range st.Changes {
			if f, ok := x.(Forget); ok {
				forgotten = fmt.Sprint(f.Name)
			}
		}
		if got != c.want || forgotten != c.forgotten {
			t.Errorf("%q: %q forgets %q, want %q and %q", c.sql, got, forgotten, c.want, c.forgotten)
		}
	}
}

// TestColumns reads one column of each kind: how it is written in mysqlType and
// what the server makes of it.
func TestColumns(t *testing.T) {
	maria := Options{MariaDB: true}
	for _, c := range []struct {
		def  string
		want Column
		o    Options
	}{
		{"a INT", Column{Type: "INT", Base: "int", Nullable: true}, Options{}},
		{"a Integer ( 11 ) Unsigned NOT NULL", Column{Type: "Integer(11) unsigned", Base: "int", Args: []string{"11"}, Unsigned: true}, Options{}},
		{"a INT(5) ZEROFILL", Column{Type: "INT(5) unsigned zerofill", Base: "int", Args: []string{"5"}, Unsigned: true, Nullable: true}, Options{}},
		{"a DECIMAL(10 , 2) ZEROFILL UNSIGNED", Column{Type: "DECIMAL(10,2) unsigned zerofill", Base: "decimal", Args: []string{"10", "2"}, Unsigned: true, Nullable: true}, Options{}},
		{"a BOOL KEY", Column{Type: "BOOL", Base: "tinyint", PrimaryKey: true}, Options{}},
		{"a FLOAT(24)", Column{Type: "FLOAT(24)", Base: "float", Args: []string{"24"}, Nullable: true}, Options{}},
		{"a FLOAT(25)", Column{Type: "double(25)", Base: "double", Args: []string{"25"}, Nullable: true}, Options{}},
		{"a REAL", Column{Type: "REAL", Base: "double", Nullable: true}, Options{}},
		{"a REAL", Column{Type: "REAL", Base: "float", Nullable: true}, Options{SQLMode: lex.RealAsFloat}},
		{"a DOUBLE  PRECISION", Column{Type: "DOUBLE PRECISION", Base: "double", Nullable: true}, Options{}},
		{"a SERIAL", Column{Type: "SERIAL", Base: "bigint", Unsigned: true}, Options{}},
		{"a INT SERIAL DEFAULT VALUE", Column{Type: "INT", Base: "int"}, Options{}},
		{"a NATIONAL VARCHAR(20)", Column{Type: "NATIONAL VARCHAR(20)", Base: "varchar", Args: []string{"20"}, Charset: "utf8mb3", Nullable: true}, Options{}},
		{"a CHARACTER VARYING(20) CHARACTER SET Latin1", Column{Type: "CHARACTER VARYING(20)", Base: "varchar", Args: []string{"20"}, Charset: "latin1", Nullable: true}, Options{}},
		{"a CHAR BYTE", Column{Type: "CHAR", Base: "char", Charset: "binary", Nullable: true}, Options{}},
		{"a TEXT(300) ASCII", Column{Type: "TEXT(300)", Base: "text", Args: []string{"300"}, Charset: "latin1", Nullable: true}, Options{}},
		{"a VARCHAR(20) BINARY COLLATE 'utf8mb4_bin'", Column{Type: "VARCHAR(20)", Base: "varchar", Args: []string{"20"}, Collation: "utf8mb4_bin", Nullable: true}, Options{}},
		{"a LONG", Column{Type: "LONG", Base: "mediumtext", Nullable: true}, Options{}},
		{"a LONG VARCHAR CHARACTER SET latin1", Column{Type: "LONG VARCHAR", Base: "mediumtext", Charset: "latin1", Nullable: true}, Options{}},
		{"a LONG CHAR SET latin1", Column{Type: "LONG", Base: "mediumtext", Charset: "latin1", Nullable: true}, Options{}},
		{"a LONG VARBINARY", Column{Type: "LONG VARBINARY", Base: "mediumblob", Nullable: true}, Options{}},
		{"a JSON", Column{Type: "JSON", Base: "json", Nullable: true}, Options{}},
		{"a JSON", Column{Type: "JSON", Base: "longtext", Charset: "utf8mb4", Collation: "utf8mb4_bin", Nullable: true}, maria},
		{"a GEOMCOLLECTION SRID 4326", Column{Type: "GEOMCOLLECTION", Base: "geometrycollection", Nullable: true}, Options{}},
		{"a VECTOR(3)", Column{Type: "VECTOR(3)", Base: "vector", Args: []string{"3"}, Nullable: true}, Options{}},
		{"a UUID DEFAULT UUID() NOT NULL", Column{Type: "UUID", Base: "uuid"}, maria},
		{"a VARCHAR(10) COMPRESSED=zlib DEFAULT 'x'", Column{Type: "VARCHAR(10)", Base: "varchar", Args: []string{"10"}, Nullable: true}, maria},
		{`a ENUM('it''s', "a,b", 'c\\d', 'e\'f', x'67', 0x68)`, Column{
			Type: `ENUM('it''s','a,b','c\\d','e''f','g','h')`, Base: "enum",
			Args: []string{"it's", "a,b", `c\d`, "e'f", "g", "h"}, Nullable: true,
		}, Options{}},
		{"a INT GENERATED ALWAYS AS (b + (1)) STORED NOT NULL", Column{Type: "INT", Base: "int", Generated: true}, Options{}},
		{"a TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE", Column{Type: "TIMESTAMP(6)", Base: "timestamp", Args: []string{"6"}, RowEnd: true, Invisible: true}, maria},
		{"a INT /*!80023 INVISIBLE */", Column{Type: "INT", Base: "int", Invisible: true, Nullable: true}, Options{}},
		{"a INT REFERENCES p (id) MATCH FULL ON DELETE SET NULL ON UPDATE NO ACTION NOT NULL", Column{Type: "INT", Base: "int"}, Options{}},
		{"a INT DEFAULT -1 KEY", Column{Type: "INT", Base: "int", PrimaryKey: true}, Options{}},
		{"a DATETIME(3) DEFAULT NOW(3) ON UPDATE NOW(3) NOT NULL UNIQUE KEY", Column{Type: "DATETIME(3)", Base: "datetime", Args: []string{"3"}, Unique: true}, Options{}},
		{"a DATE DEFAULT DATE '2020-01-01' COMMENT 'PRIMARY KEY' CHECK (a > (1))", Column{Type: "DATE", Base: "date", Nullable: true}, Options{}},
		{"a INT DEFAULT NEXT VALUE FOR d.s NOT NULL", Column{Type: "INT", Base: "int"}, maria},
		{"a DOUBLE DEFAULT +1.5e-3 NOT NULL", Column{Type: "DOUBLE", Base: "double"}, Options{}},
		{"a VARCHAR(9) DEFAULT _utf8mb4'k' 'l' NOT NULL", Column{Type: "VARCHAR(9)", Base: "varchar", Args: []string{"9"}}, Options{}},
		{"a VARCHAR(9) DEFAULT CONCAT('a', 1) COLLATE latin1_bin", Column{Type: "VARCHAR(9)", Base: "varchar", Args: []string{"9"}, Collation: "latin1_bin", Nullable: true}, maria},
		{"a VARCHAR2(10 CHAR)", Column{Type: "VARCHAR2(10 CHAR)", Base: "varchar", Args: []string{"10 CHAR"}, Nullable: true}, maria},
		{"a mariadb_schema.date", Column{Type: "date", Base: "date", Nullable: true}, maria},
		{"a INT WITHOUT SYSTEM VERSIONING", Column{Type: "INT", Base: "int", Nullable: true}, maria},
	} {
		st, err := Parse("CREATE TABLE t ("+c.def+", KEY (a))", "d", c.o)
		if err != nil {
			t.Errorf("%q: %v", c.def, err)
			continue
		}
		c.want.Name = "a"
		got := st.Changes[0].(CreateTable).Columns
		if diff := cmp.Diff([]Column{c.want}, got); diff != "" {
			t.Errorf("%q: %s", c.def, diff)
		}
	}
}

// FuzzParse feeds anything: no text may hang or panic the reader.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"CREATE TABLE t (a ENUM('x','y') DEFAULT 'x', PRIMARY KEY (a)) ENGINE=InnoDB", "ALTER TABLE t ADD (a INT, b INT), ORDER BY a, RENAME u",
		"/*!50000 CREATE */ TABLE t LIKE u", "RENAME TABLE a TO b, c TO d", "CREATE TABLE t (PERIOD FOR p (a, b), PRIMARY KEY (i, p WITHOUT OVERLAPS))",
		"CREATE SEQUENCE s", "ALTER TABLE t CONVERT PARTITION p TO TABLE u", "DROP TABLE `a", "CREATE TABLE t (a INT DEFAULT 'a\\", "DELIMITER //\nx//",
	} {
		f.Add(s, uint64(lex.ANSIQuotes), true)
		f.Add(s, uint64(0), false)
	}
	f.Fuzz(func(t *testing.T, sql string, mode uint64, maria bool) {
		st, err := Parse(sql, "d", Options{SQLMode: mode, MariaDB: maria})
		if err != nil && len(st.Results) == 0 {
			t.Error("an error without a result")
		}
		lex.SplitStatements(sql)
	})
}
