package message

import (
	"github.com/canal-relay/canal-relay/relay/position"
)

// Message is one Kafka record.
type Message struct {
	Topic     string
	Partition int32
	Key       []byte // nil for none
	Value     []byte
	Headers   Headers

	Schema, Table string // whose change it is, for error texts; empty when unknown

	// Entries are those of a protobuf record, if the producer may have to leave
	// some out that readers have; else nil.
	Entries []Entry
}

// Parcel is what was built from one batch, sent and acknowledged as a whole.
type Parcel struct {
	Messages []Message
	Resume   position.Position // as in event.Batch
	Rows     uint64            // as in event.Batch
	Tx       []byte            // as in event.Batch
	Count    int               // rows that it holds; a statement counts as one

	// Landed, when it is not nil, is called once all messages are in Kafka, be it
	// in a transaction that is still open: nobody needs them any more. It may be
	// called by any goroutine, before the producer is done with the parcel, and
	// does not wait.
	Landed func()
}
