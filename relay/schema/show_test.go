package schema

import (
	"strings"
	"testing"
)

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
		{"VARCHAR(16383)", "varchar(16383)", "varchar(16383)"},
		{"VARCHAR(16384)", "mediumtext", "mediumtext"}, // unless sql_mode is strict
		{"VARCHAR(65535) CHARACTER SET latin1", "varchar(65535)", "varchar(65535)"},
		{"VARBINARY(70000)", "mediumblob", "mediumblob"},
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

// TestChangedAndConverted: what MySQL makes of a column whose type the same ALTER TABLE changes and converts to utf8mb4,
// latin1 and gbk. MariaDB takes the type as it is written. Seen on the servers.
func TestChangedAndConverted(t *testing.T) {
	for _, c := range []struct{ was, now, mysql, mariadb string }{
		{"INT", "TEXT", "tinytext tinytext tinytext", "text text text"},
		{"DECIMAL(65,30)", "TEXT", "text tinytext tinytext", "text text text"},
		{"DECIMAL(62,0)", "TEXT", "tinytext tinytext tinytext", "text text text"},
		{"BIT(64)", "TEXT", "text tinytext tinytext", "text text text"},
		{"VARCHAR(300) CHARACTER SET latin1", "TINYTEXT", "text text text", "tinytext tinytext tinytext"},
		{"VARCHAR(300) CHARACTER SET utf8mb4", "TEXT CHARACTER SET latin1", "text tinytext tinytext", "text text text"},
		{"TINYTEXT CHARACTER SET latin1", "MEDIUMTEXT", "text tinytext text", "mediumtext mediumtext mediumtext"},
		{"TEXT CHARACTER SET utf8mb4", "TINYTEXT", "text text text", "tinytext tinytext tinytext"},
		{"TEXT CHARACTER SET latin1", "TEXT CHARACTER SET latin1", "mediumtext text mediumtext", "text text text"},
		{"MEDIUMTEXT CHARACTER SET latin1", "TEXT", "longtext mediumtext longtext", "text text text"},
		{"JSON", "TEXT", "longtext longtext longtext", "text text text"},
		{"TINYBLOB", "TEXT", "text tinytext text", "text text text"},
		{"VARBINARY(20)", "TEXT(300)", "text text text", "text text text"},
		{"VARBINARY(20)", "LONGTEXT", "longtext longtext longtext", "longtext longtext longtext"},
		{"INT", "VARCHAR(20000) CHARACTER SET latin1", "mediumtext varchar(20000) varchar(20000)", "mediumtext varchar(20000) varchar(20000)"},
		{"ENUM('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", "TEXT", "text tinytext tinytext", "text text text"},
		{"INT", "VARCHAR(20000) CHARACTER SET utf8mb4", "mediumtext varchar(20000) varchar(20000)", "mediumtext varchar(20000) varchar(20000)"},
		{"INT", "VARCHAR(40000) CHARACTER SET utf8mb4", "mediumtext varchar(40000) mediumtext", "mediumtext varchar(40000) mediumtext"},
		{"INT", "TEXT(20000) CHARACTER SET utf8mb4", "mediumtext text text", "mediumtext text text"},
		{"INT", "TEXT(100) CHARACTER SET utf8mb4", "text tinytext tinytext", "text tinytext tinytext"},
		{"DECIMAL(65,30)", "BLOB", "tinyblob tinyblob tinyblob", "blob blob blob"},
		{"VARCHAR(300) CHARACTER SET latin1", "BLOB", "blob blob blob", "blob blob blob"},
		{"VARCHAR(300) CHARACTER SET utf8mb4", "BLOB", "tinyblob tinyblob tinyblob", "blob blob blob"},
		{"TEXT CHARACTER SET utf8mb4", "TINYBLOB", "blob blob blob", "tinyblob tinyblob tinyblob"},
		{"TEXT CHARACTER SET latin1", "MEDIUMBLOB", "blob blob blob", "mediumblob mediumblob mediumblob"},
		{"MEDIUMTEXT CHARACTER SET gbk", "BLOB", "mediumblob mediumblob mediumblob", "blob blob blob"},
		{"JSON", "TINYBLOB", "longblob longblob longblob", "tinyblob tinyblob tinyblob"},
		{"TINYBLOB", "LONGBLOB", "longblob longblob longblob", "longblob longblob longblob"},
		{"VARBINARY(20)", "BLOB(300)", "blob blob blob", "blob blob blob"},
		{"TINYBLOB", "TEXT CHARACTER SET binary", "tinyblob tinyblob tinyblob", "blob blob blob"},
		{"INT", "VARBINARY(70000)", "mediumblob mediumblob mediumblob", "mediumblob mediumblob mediumblob"},
		{"TINYBLOB", "VARCHAR(300) CHARACTER SET binary", "varbinary(300) varbinary(300) varbinary(300)", "varbinary(300) varbinary(300) varbinary(300)"},
	} {
		for i, want := range []string{c.mysql, c.mariadb} {
			var got []string
			for _, to := range []string{"utf8mb4", "latin1", "gbk"} {
				tr := NewTracker(Config{ServerTypes: true}, nil, nil)
				apply(t, tr, Statement{MariaDB: i == 1, Captured: all}, "CREATE TABLE t (a "+c.was+") CHARACTER SET latin1",
					"ALTER TABLE t MODIFY a "+c.now+", CONVERT TO CHARACTER SET "+to)
				got = append(got, tr.Known("d", "t").Columns[0].Type)
			}
			if got := strings.Join(got, " "); got != want {
				t.Errorf("%s to %s, MariaDB %v: %s, want %s", c.was, c.now, i == 1, got, want)
			}
		}
	}
}
