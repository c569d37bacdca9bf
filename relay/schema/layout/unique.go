package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// longestKey is what InnoDB keeps of a key, in bytes. MariaDB keeps a hash of a
// unique key that is longer. Other engines take less: where that matters, SHOW
// CREATE TABLE says USING HASH.
const longestKey = 3072

// addUnique adds a unique key, in the place of one with its name. A key without
// a name gets that of its first column, and a number if that is taken.
func (l *Layout) addUnique(k ddl.Key) {
	if len(k.Columns) == 0 { // of expressions
		return
	}
	if k.Name == "" {
		k.Name = k.Columns[0].Column
		for n := 2; l.indexOf(k.Name) >= 0; n++ {
			k.Name = fmt.Sprintf("%s_%d", k.Columns[0].Column, n)
		}
	}
	l.dropIndex(k.Name)
	l.Unique = append(slices.Clip(l.Unique), k)
}

func (l *Layout) dropIndex(name string) {
	if i := l.indexOf(name); i >= 0 {
		l.Unique = slices.Concat(l.Unique[:i], l.Unique[i+1:])
	}
}

// indexOf is where a unique key stands; -1 if it does not.
func (l *Layout) indexOf(name string) int {
	return slices.IndexFunc(l.Unique, func(k ddl.Key) bool { return strings.EqualFold(k.Name, name) })
}

// count counts the keys of which there may be a hash.
func (l *Layout) count() {
	l.Hashes = 0
	for _, k := range l.Unique {
		if k.Hash || l.long(k) {
			l.Hashes++
		}
	}
}

// long says that a key is too long for an index.
func (l *Layout) long(k ddl.Key) bool {
	total := uint64(0)
	for _, p := range k.Columns {
		if i := index(l.Columns, p.Column); i >= 0 {
			total += keyBytes(&l.Columns[i], p.Length)
		}
	}
	return total > longestKey
}

// keyBytes is the size of a column, or of its first characters, in a key. It
// matters for columns only that may be long.
func keyBytes(c *Column, length uint64) uint64 {
	switch c.Base {
	case "char", "varchar", "binary", "varbinary":
		if length == 0 && len(c.Args) > 0 {
			length, _ = strconv.ParseUint(c.Args[0], 10, 32) // a server has checked it
		}
	case "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob",
		"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		if length == 0 {
			return longestKey + 1
		}
	default:
		return 8
	}
	return length * show.Width(c.Charset)
}

// reindex brings the unique keys up to date after the columns.
func (a *alteration) reindex() {
	keys := a.Unique
	a.Unique = nil
	for _, k := range keys {
		var left []ddl.KeyPart
		for _, p := range k.Columns {
			if now, changed := a.became[strings.ToLower(p.Column)]; changed {
				p.Column = now
			}
			if p.Column != "" {
				left = append(left, p)
			}
		}
		if k.Columns = left; len(left) > 0 {
			a.Unique = append(a.Unique, k)
		}
	}
	for _, i := range a.items {
		if i.Op == ddl.DropIndex {
			a.dropIndex(i.Old)
		}
	}
	for _, i := range a.items {
		switch n := a.indexOf(i.Old); {
		case i.Op == ddl.RenameIndex && n >= 0:
			a.Unique = slices.Clone(a.Unique)
			a.Unique[n].Name = i.Unique.Name
		case i.Op == ddl.AddUnique:
			a.addUnique(i.Unique)
		case (i.Op == ddl.AddColumn || i.Op == ddl.ChangeColumn) && i.Column.Unique:
			a.addUnique(ddl.Key{Columns: []ddl.KeyPart{{Column: i.Column.Name}}})
		}
	}
	a.count()
}
