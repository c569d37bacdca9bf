package mqstarter

import (
	"errors"
	"strings"

	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
	"github.com/canal-relay/canal-relay/mqstarter/target"
	"github.com/canal-relay/canal-relay/relay/event"
)

// unsendable does what the policy says about a row, or a statement, whose
// message of size bytes is too large. keyOnly builds the message that shows its
// key alone; whole is not 0 where that one is too large as well.
func (b *builder) unsendable(p *parcel, c *event.Change, to *target.Target, partition int32, rows []int, size, whole int, keyOnly func() error) error {
	found := oversize.Found{Topic: to.Topic, Limit: to.Limit, Size: size}
	if c.Layout != nil {
		found.Key = b.rows.AppendRowKey(nil, only(rows))
	}
	done := found.Err()
	switch {
	case b.policy == oversize.KeyOnly && whole == 0 && found.Key != nil:
		done = keyOnly()
	case b.policy == oversize.DeadLetter:
		done = b.letter(p, c, rows, oversize.Letter{Topic: to.Topic, Partition: partition, Key: found.Key, Bytes: size, Reason: found.Reason()})
	}
	switch {
	case errors.Is(done, message.ErrNoKey):
		return found.Err()
	case done != nil || whole > 0:
		return done
	}
	b.metrics.Unusual("oversize_" + strings.ReplaceAll(string(b.policy), "-", "_"))
	b.log.Warn("a change is too large to be sent as it is", "done", string(b.policy), "table", name(c), "key", found.Name(), "bytes", size,
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
