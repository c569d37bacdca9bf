package oversize

import (
	"encoding/json"
	"fmt"
)

// Policy is what is done about a row, or a statement, whose message is larger
// than Kafka takes. An event of several rows has been split by then.
type Policy string

// The policies.
const (
	Stop       Policy = "stop"        // the term ends
	KeyOnly    Policy = "key-only"    // the message shows the columns of the primary key alone; without such a key the term ends
	DeadLetter Policy = "dead-letter" // a Letter is sent in its place
)

// Letter is the value of a record in the dead-letter topic: a JSON object that
// says where the change is and nothing of what it holds but its key.
type Letter struct {
	Destination string          `json:"destination"`
	Position    string          `json:"position"` // the transaction, as in r-pos
	Row         uint64          `json:"row"`      // in the transaction, as in r-row
	Topic       string          `json:"topic"`    // where it was to go
	Partition   int32           `json:"partition"`
	Schema      string          `json:"schema"`
	Table       string          `json:"table"`
	Key         json.RawMessage `json:"key"`   // an object of the primary key's columns and their texts; null without one
	Bytes       int             `json:"bytes"` // of the message that was too large, with its headers
	Reason      string          `json:"reason"`
}

// Append appends the letter.
func (l *Letter) Append(dst []byte) ([]byte, error) {
	if len(l.Key) == 0 {
		l.Key = json.RawMessage("null")
	}
	text, err := json.Marshal(l)
	if err != nil {
		return dst, fmt.Errorf("write dead letter: %w", err)
	}
	return append(dst, text...), nil
}
