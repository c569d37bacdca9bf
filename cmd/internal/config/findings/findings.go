// Package findings is what is said about configuration files: problems, and what
// becomes of each key.
package findings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
)

// Problem is one thing in the files that cannot work.
type Problem struct {
	Where string // "file:line", "environment", or the file that lacks the key
	Key   string // "" where no key is to blame
	What  string // what is wrong, and what to do
}

// Error is the problem in one line.
func (p Problem) Error() string {
	if p.Key == "" {
		return p.Where + ": " + p.What
	}
	return p.Where + ": " + p.Key + ": " + p.What
}

// Problems is everything in the files that cannot work, in the order in which
// it was found: the node first, then one destination after another.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Add takes a problem unless the same is known: a key of canal.properties is
// judged once for every destination.
func (p *Problems) Add(one Problem) {
	if !slices.Contains(*p, one) {
		*p = append(*p, one)
	}
}

// Finding is a key that was found, and what becomes of it.
type Finding struct {
	Where       string // "file:line" or "environment"
	Destination string // "" for canal.properties
	Key         string // "" for a finding about a file
	Verdict     keys.Verdict
	Note        string
}

// String is the finding in one line.
func (f Finding) String() string {
	if f.Key == "" {
		return f.Where + ": " + f.Note
	}
	return fmt.Sprintf("%s: %s: %s: %s", f.Where, f.Key, f.Verdict, f.Note)
}
