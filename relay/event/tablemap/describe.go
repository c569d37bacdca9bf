package tablemap

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/schema"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// ErrUntold says that a table map does not say enough of a table to read rows.
var ErrUntold = errors.New("the table map does not tell")

// spatial are the types of geometry columns by their numbers in a table map.
var spatial = []string{"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"}

// Describe is the table that a table map with the names of its columns
// (binlog_row_metadata=FULL) describes, of which it takes the first len(names)
// columns. Its columns have no Type. Not told, besides the text of a default and the
// like: widths of integers, ZEROFILL, and the size of a VECTOR. A MariaDB server's
// BINARY(16), UUID and INET6 are one type there, and its old times hide their
// fractions: the error is ErrUntold.
func Describe(m *replication.TableMapEvent, names []string, mariaDB bool) (*schema.Table, error) {
	t := &schema.Table{Schema: string(m.Schema), Name: string(m.Table), Columns: make([]schema.Column, len(names))}
	d := describer{
		unsigned: m.UnsignedMap(), collations: Collations(m), sets: m.EnumSetCollationMap(), shapes: m.GeometryTypeMap(), labels: Labels(m),
	}
	visible := m.VisibilityMap()
	for i, name := range names {
		c := &t.Columns[i]
		c.Name = name
		_, c.Nullable = m.Nullable(i)
		if v, known := visible[i]; known {
			c.Invisible = !v
		}
		wire, meta := Resolve(m.ColumnType[i], m.ColumnMeta[i])
		wire, _ = Inflated(wire)
		d.column(c, i, wire, meta)
		if mariaDB && hides(c, wire) {
			return nil, fmt.Errorf("column %s: %w its exact type, which has the size of %s", name, ErrUntold, c.Base+brackets(c.Args))
		}
	}
	for _, i := range m.PrimaryKey {
		if i < uint64(len(names)) {
			t.Columns[i].Key = true
			t.PrimaryKey = append(t.PrimaryKey, int(i))
		}
	}
	return t, nil
}

// hides says that a type of MariaDB has others that look like it.
func hides(c *schema.Column, wire byte) bool {
	switch wire {
	case mysql.MYSQL_TYPE_STRING:
		return c.Base == "binary" && (c.Args[0] == "16" || c.Args[0] == "4")
	case mysql.MYSQL_TYPE_TIME, mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_TIMESTAMP:
		return true
	}
	return false
}

// describer has a table map's metadata by columns.
type describer struct {
	unsigned         map[int]bool
	collations, sets map[int]uint64
	shapes           map[int]uint64
	labels           func(i int) []string
}

// column fills in the type of column i.
func (d *describer) column(c *schema.Column, i int, wire byte, meta uint16) {
	c.Base = Base(wire, meta)
	c.Unsigned = d.unsigned[i] && wire != mysql.MYSQL_TYPE_YEAR
	n := int(meta)
	switch wire {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		c.Charset = setName(d.collations, i)
		if c.Charset == "binary" {
			c.Base = map[string]string{"char": "binary", "varchar": "varbinary"}[c.Base]
		}
		c.Args = arguments(n / int(show.Width(c.Charset)))
	case mysql.MYSQL_TYPE_BLOB:
		if c.Charset = setName(d.collations, i); c.Charset != "binary" && c.Charset != "" {
			c.Base = map[string]string{"tinyblob": "tinytext", "blob": "text", "mediumblob": "mediumtext", "longblob": "longtext"}[c.Base]
		}
	case mysql.MYSQL_TYPE_ENUM, mysql.MYSQL_TYPE_SET:
		c.Charset, c.Args = setName(d.sets, i), d.labels(i)
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		c.Args = arguments(n>>8, n&0xff)
	case mysql.MYSQL_TYPE_BIT:
		c.Args = arguments(n>>8*8 + n&0xff)
	case mysql.MYSQL_TYPE_TIME2, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2:
		if n > 0 {
			c.Args = arguments(n)
		}
	case mysql.MYSQL_TYPE_GEOMETRY:
		if s := d.shapes[i]; s < uint64(len(spatial)) {
			c.Base = spatial[s]
		}
	}
}

func brackets(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return "(" + args[0] + ")"
}

func arguments(n ...int) []string {
	args := make([]string, len(n))
	for i := range n {
		args[i] = strconv.Itoa(n[i])
	}
	return args
}

// setName is the character set of a column's collation, empty if it is not known.
func setName(collations map[int]uint64, i int) string {
	if id, known := collations[i]; known {
		if s := charset.ByCollation(id); s != nil {
			return s.Name()
		}
	}
	return ""
}
