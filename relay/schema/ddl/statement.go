package ddl

import (
	"errors"

	"github.com/canal-relay/canal-relay/relay/schema/ddl/lex"
)

// ErrSyntax says that a statement about a table is not understood.
var ErrSyntax = errors.New("statement not understood")

// Kind is what a statement does. The numbers are Canal's EventType.
type Kind uint8

// The kinds of statement.
const (
	Insert   Kind = 1
	Update   Kind = 2
	Delete   Kind = 3
	Create   Kind = 4
	Alter    Kind = 5
	Erase    Kind = 6
	Query    Kind = 7
	Truncate Kind = 8
	Rename   Kind = 9
	CIndex   Kind = 10
	DIndex   Kind = 11
)

// Options say how the server that ran a statement read it.
type Options = lex.Options

// Result is what Canal would announce for one table or one item of a statement.
// For Query, Schema is the text as written, quotes included.
type Result struct {
	Kind                Kind
	Schema, Table       string // of a rename: the new names
	OldSchema, OldTable string // rename only
}

// Statement is a text read. Without Results there is nothing to announce.
type Statement struct {
	Results []Result
	Changes []Change // what it does to layouts, in order
}

// Name names a table; the schema is never empty unless the statement had no
// default database.
type Name struct{ Schema, Table string }

// Change is one effect on layouts: CreateTable, CreateLike, AlterTable,
// RenameTable, DropTable, Database, DropDatabase, Use or Forget.
type Change interface{ change() }

// CreateTable defines a table. Unknown means that a SELECT decides the columns.
type CreateTable struct {
	Name
	Columns            []Column
	PrimaryKey         []string
	Unique             []Key
	Period             []string // MariaDB: name, start and end of an application-time period
	Charset, Collation string   // defaults; empty: the database's
	Versioned          bool     // MariaDB: WITH SYSTEM VERSIONING
	Temporary          bool
	IfNotExists        bool
	Unknown            bool
}

// CreateLike defines a table as a copy of another.
type CreateLike struct {
	Name
	Like        Name
	Temporary   bool
	IfNotExists bool
}

// AlterTable changes a table, then renames it if RenameTo is set.
type AlterTable struct {
	Name
	Items    []Item
	RenameTo Name
}

// RenameTable renames one table.
type RenameTable struct{ From, To Name }

// DropTable drops one table.
type DropTable struct {
	Name
	Temporary bool
}

// Database creates or alters a database. Empty fields stay as they are.
type Database struct {
	Schema             string
	Charset, Collation string
	Create             bool
	IfNotExists        bool
}

// DropDatabase drops a database and its tables.
type DropDatabase struct{ Schema string }

// Use changes the default database of the statements that follow in a script.
type Use struct{ Schema string }

// Forget says that a table's layout is no longer known.
type Forget struct{ Name }

func (CreateTable) change()  {}
func (CreateLike) change()   {}
func (AlterTable) change()   {}
func (RenameTable) change()  {}
func (DropTable) change()    {}
func (Database) change()     {}
func (DropDatabase) change() {}
func (Use) change()          {}
func (Forget) change()       {}

// Key is a unique key.
type Key struct {
	Name    string    `json:"name,omitzero"` // empty: the server finds one, see Named
	Columns []KeyPart `json:"columns"`       // without expressions
	Hash    bool      `json:"hash,omitzero"` // USING HASH
}

// KeyPart is a column of a key, or its beginning.
type KeyPart struct {
	Column string `json:"column"`
	Length uint64 `json:"length,omitzero"` // in characters; bytes of binary columns; 0: all of it
}

// Column is a column as a statement defines it.
type Column struct {
	Name       string
	Type       string   // as written: word as typed, (args), then unsigned and zerofill in lower case
	Base       string   // lower-case type word after synonyms, before the character set has its say
	Args       []string // arguments, strings without quotes
	Unsigned   bool
	Nullable   bool
	PrimaryKey bool   // PRIMARY KEY or KEY among the attributes
	Unique     bool   // UNIQUE among the attributes
	Charset    string // as written, lower case; empty when not given
	Collation  string
	Generated  bool
	Invisible  bool
	RowEnd     bool // MariaDB: GENERATED ALWAYS AS ROW END
	Versioned  bool // MariaDB: WITH SYSTEM VERSIONING, and with it the table
}

// ItemOp is what one item of an ALTER TABLE does to a layout.
type ItemOp uint8

// The items that change a layout.
const (
	AddColumn ItemOp = iota + 1
	DropColumn
	ChangeColumn   // MODIFY (Old is Column.Name) and CHANGE
	RenameColumn   // Old to Column.Name
	SetVisibility  // of Old, to Column.Invisible
	AddPrimaryKey  // Keys
	DropPrimaryKey //
	AddUnique      // Unique
	DropIndex      // Old
	RenameIndex    // Old to Unique.Name
	ConvertCharset // Charset, Collation; Charset "default" is the database's
	DefaultCharset // Charset, Collation
	AddPeriod      // MariaDB: Keys are its name, start and end
	AddVersioning  // MariaDB
	DropVersioning // MariaDB
)

// Item is one item of an ALTER TABLE.
type Item struct {
	Op                 ItemOp
	Column             Column
	Old                string
	First              bool
	After              string // empty: stays in place, or goes to the end
	If                 bool   // IF EXISTS or IF NOT EXISTS: no error when it does not apply
	Keys               []string
	Unique             Key
	Charset, Collation string
}
