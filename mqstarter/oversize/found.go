package oversize

import (
	"errors"
	"fmt"
)

// ErrTooLarge says that a message is larger than Kafka takes.
var ErrTooLarge = errors.New("the message is too large")

// keyShown is how many bytes of a key errors and logs show.
const keyShown = 256

// Found is a row, or a statement, whose message is too large.
type Found struct {
	Topic string
	Limit int    // bytes that a message of the topic may have
	Size  int    // bytes that it would have
	Key   []byte // as in Letter; empty without one
}

// Err says what was found and what can be done: it is ErrTooLarge.
func (f Found) Err() error {
	return fmt.Errorf("%w: %d bytes (%s), topic %s takes %d: raise the producer's request size and the topic's max.message.bytes, "+
		"or choose what to do with such messages", ErrTooLarge, f.Size, f.Name(), f.Topic, f.Limit)
}

// Name is the key in words.
func (f Found) Name() string {
	if len(f.Key) == 0 {
		return "no primary key"
	}
	return fmt.Sprintf("primary key %.*s", keyShown, f.Key)
}

// Reason is that of a Letter.
func (f Found) Reason() string {
	return fmt.Sprintf("%d bytes, topic %s takes %d", f.Size, f.Topic, f.Limit)
}
