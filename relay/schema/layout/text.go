package layout

import (
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/relay/schema/ddl"
)

// Create is a CREATE TABLE statement that makes a table with a layout's columns
// and key; an expression that only the server knows is NULL in it.
func (l *Layout) Create() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quote(l.Name) + " (")
	for i, c := range l.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(c.Name) + " " + c.Type)
		if c.Charset != "" && c.Charset != "binary" {
			b.WriteString(" CHARACTER SET " + c.Charset)
		}
		if c.Collation != "" {
			b.WriteString(" COLLATE " + c.Collation)
		}
		if c.Generated {
			b.WriteString(" GENERATED ALWAYS AS (NULL)")
		}
		if !c.Nullable {
			b.WriteString(" NOT NULL")
		}
	}
	for i, n := range l.PrimaryKey {
		b.WriteString([]string{", PRIMARY KEY (", ", "}[min(i, 1)] + quote(l.Columns[n].Name))
	}
	if len(l.PrimaryKey) > 0 {
		b.WriteString(")")
	}
	for _, k := range l.Unique {
		b.WriteString(uniqueKey(k))
	}
	return b.String() + ")"
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

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
