package position

import (
	"errors"
	"fmt"
	"time"
)

// ErrNone says that no position is stored yet.
var ErrNone = errors.New("no position stored")

// ErrFenced says that another node has moved the stored position since it was
// loaded: whoever gets it no longer owns the destination.
var ErrFenced = errors.New("the stored position was moved by another node")

// Position is a point in a binlog between two transactions, by file and offset
// and, where the source has GTIDs, by the set executed so far.
type Position struct {
	File       string    // binlog file name; empty when only the GTID set is known
	Offset     uint64    // bytes from the start of File
	GTIDs      string    // executed set in the server's own text form; empty without GTIDs
	ServerID   uint32    // server_id of the event that ended the transaction
	ServerUUID string    // server_uuid of the source (MySQL); empty on MariaDB and offline
	Time       time.Time // time of the event that ended the transaction, to the second
	Host       string    // source as configured, or as Canal wrote it; resolved only to compare
	Port       uint16
	Prepared   []XA // XA transactions prepared before this point and undecided
}

// XA is a prepared XA transaction: where its rows are, until they are decided.
type XA struct {
	XID        string `json:"xid"` // as the binlog's statement writes it: X'…',X'…',1
	File       string `json:"file"`
	Start      uint64 `json:"start"` // bytes in File
	End        uint64 `json:"end"`
	ServerUUID string `json:"serverUuid,omitempty"`
	GTID       string `json:"gtid,omitempty"`  // of the prepare (MySQL), to find it on another server
	After      string `json:"after,omitempty"` // MariaDB: the GTID before the prepare in its domain, for the same; the domain alone where there is none
	Time       int64  `json:"time,omitempty"`  // of the prepare, in seconds since 1970
	Empty      bool   `json:"empty,omitempty"` // it changed no captured table
}

// Saved is a position as the cursor kept it.
type Saved struct {
	Position
	Routing string // hash of the routing that was in force when it was written; empty if unknown
	Foreign bool   // someone else (Canal, an operator) wrote the cursor since

	Skip     string // what an operator wants left out once, as in Skip.At, or several of them with blanks between; empty for nothing
	Delivery string // of who wrote the cursor, as in State; empty if someone else did

	Since   int64     // as in State
	SinceAt time.Time // as in State
}

// Resume is where a stream continues: after Position, and after the first Sent
// rows of the transaction that follows it, which readers already have: of Tx, as
// event.Change.Tx, or, where that is not known, of the first one with rows.
type Resume struct {
	Position
	Sent uint64
	Tx   string
	Skip string // as in Saved
}

// Where is the file position for the end of a sentence; empty where there is none.
func (p Position) Where() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf(" at %s:%d", p.File, p.Offset)
}

// IsZero reports whether p names no point at all.
func (p Position) IsZero() bool { return p.File == "" && p.GTIDs == "" }
