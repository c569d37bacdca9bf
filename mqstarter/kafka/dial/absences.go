package dial

import "sync"

// Everybody stands for the cluster as a whole, where no broker is known to be away.
const Everybody = ""

// Absences are the brokers that could not be reached, by host:port. Each is
// looked at by itself: of two addresses that one cluster goes by, one may answer
// at every attempt, and the other never.
type Absences struct {
	mu   sync.Mutex
	away map[string]error // why
	last string           // who was added last
}

// Add notes a broker and why, and reports whether that is news.
func (a *Absences) Add(who string, why error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.away[who]
	if who == Everybody && len(a.away) > 0 && !known {
		return false
	}
	if a.away == nil {
		a.away = make(map[string]error)
	}
	a.away[who], a.last = why, who
	return !known
}

// Remove notes that a broker is there, and reports whether that is news.
func (a *Absences) Remove(who string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.away[who]
	delete(a.away, who)
	return known
}

// Why is why the broker that was added last is away, nil if it is not.
func (a *Absences) Why() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.away[a.last]
}
