package layout

import (
	"github.com/canal-relay/canal-relay/relay/schema/ddl"
	"github.com/canal-relay/canal-relay/relay/schema/show"
)

// Table is the layout of a table at one position. A published *Table never
// changes: a DDL publishes a new one, so that it can be held without a lock.
type Table struct {
	Schema, Name string
	Columns      []Column
	PrimaryKey   []int // indexes into Columns, in key order; empty without a primary key
	// Hashes is how many columns a MariaDB server may have behind these, one for
	// each unique key that is too long to be one, which only its binlog shows.
	Hashes int `json:",omitzero"`
}

// Column is one column of a Table, in table order.
type Column struct {
	Name      string
	Type      string   // mysqlType as messages show it: the type as written, see design of mysqlType in the README
	Base      string   // lower-case type word after synonyms: int, varchar, text, longblob, enum, …
	Args      []string // arguments of the type as written, without quotes: 10,2 or enum labels
	Unsigned  bool
	Nullable  bool
	Key       bool   // part of the primary key; unique keys do not count
	Charset   string // server name of the character set (utf8mb4, latin1, gbk, binary …); empty when the type has none or it is unknown
	Collation string // as written, empty when not
	Generated bool   // virtual or stored generated column
	Invisible bool
}

// Written is the column's type for package show.
func (c *Column) Written() show.Type {
	return show.Type{Base: c.Base, Args: c.Args, Written: c.Type, Unsigned: c.Unsigned, Charset: c.Charset}
}

// Layout is a table with what later statements need.
type Layout struct {
	*Table    `json:"table"`
	Charset   string    `json:"charset,omitzero"`   // default of new columns
	Versioned bool      `json:"versioned,omitzero"` // MariaDB: ends in the two hidden columns of system versioning
	RowEnd    string    `json:"rowEnd,omitzero"`    // MariaDB: its own column for system versioning
	Period    []string  `json:"period,omitzero"`    // MariaDB: name, start and end of an application-time period
	Unique    []ddl.Key `json:"unique,omitzero"`
	From      string    `json:"-"` // where the definition came from, for people
}

// Rules are what a layout takes from the server of the statement at hand.
type Rules struct {
	MariaDB bool
	Types   *show.Server // whose types new columns have; nil: as written
}
