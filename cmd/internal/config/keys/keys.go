package keys

import (
	"slices"
	"strings"
	"sync"
)

// Verdict is what becomes of a key.
type Verdict string

// The verdicts.
const (
	Honoured Verdict = "honoured" // does what its note says
	Ignored  Verdict = "ignored"  // may be set, does nothing; its note says why
	Refused  Verdict = "refused"  // only the default may be set; its note says why
	Unknown  Verdict = "unknown"  // in no table
)

// Scope is where a key is read from.
type Scope string

// The scopes.
const (
	// ScopeServer keys are read from canal.properties by Canal's direct reader: the
	// environment wins even if empty, and ${…} stays as it is.
	ScopeServer Scope = "server"
	// ScopeInstance keys may stand in either file and are read by Canal's
	// placeholder reader. One in instance.properties replaces the other, even
	// if blank.
	ScopeInstance Scope = "instance"
	// ScopeProcess keys are our own: read as instance keys are, from canal.properties
	// only.
	ScopeProcess Scope = "process"
)

// Kind is the form of a value.
type Kind string

// The kinds.
const (
	Text     Kind = "text"
	Bool     Kind = "true or false"
	Number   Kind = "number"
	Millis   Kind = "milliseconds"
	Seconds  Kind = "seconds"
	Duration Kind = "duration, as 500ms or 5s"
	Size     Kind = "bytes, as 65536 or 32MiB"
	List     Kind = "comma-separated list"
	Rules    Kind = "rules"
	Path     Kind = "path"
	Password Kind = "secret"
)

// Key is one line of the table of keys.
type Key struct {
	// Name is the key. A * in it stands for any text.
	Name    string
	Verdict Verdict
	Scope   Scope
	Kind    Kind
	Default string // of an absent or blank key
	Note    string // what an honoured key does; why another one is ignored or refused
	// Accepts widens, for a Refused key, what may be set beyond the default.
	Accepts func(value string) bool
}

// All is the table: every key of Canal and every one of ours, sorted by name.
// Names with a * come last, and are for keys that have no line of their own.
var All = sync.OnceValue(func() []Key {
	all := slices.Concat(serverKeys, mqKeys, kafkaKeys, instanceKeys, relayKeys)
	slices.SortStableFunc(all, func(a, b Key) int {
		if p, q := strings.Contains(a.Name, "*"), strings.Contains(b.Name, "*"); p != q {
			if p {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
})

var keyIndex = sync.OnceValue(func() map[string]*Key {
	index := map[string]*Key{}
	for i := range All() {
		index[All()[i].Name] = &All()[i]
	}
	return index
})

// For finds the line of a key, nil when there is none.
func For(name string) *Key {
	if k := keyIndex()[name]; k != nil && !strings.Contains(k.Name, "*") {
		return k
	}
	// Of two patterns the longer one is the closer.
	var found *Key
	for i := range All() {
		k := &All()[i]
		before, after, ok := strings.Cut(k.Name, "*")
		if ok && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after) &&
			(found == nil || len(k.Name) > len(found.Name)) {
			found = k
		}
	}
	return found
}

// Takes reports whether a Refused key may have the value.
func (k *Key) Takes(value string) bool {
	return value == "" || strings.EqualFold(value, k.Default) || k.Accepts != nil && k.Accepts(value)
}

func anyOf(values ...string) func(string) bool {
	return func(v string) bool {
		return slices.ContainsFunc(values, func(w string) bool { return strings.EqualFold(v, w) })
	}
}

// Nearest is the known name most like name, "" when none is much like it.
func Nearest(name string) string {
	best, limit := "", len(name)/5+1
	for _, k := range All() {
		if strings.Contains(k.Name, "*") {
			continue
		}
		if d := distance(name, k.Name, limit); d <= limit {
			best, limit = k.Name, d-1
		}
	}
	return best
}

// distance counts the letters to add, drop or change between a and b; anything
// above limit is only known to be above it.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Process reports whether a change of the key takes a restart of the node.
func (k *Key) Process() bool {
	switch k.Name {
	case "canal.ip", "canal.register.ip", "canal.port", "canal.metrics.pull.port", "canal.zkServers", "canal.auto.scan", "canal.auto.scan.interval":
		return true
	}
	return k.Scope == ScopeProcess || strings.HasPrefix(k.Name, "canal.admin.")
}

// Chooses reports whether the key says only which destinations are run.
func (k *Key) Chooses() bool {
	return strings.HasPrefix(k.Name, "canal.destinations") || strings.HasSuffix(k.Name, ".lazy") || strings.HasSuffix(k.Name, ".mode") && strings.HasPrefix(k.Name, "canal.instance.")
}
