package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// resolve is a column as the server stores it in a table with a default
// character set.
func (r Rules) resolve(c ddl.Column, fallback string) Column {
	out := Column{
		Name: c.Name, Type: c.Type, Base: c.Base, Args: c.Args, Unsigned: c.Unsigned, Nullable: c.Nullable,
		Collation: c.Collation, Generated: c.Generated, Invisible: c.Invisible,
	}
	out.encode(Charset(c.Charset, c.Collation, fallback))
	if r.Types != nil {
		out.Type = r.Types.Type(out.Written())
	}
	return out
}

// encode gives a text column its character set.
func (c *Column) encode(cs string) {
	switch c.Base {
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		c.Charset = cs
		if cs == "binary" {
			c.Base = show.Binary[c.Base]
		}
	case "enum", "set":
		c.Charset = cs
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		c.Charset = "binary"
	}
}

// Charset is the character set that a charset and a collation, both as written
// and either of them empty, stand for.
func Charset(name, collation, fallback string) string {
	if name == "" && collation != "" {
		name, _, _ = strings.Cut(collation, "_")
	}
	switch name {
	case "", "default", "uca1400": // MariaDB has collations that fit several character sets
		return fallback
	case "utf8":
		return "utf8mb3"
	}
	return name
}

// Create is the layout that a CREATE TABLE defines, in a database with a default
// character set.
func (r Rules) Create(c ddl.CreateTable, database string) *Layout {
	l := &Layout{Charset: Charset(c.Charset, c.Collation, database), Versioned: c.Versioned, Period: c.Period}
	columns := make([]Column, 0, len(c.Columns)+2)
	for _, col := range c.Columns {
		columns = append(columns, r.resolve(col, l.Charset))
	}
	for _, col := range c.Columns {
		l.Versioned = l.Versioned || col.Versioned
		if col.RowEnd {
			l.RowEnd = col.Name
		}
	}
	if l.Versioned = l.Versioned && l.RowEnd == ""; l.Versioned {
		columns = append(columns, versioning()...)
	}
	bound(columns, c.Period)
	l.Table = &Table{Schema: c.Schema, Name: c.Name.Table, Columns: columns}
	l.setKey(c.PrimaryKey)
	for _, k := range c.Unique {
		k.Hash = k.Hash && !l.long(k) // a server prints it of every long key
		l.addUnique(k)
	}
	l.count()
	return l
}

// bound makes the columns of a period NOT NULL, as the server does.
func bound(columns []Column, period []string) {
	for _, n := range period {
		if i := index(columns, n); i >= 0 {
			columns[i].Nullable = false
		}
	}
}

// keyNames resolves the names of a primary key: a period WITHOUT OVERLAPS stands
// for its end and start.
func (l *Layout) keyNames(names []string) []string {
	var out []string
	for _, n := range names {
		if len(l.Period) == 3 && strings.EqualFold(n, l.Period[0]) {
			out = append(out, l.Period[2], l.Period[1])
		} else {
			out = append(out, n)
		}
	}
	return out
}

// versioning is the pair of hidden columns that MariaDB adds to a table WITH
// SYSTEM VERSIONING that names none.
func versioning() []Column {
	hidden := Column{Type: "timestamp(6)", Base: "timestamp", Args: []string{"6"}, Invisible: true}
	start, end := hidden, hidden
	start.Name, end.Name = "row_start", "row_end"
	return []Column{start, end}
}

// setKey makes the named columns the primary key. Names that are not there are
// left out: the server knows better than our reading of it.
func (l *Layout) setKey(names []string) {
	l.PrimaryKey = nil
	for i := range l.Columns {
		l.Columns[i].Key = false
	}
	if l.RowEnd != "" && len(names) > 0 {
		names = append(slices.Clip(names), l.RowEnd) // part of the key, written or not
	}
	for _, n := range l.keyNames(names) {
		if i := index(l.Columns, n); i >= 0 && !l.Columns[i].Key {
			l.Columns[i].Key, l.Columns[i].Nullable = true, false
			l.PrimaryKey = append(l.PrimaryKey, i)
		}
	}
}

// index finds a column by name, which has no case.
func index(columns []Column, name string) int {
	return slices.IndexFunc(columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

// alteration is a table while an ALTER TABLE is applied to it.
type alteration struct {
	Layout
	rules    Rules
	old      []Column          // before the statement
	key      []string          // names of the key's columns
	became   map[string]string // new names of old columns, in lower case; empty for a dropped one
	items    []ddl.Item
	converts string   // CONVERT TO CHARACTER SET; empty without
	defaults bool     // the table's default is told beside that
	named    []string // columns that the items so far add or change to
}

// Alter is the layout after an ALTER TABLE, in a database with a default character
// set. The order of the steps is the
// server's: drops, then changes in place, then additions and moves as listed.
// An error says that the statement cannot have run on this layout.
func (r Rules) Alter(l *Layout, c ddl.AlterTable, database string) (*Layout, error) {
	a := &alteration{Layout: *l, rules: r, old: slices.Clone(l.Columns), became: map[string]string{}}
	table := *l.Table
	a.Table = &table
	for _, i := range l.PrimaryKey {
		a.key = append(a.key, l.Columns[i].Name)
	}
	hidden := a.hide()
	for _, i := range c.Items {
		if err := a.prepare(i, database); err != nil {
			return nil, err
		}
	}
	a.Columns = nil
	for _, col := range a.old {
		a.keep(col)
	}
	a.rekey()
	for _, i := range a.items {
		if err := a.place(i); err != nil {
			return nil, err
		}
	}
	if a.converts != "" {
		a.convert(a.Columns) // the server converts what the same statement adds, too
	}
	a.invisibleKeyFirst(l.Table)
	if a.endDropped() {
		a.RowEnd, a.Versioned = "", true // the server makes hidden ones instead
	}
	if a.Versioned && hidden == nil {
		hidden = versioning()
	}
	if a.Versioned {
		a.Columns = append(a.Columns, hidden...)
	}
	a.setKey(a.key)
	a.reindex()
	return &a.Layout, nil
}

// invisibleKeyFirst keeps the key that MySQL makes for a table without one
// (sql_generate_invisible_primary_key) before what goes FIRST, as the server does.
func (a *alteration) invisibleKeyFirst(was *Table) {
	const name = "my_row_id"
	if len(was.PrimaryKey) != 1 || was.PrimaryKey[0] != 0 || was.Columns[0].Name != name || !was.Columns[0].Invisible {
		return
	}
	if i := index(a.Columns, name); i > 0 {
		c := a.Columns[i]
		a.Columns = slices.Insert(slices.Delete(a.Columns, i, i+1), 0, c)
	}
}

// endDropped reports whether the table's own column for system versioning went,
// and not the versioning with it.
func (a *alteration) endDropped() bool {
	if now, changed := a.became[strings.ToLower(a.RowEnd)]; changed {
		a.RowEnd = now
		return now == ""
	}
	return false
}

// hide takes the columns of implicit system versioning off the end: new columns
// go before them.
func (a *alteration) hide() []Column {
	if !a.Versioned {
		return nil
	}
	n := len(a.old) - 2
	hidden := a.old[n:]
	a.old = a.old[:n:n]
	return hidden
}

// prepare checks an item against the table as it was, and does what has no
// place in the order of columns.
func (a *alteration) prepare(i ddl.Item, database string) error {
	was := index(a.old, i.Old)
	again := slices.ContainsFunc(a.named, func(n string) bool { return strings.EqualFold(n, i.Column.Name) })
	a.named = append(a.named, i.Column.Name)
	switch i.Op {
	case ddl.DropColumn, ddl.ChangeColumn, ddl.RenameColumn, ddl.SetVisibility:
		if was < 0 && !i.If && i.Op == ddl.ChangeColumn && a.changed(ddl.AddColumn, i.Column.Name) != nil { // MariaDB: it takes the place of the addition
			a.items = slices.DeleteFunc(a.items, func(b ddl.Item) bool { return b.Op == ddl.AddColumn && strings.EqualFold(b.Column.Name, i.Column.Name) })
			i.Op = ddl.AddColumn
			break
		}
		if was < 0 && i.If {
			return nil
		}
		if was < 0 {
			return fmt.Errorf("column %s is not in its known layout", i.Old)
		}
	case ddl.AddColumn:
		if i.If && (again || index(a.old, i.Column.Name) >= 0) {
			return nil
		}
		if i.Column.RowEnd {
			a.RowEnd, a.Versioned = i.Column.Name, false
		}
	case ddl.ConvertCharset:
		if a.converts = Charset(i.Charset, i.Collation, database); !a.defaults {
			a.Charset = a.converts
		}
	case ddl.DefaultCharset:
		if i.Charset == "" {
			database = a.Charset
		}
		a.Charset, a.defaults = Charset(i.Charset, i.Collation, database), true
	case ddl.DropPrimaryKey:
		a.key = nil
	case ddl.AddPeriod:
		a.Period = i.Keys
		bound(a.old, i.Keys)
	case ddl.AddVersioning:
		a.Versioned = a.RowEnd == ""
	case ddl.DropVersioning:
		a.Versioned, a.RowEnd = false, ""
	}
	a.items = append(a.items, i)
	return nil
}

// changed is the item that adds or changes to a column of that name, or nil.
func (a *alteration) changed(op ddl.ItemOp, name string) *ddl.Item {
	i := slices.IndexFunc(a.items, func(i ddl.Item) bool { return i.Op == op && strings.EqualFold(i.Column.Name, name) })
	if i < 0 {
		return nil
	}
	return &a.items[i]
}

// keep puts a column of the old table where it was, unless an item drops it.
func (a *alteration) keep(c Column) {
	name := c.Name
	for _, i := range a.items {
		if !strings.EqualFold(i.Old, name) || i.Old == "" {
			continue
		}
		switch i.Op {
		case ddl.DropColumn:
			a.became[strings.ToLower(name)] = ""
			return
		case ddl.ChangeColumn:
			c = a.resolve(i.Column)
			a.became[strings.ToLower(name)] = c.Name
		case ddl.RenameColumn:
			c.Name = i.Column.Name
			a.became[strings.ToLower(name)] = c.Name
		case ddl.SetVisibility:
			c.Invisible = i.Column.Invisible
		}
	}
	a.Columns = append(a.Columns, c)
}

// rekey gives the primary key the new names of its columns.
func (a *alteration) rekey() {
	old := a.key
	a.key = nil
	for _, k := range old {
		now, changed := a.became[strings.ToLower(k)]
		if !changed {
			now = k
		}
		if now != "" {
			a.key = append(a.key, now)
		}
	}
}

// place adds new columns and columns that move, and the primary key.
func (a *alteration) place(i ddl.Item) error {
	var keys []string
	if i.Op == ddl.AddPrimaryKey {
		keys = i.Keys
	}
	if (i.Op == ddl.AddColumn || i.Op == ddl.ChangeColumn) && i.Column.PrimaryKey {
		keys = []string{i.Column.Name}
	}
	if len(a.key) == 0 {
		a.key = append(a.key, keys...)
	}
	if i.Op != ddl.AddColumn && (i.Op != ddl.ChangeColumn || !i.First && i.After == "") {
		return nil
	}
	column := a.resolve(i.Column)
	switch was := index(a.Columns, i.Column.Name); {
	case i.Op == ddl.ChangeColumn && was < 0:
		return fmt.Errorf("column %s is dropped by the same statement", i.Column.Name)
	case i.Op == ddl.ChangeColumn:
		column = a.Columns[was]
		a.Columns = slices.Delete(a.Columns, was, was+1)
	case was >= 0:
		return fmt.Errorf("column %s is in its known layout already", i.Column.Name)
	}
	at := len(a.Columns)
	switch {
	case i.First:
		at = 0
	case i.After != "":
		at = index(a.Columns, i.After) + 1
		if at == 0 {
			return fmt.Errorf("column %s is not in its known layout", i.After)
		}
	}
	a.Columns = slices.Insert(a.Columns, at, column)
	return nil
}
