package metrics

import "time"

// State is what a destination is doing on this node.
type State string

// The states of a destination.
const (
	Starting State = "starting" // nothing is known yet
	Standby  State = "standby"  // another node, or none yet, owns it
	Active   State = "active"   // this node owns it and works
	Paused   State = "paused"   // this node owns it and does not read, on request
	Failed   State = "failed"   // a term ended with an error; it is tried again
	Stopped  State = "stopped"  // it is not run here
)

// States lists all states.
var States = []State{Starting, Standby, Active, Paused, Failed, Stopped}

// Status is what the page and /status tell of one destination. It is filled by
// the caller of Serve; the texts must not hold secrets.
type Status struct {
	Destination string    `json:"destination"`
	State       State     `json:"state"`
	Reason      string    `json:"reason,omitempty"`   // of Failed: the error; else anything worth saying
	Since       time.Time `json:"since,omitzero"`     // when the state began
	Owner       string    `json:"owner,omitempty"`    // ip:port of the owner, where known
	Epoch       int64     `json:"epoch,omitempty"`    // of the ownership under way
	Position    string    `json:"position,omitempty"` // last stored position, in words
	KeptUntil   time.Time `json:"keptUntil,omitzero"` // of Active and Paused: the source keeps the position that long, at the least
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
	// Refused says why the newest configuration is not in force; Restart lists
	// changed keys of the node that take a restart.
	Refused string   `json:"refused,omitempty"`
	Restart []string `json:"restart,omitempty"`

	// Figures is filled by Serve from the destination's series.
	Figures
}

// Figures are the numbers of a destination that this node has counted.
type Figures struct {
	LagSeconds    float64           `json:"lagSeconds"`
	RowsPerSecond float64           `json:"rowsPerSecond"`
	Rows          int64             `json:"rows"`          // acknowledged in the term
	InFlightBytes int64             `json:"inFlightBytes"` // read and not acknowledged
	Terms         uint64            `json:"terms"`
	LastRead      time.Time         `json:"lastRead,omitzero"`
	LastAcked     time.Time         `json:"lastAcked,omitzero"`
	LastSaved     time.Time         `json:"lastSaved,omitzero"`
	PositionTime  time.Time         `json:"positionTime,omitzero"` // time of the change at the stored position
	Unusual       map[string]uint64 `json:"unusual,omitempty"`
}
