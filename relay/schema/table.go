package schema

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
