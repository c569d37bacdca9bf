package event

import (
	"github.com/canal-relay/canal-relay/relay/schema"
)

// Layout is how the rows of one table stand in row images: the columns as the
// schema knows them, joined with types and metadata of the table-map event. It
// is immutable; a new table map or a DDL makes a new one.
type Layout struct {
	Table   *schema.Table
	Columns []Column
}

// Column is a column of a row image.
type Column struct {
	schema.Column
	Wire byte   // binlog type (MYSQL_TYPE_…), ENUM and SET resolved from STRING
	Meta uint16 // the table map's metadata for it, in go-mysql's byte order
}
