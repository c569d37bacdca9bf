package message

import (
	"strconv"

	"github.com/canal-relay/canal-relay/relay/event"
)

// Proto writes changes as entries of Canal's protobuf form: messages of its
// EntryProtocol, in which fields are present also where they hold the default.
// It belongs to one goroutine and, once warm, allocates nothing for rows and
// columns.
type Proto struct {
	opened
	layouts map[*event.Layout][]part
	parts   []part // of the change that is open; nil for one without rows
}

// NewProto makes an encoder.
func NewProto(c Config) *Proto {
	return &Proto{opened: opened{config: c}, layouts: make(map[*event.Layout][]part)}
}

// Open takes a change, whose memory must stay as it is until the next Open, and
// locates its rows.
func (p *Proto) Open(c *event.Change) error {
	p.parts = nil
	if err := p.open(c); err != nil || c.Layout == nil {
		return err
	}
	p.parts = p.layouts[c.Layout]
	if p.parts == nil {
		if len(p.layouts) >= maxShapes {
			clear(p.layouts)
		}
		p.parts = newParts(c.Layout, &p.config)
		p.layouts[c.Layout] = p.parts
	}
	return nil
}

// Rows returns how many rows the open change has: 0 for a statement, and where
// a transaction begins or ends. Unlike in the flat form, rows of which no column
// is sent count.
func (p *Proto) Rows() int {
	if p.parts == nil {
		return 0
	}
	return p.rows.Len()
}

// AppendKey is as Flat.AppendKey.
func (p *Proto) AppendKey(dst []byte, row, column int) ([]byte, error) {
	if !p.parts[column].kept {
		return dst, nil
	}
	return p.appendKey(dst, row, column)
}

// What an entry holds: Canal's EntryType.
const (
	entryBegin = 1
	entryRows  = 2 // a statement too
	entryEnd   = 3
)

// Append appends the entry that holds some rows of the open change, by their
// index in it; nil is all of them, and what a change without rows takes. The
// header counts the rows of the whole change in any case.
func (p *Proto) Append(dst []byte, rows []int) ([]byte, error) {
	c := p.change
	dst = appendHeader(dst, c)
	kind := byte(entryRows)
	switch c.Kind {
	case event.Begin:
		kind = entryBegin
	case event.End:
		kind = entryEnd
	}
	dst = append(dst, 0x10, kind, 0x1a)
	at := len(dst)
	dst = append(dst, 0, 0)
	var err error
	switch {
	case kind == entryBegin:
		dst = appendXA(dst, 0x1a, c)
		dst = appendVarint(dst, 0x20, uint64(c.Thread))
	case kind == entryEnd:
		dst = appendNumber(dst, 0x12, c.XID)
		dst = appendXA(dst, 0x1a, c)
	case p.parts == nil:
		dst = appendStatement(dst, c)
	default:
		dst, err = p.appendRows(dst, rows)
	}
	return closeLength(dst, at, 2), err
}

// appendHeader appends the field header of an entry.
func appendHeader(dst []byte, c *event.Change) []byte {
	at := len(dst) + 1
	dst = append(dst, 0x0a, 0, 0x08, 1) // version
	dst = appendText(dst, 0x12, c.File)
	dst = appendVarint(dst, 0x18, c.Offset)
	dst = appendVarint(dst, 0x20, uint64(c.ServerID))
	dst = append(dst, "\x2a\x05UTF-8"...)
	dst = appendVarint(dst, 0x30, uint64(c.Time*1000))
	dst = append(dst, 0x38, 2) // of MySQL
	// Names that Canal does not know are absent, not empty.
	if c.Schema != "" || !isStatement(c) {
		dst = appendText(dst, 0x42, c.Schema)
	}
	if c.Table != "" || !isStatement(c) && !c.Unnamed {
		dst = appendText(dst, 0x4a, c.Table)
	}
	dst = appendVarint(dst, 0x50, uint64(c.Length))
	if c.Kind < event.Begin {
		dst = append(dst, 0x58, byte(c.Kind))
	}
	if c.Clock != nil {
		dst = appendPair(dst, 0x62, "curtGtid", c.Tx)
		var number [20]byte
		dst = appendPair(dst, 0x62, "curtGtidSn", strconv.AppendInt(number[:0], c.Clock.Sequence, 10))
		dst = appendPair(dst, 0x62, "curtGtidLct", strconv.AppendInt(number[:0], c.Clock.LastCommitted, 10))
	}
	if c.Layout != nil && c.Rows > 0 {
		var number [20]byte
		dst = appendPair(dst, 0x62, "rowsCount", strconv.AppendInt(number[:0], int64(c.Rows), 10))
	}
	if c.GTID != "" {
		dst = appendText(dst, 0x6a, c.GTID)
	}
	return closeLength(dst, at, 1)
}

// isStatement tells DDL and statement-format DML from what else has no rows.
func isStatement(c *event.Change) bool {
	return c.Layout == nil && (c.DDL || c.Kind <= event.Delete)
}

// appendStatement appends the fields of a RowChange without rows.
func appendStatement(dst []byte, c *event.Change) []byte {
	dst = append(dst, 0x10, byte(c.Kind))
	if isStatement(c) {
		dst = append(dst, 0x50, bit(c.DDL))
	}
	dst = appendText(dst, 0x5a, c.SQL)
	if c.Kind == event.XACommit || c.Kind == event.XARollback {
		dst = appendXA(dst, 0x6a, c)
	}
	if isStatement(c) && c.Database != "" {
		dst = appendText(dst, 0x72, c.Database)
	}
	return dst
}
