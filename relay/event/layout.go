package event

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/tablemap"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Errors of a layout and of row images.
var (
	// ErrMismatch says that a table-map event and the tracked table disagree:
	// the tracked definition is not the one the rows were written with.
	ErrMismatch = errors.New("the tracked table is not the one in the binlog")
	// ErrUnknownTable says that neither the schema nor the table map names the columns.
	ErrUnknownTable = errors.New("the table's columns are not known")
	// ErrUnsupported says that a column's type cannot be decoded.
	ErrUnsupported = errors.New("the column's type cannot be decoded")
	// ErrImage says that the bytes of a row event are not rows of its table.
	ErrImage = errors.New("the row image is broken")
	// ErrPartialJSON says that a PARTIAL_UPDATE_ROWS event holds the differences of
	// a document, and the before image lacks the document.
	ErrPartialJSON = errors.New("a JSON document was logged as differences to one that the before image does not hold: " +
		"set binlog_row_image=FULL, or binlog_row_value_options='', on the source")
)

// Layout is how the rows of one table stand in row images: the columns as the
// schema knows them, joined with types and metadata of the table-map event. It
// is immutable; a new table map or a DDL makes a new one.
type Layout struct {
	Table   *schema.Table
	Columns []Column

	widths []width // one a column, then one for each that the server hides
	plan   []step  // of a row with every column and no NULL
}

// Column is a column of a row image.
type Column struct {
	schema.Column
	Wire byte   // binlog type (MYSQL_TYPE_…), ENUM and SET resolved from STRING
	Meta uint16 // the table map's metadata for it, in go-mysql's byte order

	kind kind         // how its bytes read
	hash kind         // how Canal reads them
	set  *charset.Set // of text; nil when unknown
	width

	compressed bool // MariaDB's COMPRESSED: its bytes are to be inflated
	fraction   int  // digits of a time in MariaDB's old format
}

// NewLayout joins a tracked table with a table-map event. Types, lengths and
// character sets are the event's, the rest is the tracked table's; where they
// contradict each other the error is ErrMismatch. Without a tracked table the
// event must name its columns (binlog_row_metadata=FULL), else the error is
// ErrUnknownTable; the columns then have no Type. A type that cannot be decoded
// is ErrUnsupported.
func NewLayout(t *schema.Table, m *replication.TableMapEvent) (l *Layout, err error) {
	defer malformed(m, &err)
	names := m.ColumnNameString()
	return newLayout(t, m, names, len(m.ColumnType), false)
}

// NewMariaDBLayout is NewLayout for a MariaDB server. It keeps a hash for each
// unique key that is too long in a column behind all others, which SELECT and
// SHOW CREATE TABLE do not show: the layout does neither. Such columns are told
// by their names, or by the tracked table's keys.
func NewMariaDBLayout(t *schema.Table, m *replication.TableMapEvent) (l *Layout, err error) {
	defer malformed(m, &err)
	names := m.ColumnNameString()
	n, hashes := len(m.ColumnType), len(m.ColumnType)
	if len(names) == 0 {
		hashes = 0
		if t != nil {
			hashes = min(n-len(t.Columns), t.Hashes)
		}
	}
	for ; n > 0 && hashes > 0 && tablemap.Hash(m, names, n-1); hashes-- {
		n--
	}
	if len(names) > n {
		names = names[:n]
	}
	return newLayout(t, m, names, n, true)
}

// malformed makes an error of a panic: go-mysql does not check that a table map
// has as much metadata as columns.
func malformed(m *replication.TableMapEvent, err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("table map of %s.%s: %v: %w", m.Schema, m.Table, r, ErrImage)
	}
}

// newLayout makes a layout of the first n columns of a table map.
func newLayout(t *schema.Table, m *replication.TableMapEvent, names []string, n int, mariaDB bool) (*Layout, error) {
	if len(m.ColumnMeta) != len(m.ColumnType) {
		return nil, fmt.Errorf("table map of %s.%s: %d columns, metadata of %d: %w", m.Schema, m.Table, len(m.ColumnType), len(m.ColumnMeta), ErrImage)
	}
	if t == nil {
		if len(names) != n || n == 0 {
			return nil, fmt.Errorf("table %s.%s: %w: it is not tracked, and the source does not log column names (binlog_row_metadata=FULL)",
				m.Schema, m.Table, ErrUnknownTable)
		}
		var err error
		if t, err = tablemap.Describe(m, names, mariaDB); err != nil {
			return nil, fmt.Errorf("table %s.%s: %w: it is not tracked: %w", m.Schema, m.Table, ErrUnknownTable, err)
		}
	}
	if len(t.Columns) != n {
		return nil, fmt.Errorf("table %s.%s: the table map says %d columns, the tracked table says %d: %w", t.Schema, t.Name, n, len(t.Columns), ErrMismatch)
	}

	l := &Layout{Table: t, Columns: make([]Column, n), widths: make([]width, len(m.ColumnType))}
	unsigned := m.UnsignedMap()
	collations := tablemap.Collations(m)
	for i := range l.Columns {
		c := &l.Columns[i]
		c.Column = t.Columns[i]
		c.Wire, c.Meta = tablemap.Resolve(m.ColumnType[i], m.ColumnMeta[i])
		c.Wire, c.compressed = tablemap.Inflated(c.Wire)
		if err := c.check(i, names, unsigned); err != nil {
			return nil, fmt.Errorf("table %s.%s column %s: %w", t.Schema, t.Name, c.Name, err)
		}
		id, known := collations[i]
		if err := c.decide(id, known); err != nil {
			return nil, fmt.Errorf("table %s.%s column %s: %w", t.Schema, t.Name, c.Name, err)
		}
		l.widths[i] = c.width
	}
	for i := n; i < len(l.widths); i++ {
		l.widths[i] = fixed(8) // a hash
	}
	l.plan = newPlan(l.widths)
	return l, nil
}

// Described is the table with what the table map says of its types.
func (l *Layout) Described() *schema.Table {
	t := *l.Table
	t.Hashes = len(l.widths) - len(l.Columns)
	t.Columns = make([]schema.Column, len(l.Columns))
	for i := range l.Columns {
		t.Columns[i] = l.Columns[i].Column
	}
	return &t
}

// check compares a tracked column with the table map's.
func (c *Column) check(i int, names []string, unsigned map[int]bool) error {
	if c.Name == "" {
		return ErrUnknownTable
	}
	if i < len(names) && !strings.EqualFold(names[i], c.Name) {
		return fmt.Errorf("the table map says that column %d is %s: %w", i+1, names[i], ErrMismatch)
	}
	if c.Base == "" {
		return nil
	}
	if !fits(&c.Column, c.Wire, c.Meta) {
		return fmt.Errorf("the table map says %s, the tracked table says %s: %w", tablemap.Name(c.Wire, c.Meta), c.describe(), ErrMismatch)
	}
	if u, known := unsigned[i]; known && integerWire(c.Wire) && u != c.Unsigned {
		return fmt.Errorf("the table map says %s, the tracked table says %s: %w", sign(u), c.describe(), ErrMismatch)
	}
	return nil
}

func sign(unsigned bool) string {
	if unsigned {
		return "unsigned"
	}
	return "signed"
}

// describe is the tracked type for an error.
func (c *Column) describe() string {
	if c.Type != "" {
		return c.Type
	}
	if c.Unsigned {
		return c.Base + " unsigned"
	}
	return c.Base
}

func integerWire(wire byte) bool {
	switch wire {
	case mysql.MYSQL_TYPE_TINY, mysql.MYSQL_TYPE_SHORT, mysql.MYSQL_TYPE_INT24, mysql.MYSQL_TYPE_LONG, mysql.MYSQL_TYPE_LONGLONG:
		return true
	}
	return false
}
