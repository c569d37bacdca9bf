package mqstarter

import (
	"fmt"
	"time"

	"github.com/canal-relay/canal-relay/mqstarter/message"
)

// heartbeat knows when heartbeats are due, and where they go. It is the
// sender's.
type heartbeat struct {
	ticker *time.Ticker
	due    <-chan time.Time // nil without heartbeats
	topics map[string]bool
	last   string // topic noted last
}

func newHeartbeat(t *term) *heartbeat {
	h := &heartbeat{}
	if t.config.Heartbeat == 0 {
		return h
	}
	h.ticker, h.topics = time.NewTicker(t.config.Heartbeat), make(map[string]bool)
	h.due = h.ticker.C
	if t.config.HeartbeatTopic != "" {
		h.topics[t.config.HeartbeatTopic] = true
	}
	return h
}

func (h *heartbeat) stop() {
	if h.ticker != nil {
		h.ticker.Stop()
	}
}

// note remembers the topics of messages.
func (h *heartbeat) note(messages []message.Message) {
	if h.due == nil {
		return
	}
	for i := range messages {
		if topic := messages[i].Topic; topic != h.last {
			h.topics[topic], h.last = true, topic
		}
	}
}

// beat sends a heartbeat to each topic, where statements go. Its value is empty,
// which readers of flat messages pass over, or a packet without entries. It has
// a key, since compacted topics ask for one. It is in no transaction of the
// source: the position does not wait for it.
func (t *term) beat(h *heartbeat) {
	if t.refused.Load() || t.read.Err() != nil {
		return
	}
	headers := message.NewOrigin(t.config.Destination, t.epoch).Heartbeat()
	var value []byte
	if t.config.Packets != nil {
		value = t.config.Packets.Form.AppendPacket(nil, 0, 0)
	}
	parcel := &message.Parcel{}
	for topic := range h.topics {
		parcel.Messages = append(parcel.Messages, message.Message{
			Topic: topic, Partition: t.config.Router.Statement(), Key: []byte(t.config.Destination), Value: value, Headers: headers})
	}
	if len(parcel.Messages) == 0 {
		return
	}
	t.producer.Send(t.work, parcel, func(err error) {
		if err != nil && t.read.Err() == nil { // a term that ends does not wait for it
			t.refuse(fmt.Errorf("send heartbeat: %w", err))
		}
	})
}
