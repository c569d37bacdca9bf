//go:build stack

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// drift writes random rows into tables that random DDL changes, and keeps what SELECT and information_schema show.
type drift struct {
	*world
	conn       *client.Conn
	r          *rand.Rand
	pools      map[string][]valueType // by how names of tables begin
	settings   []string
	tables     []*driftTable
	made       int // names so far
	image      string
	changes    []valueChange
	structures []structures
	kinds      map[string]int  // DDL by kind and outcome
	wrong      map[string]bool // tables of which a difference was named
}

// driftTable is a table. Two columns are always there: id, a number of its own of each row, and n, which every update
// changes; they are moved and renamed as others are.
type driftTable struct {
	*valueShape
	prefix string // decides which types it may have
	id, n  string
	types  map[string]valueType // by column
	made   map[string]bool      // generated columns
	next   int                  // id of the next row, from 1: AUTO_INCREMENT makes another number of 0
}

// tableColumns is how many columns a table of the first ones has.
const tableColumns = 14

// run writes a round.
func (d *drift) run() {
	d.Helper()
	defer d.set(d.conn, d.settings)()
	d.exec(d.conn, "SET SESSION time_zone = '+00:00', sql_mode = ''")
	if d.server == "mariadb" {
		d.exec(d.conn, "SET SESSION system_versioning_alter_history = KEEP")
	}
	for _, prefix := range []string{"t", "odd"} {
		pool := slices.Clone(d.pools[prefix])
		d.r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		for chunk := range slices.Chunk(pool, tableColumns) {
			attempts := 0
			for !d.apply(d.create(prefix, chunk, true)) { // a value may be no default
				if attempts++; attempts == 20 {
					d.Fatalf("a table of these types was not made: %v", chunk)
				}
			}
			d.sweep(d.tables[len(d.tables)-1])
		}
	}
	for range roundSteps {
		if d.Failed() {
			return
		}
		d.step()
	}
}

// sweep writes each column's values in each way under each row image.
func (d *drift) sweep(t *driftTable) {
	d.Helper()
	for _, image := range rowImages {
		d.under(image)
		from := t.next
		for how := writtenNull; how < writtens; how++ {
			if !d.insert(t, [][]written{slices.Repeat([]written{how}, len(t.columns))}) {
				d.Errorf("%s values were refused", how)
			}
		}
		d.update(t, from, t.next-1)
		if d.r.IntN(2) == 0 {
			d.delete(t, from, from+2)
		}
	}
}

func (d *drift) under(image string) {
	d.Helper()
	if d.image != image {
		d.image = image
		d.exec(d.conn, "SET SESSION binlog_row_image = "+image)
		if slices.Contains(d.settings, partialJSON) { // differences need the document before
			d.exec(d.conn, "SET SESSION binlog_row_value_options = "+map[bool]string{true: "PARTIAL_JSON", false: "''"}[image == "FULL"])
		}
	}
}

// step is one statement or a few of a transaction.
func (d *drift) step() {
	d.Helper()
	if len(d.tables) > 0 && d.r.IntN(5) > 1 {
		d.under(rowImages[d.r.IntN(len(rowImages))])
		d.rows()
		return
	}
	d.apply(d.ddl())
}

// rows changes rows, sometimes in a transaction, which is sometimes taken back.
func (d *drift) rows() {
	d.Helper()
	kept, transaction := len(d.changes), d.r.IntN(4) == 0
	if transaction {
		d.exec(d.conn, "BEGIN")
	}
	for range 1 + d.r.IntN(3) {
		t := d.tables[d.r.IntN(len(d.tables))]
		from := max(0, t.next-1-d.r.IntN(8))
		switch d.r.IntN(5) {
		case 0, 1:
			d.insert(t, d.ways(t))
		case 2, 3:
			d.update(t, from, from+d.r.IntN(4))
		case 4:
			d.delete(t, from, from+d.r.IntN(3))
		}
	}
	switch {
	case transaction && d.r.IntN(4) == 0:
		d.exec(d.conn, "ROLLBACK")
		d.changes = d.changes[:kept]
	case transaction:
		d.exec(d.conn, "COMMIT")
	}
}

// ways chooses how the values of a few rows are written.
func (d *drift) ways(t *driftTable) [][]written {
	rows := make([][]written, 1+d.r.IntN(4))
	named := make([]bool, len(t.columns))
	for c := range named {
		named[c] = d.r.IntN(4) > 0
	}
	for i := range rows {
		for c := range t.columns {
			how := writtenRandom
			switch d.r.IntN(8) {
			case 0:
				how = writtenNull
			case 1:
				how = writtenSmallest
			case 2:
				how = writtenLargest
			}
			if !named[c] {
				how = unwritten
			}
			rows[i] = append(rows[i], how)
		}
	}
	return rows
}

// insert writes rows, of which each says how each column is written. It reports whether the server took them.
func (d *drift) insert(t *driftTable, rows [][]written) bool {
	d.Helper()
	var names, texts []string
	for c, column := range t.columns {
		if !t.isMade(column) && (rows[0][c] != unwritten || column.name == t.id || column.name == t.n) {
			names = append(names, "`"+column.name+"`")
		}
	}
	for i, row := range rows {
		var list []string
		for c, column := range t.columns {
			switch {
			case t.isMade(column):
				row[c] = unwritten
			case column.name == t.id:
				list = append(list, fmt.Sprint(t.next+i))
				row[c] = unwritten
			case column.name == t.n:
				list = append(list, fmt.Sprint(i))
				row[c] = unwritten
			case row[c] != unwritten:
				list = append(list, column.written(d.r, row[c]))
			}
		}
		texts = append(texts, "("+strings.Join(list, ", ")+")")
	}
	sql := fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", t.name, strings.Join(names, ", "), strings.Join(texts, ", "))
	if !d.try(sql) {
		return false
	}
	all := pairs(t.valueShape, "INSERT", nil, d.selected(d.conn, t.valueShape, t.between(t.next, t.next+len(rows)-1)))
	for i := range all {
		all[i].written = rows[i]
	}
	t.next += len(rows)
	d.keep(sql, all)
	return true
}

// isMade says that the server makes a column's values.
func (t *driftTable) isMade(c valueColumn) bool {
	return t.made[c.name] || c.value == nil && c.name != t.id && c.name != t.n
}

func (t *driftTable) between(from, to int) string {
	return fmt.Sprintf("`%s` BETWEEN %d AND %d ORDER BY `%s`", t.id, from, to, t.id)
}

func (d *drift) keep(sql string, changes []valueChange) {
	for i := range changes {
		changes[i].image, changes[i].sql = d.image, sql[:min(len(sql), 200)]
	}
	d.changes = append(d.changes, changes...)
}

func (d *drift) update(t *driftTable, from, to int) {
	d.Helper()
	set := fmt.Sprintf("`%s` = `%s` + 10", t.n, t.n)
	for _, column := range t.columns {
		if d.r.IntN(3) == 0 && !t.isMade(column) && column.name != t.id && column.name != t.n {
			if column.ddl == "JSON" && d.r.IntN(2) == 0 { // what PARTIAL_JSON logs as differences
				set += fmt.Sprintf(", `%[1]s` = JSON_SET(`%[1]s`, '$.k0', %[2]d, '$[0]', 'é', '$.k1.k2', TRUE)", column.name, d.r.IntN(100))
				continue
			}
			set += ", `" + column.name + "` = " + column.written(d.r, []written{writtenRandom, writtenRandom, writtenNull, writtenLargest, writtenSmallest}[d.r.IntN(5)])
		}
	}
	sql := "UPDATE " + t.name + " SET " + set + " WHERE " + t.between(from, to)
	before := d.selected(d.conn, t.valueShape, t.between(from, to))
	if d.try(sql) {
		d.keep(sql, pairs(t.valueShape, "UPDATE", before, d.selected(d.conn, t.valueShape, t.between(from, to))))
	}
}

func (d *drift) delete(t *driftTable, from, to int) {
	d.Helper()
	sql := "DELETE FROM " + t.name + " WHERE " + t.between(from, to)
	before := d.selected(d.conn, t.valueShape, t.between(from, to))
	if d.try(sql) {
		d.keep(sql, pairs(t.valueShape, "DELETE", before, nil))
	}
}

// try runs a statement that the server may refuse.
func (d *drift) try(sql string) bool {
	d.Helper()
	err := local.Exec(d.conn, sql)
	if err != nil && *showDDL {
		d.Logf("refused: %v (%.300s)", err, sql)
	}
	return err == nil
}

func (d *drift) newName(prefix string) string {
	d.made++
	return fmt.Sprint(prefix, d.made)
}
