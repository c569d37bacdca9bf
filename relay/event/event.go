package event

import (
	"github.com/canal-relay/canal-relay/relay/position"
)

// Kind is what a change does. The numbers are Canal's EventType.
type Kind uint8

// The kinds of change that are sent on.
const (
	Insert     Kind = 1
	Update     Kind = 2
	Delete     Kind = 3
	Create     Kind = 4
	Alter      Kind = 5
	Erase      Kind = 6
	Query      Kind = 7
	Truncate   Kind = 8
	Rename     Kind = 9
	CIndex     Kind = 10
	DIndex     Kind = 11
	XACommit   Kind = 13
	XARollback Kind = 14

	// Begin and End stand around the changes of a transaction, for Canal's
	// protobuf form. They are not of Canal's EventType, and have no name.
	Begin Kind = 0x40
	End   Kind = 0x41
)

var kindNames = [...]string{
	Insert: "INSERT", Update: "UPDATE", Delete: "DELETE", Create: "CREATE", Alter: "ALTER", Erase: "ERASE",
	Query: "QUERY", Truncate: "TRUNCATE", Rename: "RENAME", CIndex: "CINDEX", DIndex: "DINDEX",
	XACommit: "XACOMMIT", XARollback: "XAROLLBACK",
}

// String is the name that Canal's messages carry.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// Change is one event of the binlog that is sent on: a row event with its rows
// still raw, a statement, or where a transaction begins or ends.
type Change struct {
	Kind   Kind
	DDL    bool    // a statement that Canal marks isDdl
	Layout *Layout // of a row event; nil for a statement

	Schema, Table string // names that the message announces; empty when unknown
	SQL           string // a statement's text; empty for row events

	Time int64  // the event's time in seconds since 1970
	GTID string // the set executed so far including this transaction, in GTID mode; else empty

	Tx   []byte // the transaction: its GTID, or file:offset@server-uuid of its first event
	Row  uint64 // index in the transaction of the change's first row; a statement counts as one row
	Rows int    // number of rows; 1 for a statement, 0 for Begin and End

	Present      []byte // row event: columns of the image (of the before image of an update), one bit each
	PresentAfter []byte // update: columns of the after image
	Image        []byte // row event: the row images as in the binlog, uncompressed

	// Where the event stands in the binlog, for Canal's protobuf header.
	File     string
	Offset   uint64 // of the event's first byte
	Length   uint32 // the event's size with header and checksum
	ServerID uint32
	TableID  uint64
	Database string // the statement's default database

	// The rest is for that form alone. SQL of Begin and End is that of XA START
	// and XA END.
	Thread  uint32 // Begin: the session that ran the transaction
	XID     uint64 // End: the storage engine's number of the transaction; 0 behind a COMMIT
	Unnamed bool   // Query: a text that accompanies rows, whose table is not known, as opposed to none
	Clock   *Clock // in GTID mode on MySQL, shared by the changes of a transaction; else nil
}

// Clock is a transaction's place in the order in which a replica may apply
// it.
type Clock struct {
	Sequence, LastCommitted int64
}

// Batch is a run of changes in binlog order: whole transactions, and perhaps
// the beginning of one more.
type Batch struct {
	ID      uint64 // number in its term, from 1; the id of Canal's messages
	Changes []Change

	// Resume is the end of the last transaction that ends in this batch, zero
	// if none does: acknowledging this batch and all before it makes it the
	// stored position.
	Resume position.Position
	// Rows counts the rows (as Change.Row does) of the transaction that is
	// still open at the batch's end; 0 when the batch ends with a transaction.
	Rows uint64
	Tx   []byte // that transaction, as Change.Tx; not in Arena

	// Alone says that the batch is sent when all before it is acknowledged, and
	// acknowledged before anything behind it is sent.
	Alone bool

	Transactions int // transactions that end in this batch
	Bytes        int // bytes of binlog that it holds

	Skipped bool // what Resume.Skip named was left out before its end

	Size  int // bytes charged to the relay's budget until Release
	Built int // bytes of the messages built from it, set before Release; 0 until then

	// Spent, when it is not nil, takes back the memory of Changes after Built is
	// set, long before Release; the batch is charged for its messages from then on.
	Spent func(*Batch)

	// Arena holds bytes that Changes point into. It is the relay's.
	Arena []byte
}
