package ha

import "time"

// Role is what a node is to a destination.
type Role string

// The roles of a node.
const (
	Standby Role = "standby" // waits to be elected
	Active  Role = "active"  // owns the destination and runs its term
	Failed  Role = "failed"  // pauses after a term that failed
	Stopped Role = "stopped" // its Monitor does not run
)

// State returns the node's role, since when it has it, and why, for people: the
// reason of the last failure, empty when there is nothing to say. It may be
// called at any time.
func (m *Monitor) State() (role Role, since time.Time, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.role, m.since, m.reason
}

// Refused returns why the starter that Reload brought last does not run although
// this node works; empty when it does, or has not been tried. It may be called
// at any time.
func (m *Monitor) Refused() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// refuse notes why a reloaded starter was given up for the one before.
func (m *Monitor) refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.reloaded) == 0 {
		m.refused = err.Error()
	}
}

func (m *Monitor) setState(role Role, reason string) {
	m.mu.Lock()
	changed := m.role != role
	if changed {
		m.role, m.since = role, time.Now()
	}
	m.reason = reason
	m.mu.Unlock()
	if changed && m.Changed != nil {
		m.Changed(role, reason)
	}
}
