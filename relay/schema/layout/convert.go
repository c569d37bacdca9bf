package layout

import (
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// resolve is an added or changed column. Where all text is converted, it is made
// with the character set of that, whatever its own is.
func (a *alteration) resolve(c ddl.Column) Column {
	if a.converts == "" {
		return a.rules.resolve(c, a.Charset)
	}
	if Charset(c.Charset, c.Collation, "") != "binary" {
		c.Charset, c.Collation = "", ""
	}
	return a.rules.resolve(c, a.converts)
}

// convert makes what a CONVERT TO CHARACTER SET makes of columns.
func (a *alteration) convert(columns []Column) {
	for n := range columns {
		c := &columns[n]
		was := a.changed(ddl.ChangeColumn, c.Name)
		if c.Charset == "" || c.Charset == "binary" && (was == nil || a.rules.MariaDB) {
			continue
		}
		from := c.Written()
		if c.Charset != "binary" {
			c.encode(a.converts)
		}
		if a.changed(ddl.AddColumn, c.Name) != nil {
			continue // its type is wide enough as it is
		}
		if was != nil && a.rules.MariaDB {
			from, was = c.Written(), nil // as an added one, too
		} else if was != nil {
			from = a.old[index(a.old, was.Old)].Written()
		}
		switch base := show.Converted(c.Written(), from, was != nil); {
		case a.rules.Types != nil && base != c.Base:
			c.Base, c.Args, c.Type = base, nil, base
		case len(c.Args) == 0:
			c.Base = base
		}
	}
}
