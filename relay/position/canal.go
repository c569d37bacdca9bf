package position

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// canalType is the type tag of Canal's LogPosition. Canal reads a cursor node
// only when the tag is its first member.
const canalType = "com.alibaba.otter.canal.protocol.position.LogPosition"

// logPosition is Canal's LogPosition. The fields stand in the order in which
// Canal writes them, and members that are null are left out.
type logPosition struct {
	Type     string         `json:"@type,omitempty"`
	Identity *identity      `json:"identity,omitempty"`
	Position *entryPosition `json:"postion,omitempty"` // Canal's own spelling
}

type identity struct {
	SlaveID int64          `json:"slaveId"`
	Source  *sourceAddress `json:"sourceAddress,omitempty"`
}

type sourceAddress struct {
	Address string `json:"address,omitempty"`
	Port    uint16 `json:"port"`
}

type entryPosition struct {
	GTID      string  `json:"gtid"`
	Included  bool    `json:"included"`
	Journal   string  `json:"journalName,omitempty"`
	Position  *int64  `json:"position,omitempty"`
	ServerID  *uint32 `json:"serverId,omitempty"`
	Timestamp *int64  `json:"timestamp,omitempty"` // milliseconds
}

// firstOffset is where the first event of a binlog file starts, behind the
// four magic bytes.
const firstOffset = 4

// ParseCanal reads a position as Canal stores it, in the cursor node (with its
// type tag) or in meta.dat (without): members in any order, missing ones and
// unknown ones allowed. Text that is not such a document, or that names neither
// a file nor a GTID set, is an error: it must never be taken for "no position".
func ParseCanal(b []byte) (Position, error) {
	var doc *logPosition
	if err := json.Unmarshal(b, &doc); err != nil {
		return Position{}, fmt.Errorf("read Canal position: %w", err)
	}
	if doc == nil || doc.Position == nil {
		return Position{}, errors.New(`read Canal position: it has no member "postion"`)
	}
	if doc.Type != "" && doc.Type != canalType {
		return Position{}, fmt.Errorf("read Canal position: its @type is %q, not a LogPosition", doc.Type)
	}
	return doc.position()
}

func (doc *logPosition) position() (Position, error) {
	e := doc.Position
	p := Position{File: e.Journal, GTIDs: e.GTID}
	if p.IsZero() {
		return Position{}, errors.New("read Canal position: it names neither a binlog file nor a GTID set")
	}
	switch {
	case e.Position != nil && *e.Position < 0:
		return Position{}, fmt.Errorf("read Canal position: its offset %d is negative", *e.Position)
	case p.File != "" && (e.Position == nil || *e.Position < firstOffset):
		p.Offset = firstOffset // as Canal starts a file that is named alone
	case p.File != "":
		p.Offset = uint64(*e.Position)
	}
	if e.ServerID != nil {
		p.ServerID = *e.ServerID
	}
	if e.Timestamp != nil && *e.Timestamp > 0 {
		p.Time = time.UnixMilli(*e.Timestamp)
	}
	if doc.Identity != nil && doc.Identity.Source != nil {
		p.Host, p.Port = doc.Identity.Source.Address, doc.Identity.Source.Port
	}
	return p, nil
}

// AppendCanal appends p as Canal writes it into its cursor node: one line of
// JSON, the type tag first. What Canal has no member for (server UUID, prepared
// transactions) is left out; an unknown time, server id or file is left out too,
// as Canal leaves out what is null.
func (p Position) AppendCanal(b []byte) []byte {
	doc := p.logPosition()
	doc.Type = canalType
	return appendJSON(b, doc)
}

func (p Position) logPosition() *logPosition {
	e := &entryPosition{GTID: p.GTIDs, Journal: p.File}
	if p.File != "" {
		offset := int64(p.Offset)
		e.Position = &offset
	}
	if p.ServerID != 0 {
		e.ServerID = &p.ServerID
	}
	if !p.Time.IsZero() {
		ms := p.Time.UnixMilli()
		e.Timestamp = &ms
	}
	return &logPosition{
		Identity: &identity{SlaveID: -1, Source: &sourceAddress{Address: p.Host, Port: p.Port}},
		Position: e,
	}
}

// appendJSON appends v without escaping <, > and &, which Canal's writer keeps.
func appendJSON(b []byte, v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		// Only the plain structs of this package come here: they always encode.
		panic(fmt.Sprintf("position: encode %T: %v", v, err))
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
