package simple

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
)

// What Canal's simple parser made of these texts, but for the names that it
// tears apart or glues together.
func TestResults(t *testing.T) {
	one := func(k ddl.Kind, schema, table string) []ddl.Result {
		return []ddl.Result{{Kind: k, Schema: schema, Table: table}}
	}
	query := one(ddl.Query, "d", "")
	renames := func(names ...string) (all []ddl.Result) {
		for i := 0; i < len(names); i += 4 {
			all = append(all, ddl.Result{Kind: ddl.Rename, OldSchema: names[i], OldTable: names[i+1], Schema: names[i+2], Table: names[i+3]})
		}
		return all
	}
	for sql, want := range map[string][]ddl.Result{
		"CREATE TABLE IF NOT EXISTS `retl`.`mark` (id int)": one(ddl.Create, "retl", "mark"),
		"CREATE TABLE `retl.mark` (id int)":                 one(ddl.Create, "d", "retl.mark"),
		"CREATE OR REPLACE TABLE t1 (id int)":               query,
		"CREATE TABLE t1 SELECT 1":                          one(ddl.Create, "d", "t1"),
		"create table t1":                                   one(ddl.Create, "d", "t1"),
		"/* c */ create table t1(id int)":                   one(ddl.Create, "d", "t1"),
		"-- c\ncreate table t1(id int)":                     query,
		"# c\ncreate table t1(id int)":                      query,
		"/*!50000 create table t1(id int) */":               query,
		"create /*!40005 TEMPORARY */ table t1(id int)":     one(ddl.Create, "d", "t1"),
		"create table db . t (id int)":                      one(ddl.Create, "db", "t"),
		"DROP TABLE a,b":                                    append(one(ddl.Erase, "d", "a"), one(ddl.Erase, "d", "b")...),
		"DROP TABLE IF EXISTS `a`,`b` /* generated */":      append(one(ddl.Erase, "d", "a"), one(ddl.Erase, "d", "b")...),
		"drop table `a b`":                                  one(ddl.Erase, "d", "a b"),
		"drop view v":                                       query,
		"drop database d":                                   query,
		"alter database d charset utf8mb4":                  query,
		"alter table t add column c int":                    one(ddl.Alter, "d", "t"),
		"ALTER TABLE t RENAME TO t2":                        one(ddl.Alter, "d", "t"),
		"ALTER TABLE t DISABLE KEYS":                        one(ddl.Alter, "d", "t"),
		"alter ignore table `t`add c int":                   one(ddl.Alter, "d", "t"),
		"ALTER ONLINE TABLE t ADD c int":                    query,
		"alter table db.t add index i(a)":                   one(ddl.Alter, "db", "t"),
		"truncate t":                                        one(ddl.Truncate, "d", "t"),
		"truncate table db.t":                               one(ddl.Truncate, "db", "t"),
		"TRUNCATE TABLE `db`.`t`;":                          one(ddl.Truncate, "db", "t"),
		"truncatet":                                         one(ddl.Truncate, "d", "t"),
		"rename table a to b":                               renames("d", "a", "d", "b"),
		"rename table a to b, c to d":                       renames("d", "a", "d", "b", "d", "c", "d", "d"),
		"RENAME TABLE db.a TO db2.b,c TO D;":                renames("db", "a", "db2", "b", "d", "c", "d", "D"),
		"rename  tables a to b":                             query,
		"rename user a to b":                                query,
		"create index i on t(a)":                            one(ddl.CIndex, "d", "t"),
		"create unique index i using btree on db.t (a)":     one(ddl.CIndex, "db", "t"),
		"CREATE FULLTEXT INDEX i ON t (a)":                  one(ddl.CIndex, "d", "t"),
		"CREATE INDEX IF NOT EXISTS i ON t (a)":             one(ddl.CIndex, "d", "t"),
		"drop index i on t":                                 one(ddl.DIndex, "d", "t"),
		" INSERT INTO t VALUES (1)":                         one(ddl.Insert, "d", ""),
		"insertx":                                           one(ddl.Insert, "d", ""),
		"merge x":                                           one(ddl.Insert, "d", ""),
		"replace into t values(1)":                          one(ddl.Insert, "d", "t"),
		"update t set a = 1":                                one(ddl.Update, "d", ""),
		"delete from t":                                     one(ddl.Delete, "d", ""),
		"with x as (select 1) update t set a = 1":           query,
		"(insert into t values (1))":                        query,
		"load data infile 'x' into table t":                 query,
		"grant all on *.* to u":                             query,
		"savepoint s":                                       query,
		"SET x=1":                                           query,
		"optimize table t":                                  query,
		"CREATE DEFINER=`r`@`h` TRIGGER x AFTER INSERT ON t FOR EACH ROW SET @a = 1": query,
		"": query,
	} {
		if diff := cmp.Diff(want, Results(sql, "d", ddl.Options{}, nil)); diff != "" {
			t.Errorf("%s\n%s", sql, diff)
		}
	}
}

// A filter asks for the table of a change that was logged as a statement.
func TestResultsOfDML(t *testing.T) {
	read := []ddl.Result{{Kind: ddl.Insert, Schema: "d", Table: "t"}}
	if diff := cmp.Diff(read, Results("insert into t values (1)", "x", ddl.Options{}, read)); diff != "" {
		t.Error(diff)
	}
}

func TestUnannounced(t *testing.T) {
	for sql, want := range map[string]ddl.Name{
		"REPLACE INTO t VALUES (1)":                                         {Schema: "d", Table: "t"},
		"/* c */ replace low_priority `x`.`y z` SET a = 1":                  {Schema: "x", Table: "y z"},
		"LOAD DATA INFILE 'into table a' IGNORE INTO TABLE `m1` (a, b)":     {Schema: "d", Table: "m1"},
		"LOAD XML LOCAL INFILE 'x' INTO TABLE s.t ROWS IDENTIFIED BY '<r>'": {Schema: "s", Table: "t"},
		"LOAD DATA INFILE 'x'":                                              {},
		"INSERT INTO t VALUES (1)":                                          {},
		"REPLACE":                                                           {},
	} {
		got, ok := Unannounced(sql, "d", ddl.Options{})
		if ok != (want != ddl.Name{}) || ok && got != want {
			t.Errorf("%s: %v, %v", sql, got, ok)
		}
	}
}
