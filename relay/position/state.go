package position

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// stateVersion is the version of the State format that this build writes. It
// reads older ones and refuses newer ones.
const stateVersion = 1

// ExactlyOnce is the delivery of a State whose cursor was written behind a record
// of what readers have, which decides.
const ExactlyOnce = "exactly-once"

// pastKept is how many earlier positions a State keeps.
const pastKept = 20

// pastGTIDs is the longest GTID set, in bytes, that is kept with an earlier
// position: twenty sets of a much-travelled server would outgrow a ZooKeeper node.
const pastGTIDs = 1024

// pastEvery is the shortest time between two kept positions of one term.
const pastEvery = time.Minute

// State is what the relay keeps beside Canal's cursor, because Canal's JSON has
// no place for it: a JSON object in the node relay/state, or in the member
// "relay" of meta.dat. It belongs to the cursor that was written with it, and
// says nothing about another one.
type State struct {
	Version    int    `json:"version"`              // of this format
	ServerUUID string `json:"serverUuid,omitempty"` // of the source
	GTIDs      string `json:"gtids,omitempty"`      // executed set at the cursor
	Epoch      int64  `json:"epoch"`                // the writing owner's; 0 when static
	Routing    string `json:"routing,omitempty"`    // hash of the routing in force; empty behind a move by an operator
	Delivery   string `json:"delivery,omitempty"`   // of who wrote the cursor: ExactlyOnce, or empty for at least once
	// Since and SinceAt are the epoch and the beginning of the first term of this
	// history: a term that began where nobody, an operator or another tool said,
	// or with another routing, so that what earlier ones sent says nothing.
	Since    int64     `json:"since,omitempty"`
	SinceAt  time.Time `json:"sinceAt,omitzero"`
	Prepared []XA      `json:"prepared,omitempty"` // XA transactions undecided at the cursor
	Past     []Past    `json:"past,omitempty"`     // earlier positions, newest first, at most 20
}

// Past is a position that the cursor once had, for an operator who wants to go
// back to it.
type Past struct {
	At     time.Time `json:"at"`     // when it was stored
	Reason string    `json:"reason"` // why it is kept, for people
	File   string    `json:"file,omitempty"`
	Offset uint64    `json:"offset,omitempty"` // bytes from the start of File
	GTIDs  string    `json:"gtids,omitempty"`  // empty if longer than 1 KiB
}

// ParseState reads a State. A format newer than this build knows is an error.
func ParseState(b []byte) (State, error) {
	if err := newer(b, stateVersion); err != nil {
		return State{}, fmt.Errorf("read relay state: %w", err)
	}
	var s *State
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, fmt.Errorf("read relay state: %w", err)
	}
	if s == nil || s.Version < 1 {
		return State{}, fmt.Errorf("read relay state: it names no format version")
	}
	return *s, nil
}

// newer is an error if b has a version above the one that this build knows. It is
// asked first: what a newer build writes besides may be of another kind.
func newer(b []byte, known int) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err == nil && head.Version > known {
		return fmt.Errorf("format version %d is newer than %d, which this build knows; use the newer build", head.Version, known)
	}
	return nil
}

// Append appends s as JSON.
func (s State) Append(b []byte) []byte {
	s.Version = stateVersion
	return appendJSON(b, s)
}

// Next returns the state that belongs to p, stored at the time now. The earlier
// positions of s are kept, and p joins them if reason is not empty or the newest
// of them is a minute old.
func (s State) Next(p Position, now time.Time, reason string) State {
	s.ServerUUID, s.GTIDs, s.Prepared = p.ServerUUID, p.GTIDs, p.Prepared
	if reason == "" {
		if len(s.Past) > 0 {
			if age := now.Sub(s.Past[0].At); age >= 0 && age < pastEvery { // negative: the clock was set back
				return s
			}
		}
		reason = "running"
	}
	past := Past{At: now.Truncate(time.Second), Reason: reason, File: p.File, Offset: p.Offset}
	if len(p.GTIDs) <= pastGTIDs {
		past.GTIDs = p.GTIDs
	}
	kept := min(len(s.Past), pastKept-1)
	s.Past = append([]Past{past}, s.Past[:kept]...)
	return s
}

// Trust returns s as written by a term of an epoch under a routing and a delivery.
func (s State) Trust(routing, delivery string, epoch int64, now time.Time) State {
	if s.Routing != routing {
		s.Since, s.SinceAt = epoch, now.UTC().Truncate(time.Millisecond)
	}
	s.Epoch, s.Routing, s.Delivery = epoch, routing, delivery
	return s
}

// Apply fills into p, the position that the cursor names, what only s knows.
func (s State) Apply(p Position) Position {
	p.ServerUUID, p.Prepared = s.ServerUUID, s.Prepared
	if s.GTIDs != "" {
		p.GTIDs = s.GTIDs
	}
	return p
}

// Set returns the state that belongs to p, which an operator chose in the place
// of old under a delivery. Both join the earlier positions, p with the reason.
func (s State) Set(old, p Position, delivery string, now time.Time, reason string) State {
	if !old.IsZero() {
		s = s.Next(old, now, "replaced by an operator")
	}
	s.Delivery = delivery
	s.Routing = "" // what is sent again must not be taken for repeats
	return s.Next(p, now, "set by an operator: "+reason)
}

// Keep returns p with the XA transactions that were undecided at old, the
// position before, and may be undecided at p too: p's own search may have begun
// behind their prepare.
func (p Position) Keep(old Position) Position {
	for _, x := range old.Prepared {
		known := slices.ContainsFunc(p.Prepared, func(y XA) bool { return y.XID == x.XID })
		end := Position{File: x.File, Offset: x.End, ServerUUID: x.ServerUUID, Host: p.Host, Port: p.Port}
		covered, comparable := p.Covers(end)
		if !known && (covered || !comparable) {
			p.Prepared = append(slices.Clone(p.Prepared), x)
		}
	}
	return p
}
