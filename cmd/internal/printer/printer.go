// Package printer prints messages in the place of Kafka.
package printer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Config says how messages are printed.
type Config struct {
	JSONL      bool           // one JSON object a line, else for people
	Hex        bool           // values are protobuf
	Limit      int            // messages to print; 0: no limit
	Full       func()         // called once when the limit is reached
	Partitions map[string]int // of topics, where these decide
}

// Printer is a Producer that prints messages instead of sending them.
type Printer struct {
	c    Config
	out  *bufio.Writer
	left int // messages still to print; negative: no limit
}

// New returns a printer to w.
func New(w io.Writer, c Config) *Printer {
	left := c.Limit
	if left == 0 {
		left = -1
	}
	return &Printer{c: c, out: bufio.NewWriterSize(w, 64<<10), left: left}
}

// Claim keeps no record of what readers have.
func (p *Printer) Claim(context.Context, int64) (position.Resume, error) {
	return position.Resume{}, position.ErrNone
}

// Partitions knows what it was told.
func (p *Printer) Partitions(_ context.Context, topic string) (int32, error) {
	if n := p.c.Partitions[topic]; n > 0 {
		return int32(n), nil
	}
	return 0, fmt.Errorf("canal.relay.partitions.from.topic is true: say how many partitions it has with --partitions %s=N", topic)
}

// Send prints a parcel's messages.
func (p *Printer) Send(_ context.Context, parcel *message.Parcel, done func(error)) {
	var err error
	for i := range parcel.Messages {
		if p.left == 0 || err != nil {
			break
		}
		p.left--
		if p.c.JSONL {
			err = p.object(&parcel.Messages[i])
		} else {
			err = p.text(&parcel.Messages[i])
		}
	}
	if err == nil {
		err = p.out.Flush()
	}
	done(err)
	if p.left == 0 && p.c.Full != nil {
		p.c.Full()
		p.c.Full = nil
	}
}

// Close has nothing to let go of.
func (p *Printer) Close(context.Context) error { return nil }

// line is one message as --output jsonl prints it.
type line struct {
	Topic     string            `json:"topic"`
	Partition int32             `json:"partition"`
	Key       *string           `json:"key"`
	Headers   map[string]string `json:"headers"`
	Value     string            `json:"value,omitempty"`
	Hex       string            `json:"hex,omitempty"` // in place of value
}

func (p *Printer) object(m *message.Message) error {
	l := line{Topic: m.Topic, Partition: m.Partition, Headers: make(map[string]string, message.MostHeaders)}
	if p.c.Hex {
		l.Hex = hex.EncodeToString(m.Value)
	} else {
		l.Value = string(m.Value)
	}
	if m.Key != nil {
		key := string(m.Key)
		l.Key = &key
	}
	for _, h := range m.Headers.All() {
		l.Headers[h.Key] = string(h.Value)
	}
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(l)
}

func (p *Printer) text(m *message.Message) error {
	fmt.Fprintf(p.out, "%s[%d]", m.Topic, m.Partition)
	if m.Key != nil {
		fmt.Fprintf(p.out, " key=%s", m.Key)
	}
	for _, h := range m.Headers.All() {
		fmt.Fprintf(p.out, " %s=%s", h.Key, h.Value)
	}
	if p.c.Hex {
		_, err := fmt.Fprintf(p.out, "\n  %x\n", m.Value)
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, m.Value, "  ", "  "); err != nil {
		pretty.Reset()
		pretty.Write(m.Value)
	}
	_, err := fmt.Fprintf(p.out, "\n  %s\n", pretty.Bytes())
	return err
}
