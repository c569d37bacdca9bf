package position

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// skipVersion is the version of the Skip format that this build writes. It reads
// older ones, none named among them, and refuses newer ones.
const skipVersion = 1

// Skip is an operator's order to leave one thing out, once: a JSON object in
// the node relay/skip.
type Skip struct {
	Version int `json:"version"` // of this format

	At     string    `json:"at"`     // what, as a Fault names it
	Reason string    `json:"reason"` // for people
	Who    string    `json:"who"`
	When   time.Time `json:"when"`
}

var skipAt = regexp.MustCompile(`^([^\s:@]+:[0-9]+(@[0-9a-fA-F-]*)?|[0-9]+-[0-9]+-[0-9]+|[0-9a-fA-F-]{36}(:[a-z_][a-z0-9_]*)?:[0-9]+)$`)

// Validate reports what is wrong with an order.
func (s Skip) Validate() error {
	switch {
	case !skipAt.MatchString(s.At):
		return fmt.Errorf("%q: name an event as FILE:OFFSET, or a transaction by its GTID or as FILE:OFFSET@UUID, as the error has it", s.At)
	case s.Reason == "":
		return errors.New("there is no reason")
	}
	return nil
}

// ParseSkip reads an order.
func ParseSkip(b []byte) (s Skip, err error) {
	if err := newer(b, skipVersion); err != nil {
		return s, fmt.Errorf("read relay/skip: %w", err)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("read relay/skip: %w", err)
	}
	return s, s.Validate()
}

// Append appends s as JSON.
func (s Skip) Append(b []byte) []byte {
	s.Version = skipVersion
	return appendJSON(b, s)
}

// Passed reports that p, where a transaction ends, is known to be behind what an
// order names. A file without a server is of p's.
func (p Position) Passed(at string) bool {
	place, server, _ := strings.Cut(at, "@")
	file, text, _ := strings.Cut(place, ":")
	q := Position{GTIDs: at}
	if _, _, ok := splitFile(file); ok {
		offset, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return false
		}
		q = Position{File: file, Offset: offset + 1, ServerUUID: cmp.Or(server, p.ServerUUID), Host: p.Host, Port: p.Port}
	}
	passed, comparable := p.Covers(q)
	return passed && comparable
}

const leftOut = "left out "

// Done is the reason under which the position behind what was left out is kept.
func (s Skip) Done() string {
	return fmt.Sprintf(leftOut+"%s as %s ordered at %s: %s", s.At, s.Who, s.When.UTC().Format(time.RFC3339), s.Reason)
}

// LeftOut reads what Done has written.
func LeftOut(reason string) (at, why string, ok bool) {
	if reason, ok = strings.CutPrefix(reason, leftOut); !ok {
		return "", "", false
	}
	at, why, ok = strings.Cut(reason, " as ")
	return at, why, ok
}

// Fault is an error of one thing in the stream, which a Skip may leave out: an
// event, FILE:OFFSET, or a transaction, as the header r-pos has it.
type Fault struct {
	At  string
	Err error
}

// Error is that of Err.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }
