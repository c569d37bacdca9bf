package mqstarter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/mqstarter/target"
	"github.com/canal-relay/canal-relay/relay/event"
)

// ErrOversize says that a message is larger than Kafka takes.
var ErrOversize = errors.New("the message is too large")

// keyShown is how many bytes of a key errors and logs show.
const keyShown = 256

// unsendable does what the policy says about a row, or a statement, whose
// message of size bytes is too large. keyOnly builds the message that shows its
// key alone; whole is not 0 where that one is too large as well.
func (b *builder) unsendable(p *parcel, c *event.Change, to *target.Target, partition int32, rows []int, size, whole int, keyOnly func() error) error {
	var key []byte
	if c.Layout != nil {
		key = b.rows.AppendRowKey(nil, only(rows))
	}
	shown, reason := "no primary key", fmt.Sprintf("%d bytes, topic %s takes %d", size, to.Topic, to.Limit)
	if key != nil {
		shown = fmt.Sprintf("primary key %.*s", keyShown, key)
	}
	err := fmt.Errorf("%w: %d bytes (%s), topic %s takes %d: raise the producer's request size and the topic's max.message.bytes, "+
		"or choose what to do with such messages", ErrOversize, size, shown, to.Topic, to.Limit)
	done := err
	switch {
	case b.policy == oversize.KeyOnly && whole == 0 && key != nil:
		done = keyOnly()
	case b.policy == oversize.DeadLetter:
		done = b.letter(p, c, rows, oversize.Letter{Topic: to.Topic, Partition: partition, Key: key, Bytes: size, Reason: reason})
	}
	switch {
	case errors.Is(done, message.ErrNoKey):
		return err
	case done != nil || whole > 0:
		return done
	}
	b.metrics.Unusual("oversize_" + strings.ReplaceAll(string(b.policy), "-", "_"))
	b.log.Warn("a change is too large to be sent as it is", "done", string(b.policy), "table", name(c), "key", shown, "bytes", size,
		"topic", to.Topic, "takes", to.Limit, "file", c.File, "offset", c.Offset, "transaction", string(c.Tx))
	return nil
}

// letter appends the dead letter of a change. It is a message of its parcel as
// any other.
func (b *builder) letter(p *parcel, c *event.Change, rows []int, l oversize.Letter) (err error) {
	l.Destination, l.Position, l.Row = b.destination, string(c.Tx), message.LastRow(c, rows)
	l.Schema, l.Table = c.Schema, c.Table
	s := p.span(c)
	if p.arena, err = l.Append(p.arena); err != nil {
		return err
	}
	p.row(&s, c, rows)
	p.add(s, c, b.letters, 0)
	return nil
}

// only is the row of a selection of one; nil is the only one there is.
func only(rows []int) int {
	if rows == nil {
		return 0
	}
	return rows[0]
}
