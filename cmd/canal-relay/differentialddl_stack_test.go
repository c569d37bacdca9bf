//go:build stack

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// statement is a DDL statement and what it does to what the test knows, once the server has taken it.
type statement struct {
	kind, sql string
	then      func()
}

// apply runs a statement, follows it, and keeps what information_schema then has. It reports whether the server took it.
func (d *drift) apply(s statement) bool {
	d.Helper()
	if !d.try(s.sql) {
		d.kinds[s.kind+" refused"]++
		return false
	}
	d.kinds[s.kind]++
	if *showDDL {
		d.Log(s.sql)
	}
	if s.then != nil {
		s.then()
	}
	d.look(s.sql)
	return true
}

// ddl makes a statement.
func (d *drift) ddl() statement {
	if len(d.tables) < 6 {
		return d.createAny()
	}
	at := d.r.IntN(len(d.tables))
	t := d.tables[at]
	switch d.r.IntN(28) {
	case 24:
		return d.partition(t)
	case 25:
		return d.versioning(t)
	case 26:
		return d.sequence()
	case 27:
		return d.modifyAndConvert(t)
	case 0, 1:
		return d.createAny()
	case 2:
		return statement{"drop", "DROP TABLE " + t.name, func() { d.tables = slices.Delete(d.tables, at, at+1) }}
	case 3:
		return statement{"drop many", "DROP TABLE IF EXISTS nothing, " + t.name, func() { d.tables = slices.Delete(d.tables, at, at+1) }}
	case 4:
		return statement{"truncate", "TRUNCATE TABLE " + t.name, nil}
	case 5:
		name := d.tableName(t.prefix)
		sql := "RENAME TABLE " + t.name + " TO " + name
		if d.r.IntN(2) == 0 {
			sql = "ALTER TABLE " + t.name + " RENAME TO " + name
		}
		return statement{"rename", sql, func() { t.rename(name) }}
	case 6:
		other := d.tables[d.r.IntN(len(d.tables))]
		if other == t || other.prefix != t.prefix {
			return d.createLike(t)
		}
		a, b := t.name, other.name
		return statement{"swap", fmt.Sprintf("RENAME TABLE %[1]s TO %[3]s_tmp, %[2]s TO %[1]s, %[3]s_tmp TO %[2]s", a, b, t.prefix), func() {
			t.rename(b)
			other.rename(a)
		}}
	case 7:
		return d.createLike(t)
	case 8:
		return d.createSelect(t)
	case 9:
		return d.noise(t)
	}
	return d.alter(t)
}

// noise are statements that change no table's columns.
func (d *drift) noise(t *driftTable) statement {
	name := d.newName("noise")
	sql := []string{
		"ALTER DATABASE " + d.world.name + " CHARACTER SET " + d.charset(), "CREATE VIEW " + name + " AS SELECT 1 AS a", "ANALYZE TABLE " + t.name,
		"CREATE INDEX " + name + " ON " + t.name + " (`" + t.n + "`)", "ALTER TABLE " + t.name + " COMMENT 'x; ALTER TABLE y ADD z INT'",
		"CREATE FUNCTION " + name + "() RETURNS INT DETERMINISTIC BEGIN DECLARE a INT; SET a = 1; RETURN a; END", "OPTIMIZE TABLE " + t.name,
		"CREATE TRIGGER " + name + " BEFORE DELETE ON " + t.name + " FOR EACH ROW BEGIN DECLARE a INT; SET a = 1; END",
		"CREATE TEMPORARY TABLE " + name + " (a INT)",
	}[d.r.IntN(9)]
	return statement{"noise", sql, nil}
}

func (t *driftTable) rename(name string) {
	shape := *t.valueShape
	shape.name = name
	t.valueShape = &shape
}

// tableName is a new name, or one that a table had that is no more.
func (d *drift) tableName(prefix string) string {
	name := fmt.Sprint(prefix, "_again", d.r.IntN(30))
	if slices.ContainsFunc(d.tables, func(t *driftTable) bool { return t.name == name }) {
		return d.newName(prefix)
	}
	return name
}

func (d *drift) columnName() string {
	return d.newName([]string{"c", "c", "c", "two words", "spälte", "from"}[d.r.IntN(6)])
}

func (d *drift) charset() string {
	return []string{"utf8mb4", "latin1", "gbk", "utf16", "utf8mb3", "cp1251", "ucs2", "sjis", "utf8mb4 COLLATE utf8mb4_bin", "latin1 COLLATE latin1_german2_ci"}[d.r.IntN(10)]
}

func (d *drift) createAny() statement {
	prefix := []string{"t", "t", "t", "odd"}[d.r.IntN(4)]
	pool := d.pools[prefix]
	types := make([]valueType, 1+d.r.IntN(8))
	for i := range types {
		types[i] = pool[d.r.IntN(len(pool))]
	}
	return d.create(prefix, types, false)
}

// create makes a table of these types. A plain one takes NULL in every column.
func (d *drift) create(prefix string, types []valueType, plain bool) statement {
	t := &driftTable{prefix: prefix, id: "id", n: "n", types: map[string]valueType{}, made: map[string]bool{}, next: 1}
	t.valueShape = &valueShape{name: d.tableName(prefix)}
	definitions := []string{"`id` " + []string{"INT", "BIGINT", "INT AUTO_INCREMENT UNIQUE"}[d.r.IntN(3)] + " NOT NULL", "`n` INT"}
	names := []string{"id", "n"}
	for _, v := range types {
		name := d.columnName()
		t.types[name] = v
		names = append(names, name)
		definitions = append(definitions, "`"+name+"` "+d.definition(v, plain))
	}
	d.r.Shuffle(len(definitions), func(i, j int) { definitions[i], definitions[j] = definitions[j], definitions[i] })
	if plain {
		names = names[:2]
	}
	if key := d.key(t, names); key != "" {
		definitions = append(definitions, key)
	}
	sql := "CREATE TABLE " + t.name + " (" + strings.Join(definitions, ", ") + ")"
	if d.r.IntN(3) > 0 {
		sql += " DEFAULT CHARACTER SET " + d.charset()
	}
	return statement{"create", sql, func() { d.tables = append(d.tables, t) }}
}

// definition is a column's, without its name.
func (d *drift) definition(v valueType, plain bool) string {
	text := v.ddl
	if v.kind != "" && !plain && d.r.IntN(3) == 0 {
		text = v.kind // with the table's character set
	}
	if !plain && d.r.IntN(5) == 0 {
		text += " NOT NULL"
	} else {
		text += " NULL"
	}
	if d.r.IntN(4) == 0 {
		if literal := v.value(d.r); len(literal) < 2000 {
			text += " DEFAULT (" + literal + ")"
		}
	}
	if d.r.IntN(8) == 0 {
		text += " INVISIBLE"
	}
	if d.r.IntN(8) == 0 {
		text += " COMMENT 'it''s, a `c` (x) -- y'"
	}
	return text
}

// key is a key of some of these columns, or none.
func (d *drift) key(t *driftTable, names []string) string {
	other := names[d.r.IntN(len(names))]
	part := "`" + other + "`"
	if v := t.types[other]; v.kind != "" || v.bytes {
		part += fmt.Sprintf("(%d)", 1+d.r.IntN(5))
	}
	id := "`" + t.id + "`"
	switch d.r.IntN(6) {
	case 0:
		return ""
	case 1:
		return "UNIQUE (" + id + ")"
	case 2, 3:
		if other != t.id {
			return "PRIMARY KEY (" + []string{part + ", " + id, id + ", " + part}[d.r.IntN(2)] + ")"
		}
	}
	return "PRIMARY KEY (" + id + ")"
}

func (d *drift) createLike(t *driftTable) statement {
	like := *t
	like.valueShape, like.types, like.made, like.next = &valueShape{name: d.tableName(t.prefix)}, maps.Clone(t.types), maps.Clone(t.made), 1
	return statement{"create like", "CREATE TABLE " + like.name + " LIKE " + t.name, func() { d.tables = append(d.tables, &like) }}
}

// createSelect makes a table of another one's rows.
func (d *drift) createSelect(t *driftTable) statement {
	made := *t
	made.valueShape, made.types, made.made = &valueShape{name: d.tableName(t.prefix)}, maps.Clone(t.types), map[string]bool{}
	columns := "*"
	for _, row := range d.query("SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND EXTRA LIKE '%INVISIBLE%' AND TABLE_NAME = '" + t.name + "'") {
		if row[0] == t.id || row[0] == t.n { // which * leaves out
			columns += ", `" + row[0] + "`"
		}
	}
	sql := "CREATE TABLE " + made.name + " AS SELECT " + columns + " FROM " + t.name + " ORDER BY `" + t.id + "` LIMIT 3"
	return statement{"create select", sql, func() {
		d.tables = append(d.tables, &made)
		d.look(sql)
		d.keep(sql, pairs(made.valueShape, "INSERT", nil, d.selected(d.conn, made.valueShape, "TRUE ORDER BY `"+t.id+"`")))
	}}
}

// alter makes an ALTER TABLE of one to three parts on different columns.
func (d *drift) alter(t *driftTable) statement {
	free := make([]string, 0, len(t.columns))
	for _, c := range t.columns {
		if c.name != "my_row_id" {
			free = append(free, c.name)
		}
	}
	d.r.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	var kinds, parts []string
	var then []func()
	for range 1 + d.r.IntN(3) {
		if len(free) < 2 {
			break
		}
		s := d.part(t, free[0], free[1])
		free = free[2:]
		kinds, parts = append(kinds, s.kind), append(parts, s.sql)
		if s.then != nil {
			then = append(then, s.then)
		}
	}
	if len(kinds) > 1 {
		kinds = []string{"alter many"}
	}
	sql := "ALTER TABLE " + t.name + " " + strings.Join(parts, ", ")
	if t.labels() || strings.Contains(sql, "ENUM(") || strings.Contains(sql, "SET(") {
		sql = wrongConversion.ReplaceAllString(sql, "FORCE")
	}
	return statement{strings.Join(kinds, ""), sql, func() {
		for _, f := range then {
			f()
		}
	}}
}

// part is one part of an ALTER TABLE about a column; other is another one that no other part is about.
func (d *drift) part(t *driftTable, column, other string) statement {
	if d.r.IntN(3) == 0 {
		return d.option(t, column)
	}
	pool := d.pools[t.prefix]
	v := pool[d.r.IntN(len(pool))]
	place := []string{"", " FIRST", " AFTER `" + other + "`"}[d.r.IntN(3)]
	fixed := column == t.id || column == t.n
	if fixed {
		return d.fixedPart(t, column, place)
	}
	name := d.columnName()
	switch d.r.IntN(10) {
	case 0, 1:
		return statement{"add column", "ADD COLUMN `" + name + "` " + d.definition(v, false) + place, func() { t.types[name] = v }}
	case 2:
		text := []string{"INT AS (`" + t.n + "` * 2) VIRTUAL", "INT GENERATED ALWAYS AS (`" + t.n + "` + 1) STORED", "VARCHAR(30) AS (CONCAT('é', `" + t.n + "`))"}[d.r.IntN(3)]
		made := valueType{ddl: "INT", sel: "%s", value: signed(32)}
		if strings.HasPrefix(text, "VARCHAR") {
			made = textType("VARCHAR(30)", "utf8mb4", 30)
		}
		return statement{"add generated", "ADD `" + name + "` " + text + place, func() { t.types[name], t.made[name] = made, true }}
	case 3, 4:
		return statement{"drop column", "DROP COLUMN `" + column + "`", func() { t.forget(column) }}
	case 5, 6:
		return statement{"modify", "MODIFY COLUMN `" + column + "` " + d.definition(v, false) + place, func() {
			t.forget(column)
			t.types[column] = v
		}}
	case 7:
		return statement{"change", "CHANGE `" + column + "` `" + name + "` " + d.definition(v, false) + place, func() {
			t.forget(column)
			t.types[name] = v
		}}
	case 8:
		if other != t.id && other != t.n { // a swap
			return statement{"rename two", fmt.Sprintf("RENAME COLUMN `%[1]s` TO `%[2]s`, RENAME COLUMN `%[2]s` TO `%[1]s`", column, other), func() {
				t.types[column], t.types[other] = t.types[other], t.types[column]
				t.made[column], t.made[other] = t.made[other], t.made[column]
			}}
		}
	}
	return statement{"rename column", "RENAME COLUMN `" + column + "` TO `" + name + "`", func() {
		v, made := t.types[column], t.made[column]
		t.forget(column)
		t.types[name], t.made[name] = v, made
	}}
}

func (t *driftTable) forget(column string) {
	delete(t.types, column)
	delete(t.made, column)
}

// fixedPart is about a column that must stay.
func (d *drift) fixedPart(t *driftTable, column, place string) statement {
	name := d.columnName()
	follow := func() {
		if column == t.id {
			t.id = name
		} else {
			t.n = name
		}
	}
	switch d.r.IntN(3) {
	case 0:
		return statement{"move column", "MODIFY `" + column + "` BIGINT NOT NULL" + place, nil}
	case 1:
		return statement{"change", "CHANGE COLUMN `" + column + "` `" + name + "` BIGINT NOT NULL" + place, follow}
	}
	return statement{"rename column", "RENAME COLUMN `" + column + "` TO `" + name + "`", follow}
}

// wrongConversion is one that both servers do wrong for labels, of which they take the bytes for text of the other
// character set: l103 becomes two characters.
var wrongConversion = regexp.MustCompile(`CONVERT TO CHARACTER SET (utf16|ucs2)`)

// labels says that a column is an ENUM or SET, whose conversion may go wrong.
func (t *driftTable) labels() bool {
	return slices.ContainsFunc(t.columns, func(c valueColumn) bool { return strings.HasPrefix(c.ddl, "ENUM") || strings.HasPrefix(c.ddl, "SET") })
}

// wide says that a column's labels are in a character set of which that is true, too.
func (t *driftTable) wide() bool {
	return slices.ContainsFunc(t.columns, func(c valueColumn) bool { return c.kind == "" && (c.charset == "utf16" || c.charset == "ucs2") })
}

// option is a part of an ALTER TABLE about keys, character sets and the like.
func (d *drift) option(t *driftTable, column string) statement {
	names := []string{t.id, t.n, column}
	switch d.r.IntN(9) {
	case 0:
		return statement{"drop key", "DROP PRIMARY KEY", nil}
	case 1:
		if key := d.key(t, names); key != "" {
			return statement{"add key", "ADD " + key, nil}
		}
		return statement{"add key", "ADD INDEX (`" + column + "`)", nil}
	case 2:
		if key := d.key(t, names); strings.HasPrefix(key, "PRIMARY") {
			return statement{"other key", "DROP PRIMARY KEY, ADD " + key, nil}
		}
		return statement{"add key", "ADD KEY ((`" + t.n + "` + 1))", nil}
	case 3, 4:
		if t.wide() {
			return statement{"table option", "FORCE", nil}
		}
		return statement{"convert", "CONVERT TO CHARACTER SET " + d.charset(), nil}
	case 5:
		return statement{"table option", "DEFAULT CHARACTER SET " + d.charset(), nil}
	case 6:
		return statement{"table option", []string{"ENGINE=InnoDB", "FORCE", "ROW_FORMAT=DYNAMIC", "AUTO_INCREMENT=100000", "ORDER BY `" + t.n + "`"}[d.r.IntN(5)], nil}
	case 7:
		return statement{"visible", "ALTER COLUMN `" + column + "` SET " + []string{"VISIBLE", "INVISIBLE"}[d.r.IntN(2)], nil}
	}
	return statement{"default", "ALTER `" + column + "` DROP DEFAULT", nil}
}
