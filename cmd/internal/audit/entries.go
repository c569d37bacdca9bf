package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/topicreader"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
)

// content reads the value of a record. Of one that shows a key alone, or is the
// letter of a row, the content is not known.
func (a *auditor) content(r *topicreader.Record) (letter *oversize.Letter, rows int, sum uint64, err error) {
	if r.Topic == a.Letters {
		a.report.Letters++
		letter = new(oversize.Letter)
		return letter, 1, 0, json.Unmarshal(r.Value, letter)
	}
	rows, sum, err = a.Read(r.Value)
	if keyOnly(r) {
		a.report.KeyOnly++
		sum = 0
	}
	return nil, rows, sum, err
}

func keyOnly(r *topicreader.Record) bool { return r.Header(message.HeaderOversize) != nil }

// entries judges the changes of a record that holds several. The second one of an
// event in a partition is either the next of its rows or the first again.
func (a *auditor) entries(ctx context.Context, l *lane, r *topicreader.Record, at int64) error {
	all, err := a.Entries(r.Value)
	if err != nil {
		return fmt.Errorf("topic %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	for i := range all {
		c := &all[i]
		c.Topic, c.Partition = r.Topic, r.Partition
		if keyOnly(r) {
			c.Sum = 0
		}
		first := c.Row
		c.Follow(&l.entry)
		if c.Row != first {
			if next, err := a.compare.heads(ctx, c); err != nil {
				return err
			} else if !next && !(l.next < l.count && l.at(l.next).row == c.Row) {
				c.Row = first
			}
		}
		l.entry = *c
		if err := a.place(ctx, l, c, r.Offset, at); err != nil {
			return err
		}
	}
	return nil
}
