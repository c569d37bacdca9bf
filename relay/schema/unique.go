package schema

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
func (l *layout) addUnique(k ddl.Key) {
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
	l.unique = append(slices.Clip(l.unique), k)
}

func (l *layout) dropIndex(name string) {
	if i := l.indexOf(name); i >= 0 {
		l.unique = slices.Concat(l.unique[:i], l.unique[i+1:])
	}
}

// indexOf is where a unique key stands; -1 if it does not.
func (l *layout) indexOf(name string) int {
	return slices.IndexFunc(l.unique, func(k ddl.Key) bool { return strings.EqualFold(k.Name, name) })
}

// count counts the keys of which there may be a hash.
func (l *layout) count() {
	l.Hashes = 0
	for _, k := range l.unique {
		if k.Hash || l.long(k) {
			l.Hashes++
		}
	}
}

// long says that a key is too long for an index.
func (l *layout) long(k ddl.Key) bool {
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
	keys := a.unique
	a.unique = nil
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
			a.unique = append(a.unique, k)
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
			a.unique = slices.Clone(a.unique)
			a.unique[n].Name = i.Unique.Name
		case i.Op == ddl.AddUnique:
			a.addUnique(i.Unique)
		case (i.Op == ddl.AddColumn || i.Op == ddl.ChangeColumn) && i.Column.Unique:
			a.addUnique(ddl.Key{Columns: []ddl.KeyPart{{Column: i.Column.Name}}})
		}
	}
	a.count()
}

// uniqueKey is a key in a CREATE TABLE statement.
func uniqueKey(k ddl.Key) string {
	var parts []string
	for _, p := range k.Columns {
		part := quote(p.Column)
		if p.Length > 0 {
			part += fmt.Sprintf("(%d)", p.Length)
		}
		parts = append(parts, part)
	}
	text := ", UNIQUE KEY " + quote(k.Name) + " (" + strings.Join(parts, ", ") + ")"
	if k.Hash {
		text += " USING HASH"
	}
	return text
}
