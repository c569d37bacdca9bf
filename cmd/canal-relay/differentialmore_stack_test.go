//go:build stack

package main

import (
	"fmt"
	"strings"
)

// partition makes, changes or removes partitions. What does not fit the table the server refuses.
func (d *drift) partition(t *driftTable) statement {
	what := []string{
		"PARTITION BY HASH (ID) PARTITIONS 3", "PARTITION BY KEY (ID) PARTITIONS 2",
		"PARTITION BY RANGE (ID) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN (1000000))",
		"ADD PARTITION PARTITIONS 2", "COALESCE PARTITION 1", "REBUILD PARTITION ALL", "ANALYZE PARTITION ALL", "TRUNCATE PARTITION p0",
		"REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (3), PARTITION p2 VALUES LESS THAN (5))",
		"ADD PARTITION (PARTITION p3 VALUES LESS THAN MAXVALUE)", "DROP PARTITION p1", "REMOVE PARTITIONING", "ADD COLUMN NEW INT REMOVE PARTITIONING",
	}
	at := d.r.IntN(len(what) + 6)
	if at >= len(what) {
		at %= 3 // most tables have none yet
	}
	name := d.columnName()
	s := statement{"partition", "ALTER TABLE " + t.name + " " + strings.NewReplacer("ID", "`"+t.id+"`", "NEW", "`"+name+"`").Replace(what[at]), nil}
	if strings.Contains(s.sql, name) {
		s.then = func() { t.types[name] = valueType{ddl: "INT", sel: "%s", value: signed(32)} }
	}
	return s
}

// versioning gives a table of MariaDB two hidden columns, lets a statement come after, and takes them away again: while it
// has them, an UPDATE is logged as two changes, so no row is changed then.
func (d *drift) versioning(t *driftTable) statement {
	if d.server != "mariadb" {
		return d.partition(t)
	}
	if !d.apply(statement{"versioning", "ALTER TABLE " + t.name + " ADD SYSTEM VERSIONING", nil}) {
		return d.createLike(t)
	}
	if d.r.IntN(2) == 0 {
		d.apply(d.alter(t))
	}
	for _, name := range []string{d.newName(t.prefix), t.name} {
		like := "CREATE TABLE " + name + " LIKE " + t.name
		if name != t.name && (d.r.IntN(2) == 0 || !d.apply(statement{"create like", like, nil})) {
			continue
		}
		if !d.apply(statement{"versioning", "ALTER TABLE " + name + " DROP SYSTEM VERSIONING", nil}) {
			d.Fatalf("%s keeps its versions", name)
		}
	}
	return statement{"truncate", "TRUNCATE TABLE " + t.name, nil}
}

// sequence makes, changes, renames and drops a sequence of MariaDB, whose own rows are not asked for.
func (d *drift) sequence() statement {
	name := d.newName("seq")
	if d.server != "mariadb" {
		return statement{"noise", "CREATE OR REPLACE VIEW " + name + " AS SELECT 2 AS b", nil}
	}
	for _, sql := range []string{"CREATE SEQUENCE " + name + " START WITH 5", "ALTER SEQUENCE " + name + " RESTART 50", "RENAME TABLE " + name + " TO " + name + "b"} {
		if d.apply(statement{"sequence", sql, nil}); d.r.IntN(3) == 0 {
			return statement{"sequence", "DROP SEQUENCE IF EXISTS " + name + ", " + name + "b", nil}
		}
	}
	return statement{"sequence", "DROP TABLE " + name + "b", nil}
}

// modifyAndConvert changes a column to a text and converts the table in one statement: what type it gets depends on the
// server, and on MySQL on the column's old type.
func (d *drift) modifyAndConvert(t *driftTable) statement {
	var names []string
	for _, c := range t.columns {
		if c.name != t.id && c.name != t.n && c.name != "my_row_id" {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 || t.wide() || t.labels() {
		return d.alter(t)
	}
	name, kind := names[d.r.IntN(len(names))], []string{"TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "TEXT(300)", "VARCHAR(60)", "VARCHAR(20000)"}[d.r.IntN(7)]
	given := []string{"", " CHARACTER SET latin1", " CHARACTER SET utf8mb4", " CHARACTER SET gbk"}[d.r.IntN(4)]
	sql := fmt.Sprintf("ALTER TABLE %s MODIFY `%s` %s%s, CONVERT TO CHARACTER SET %s", t.name, name, kind, given, d.charset())
	return statement{"modify and convert", sql, func() {
		t.forget(name)
		t.types[name] = textType(kind, "", 40)
	}}
}
