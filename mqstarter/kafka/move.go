package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/positions"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Move writes the record of a destination for an operator, who holds it under
// an epoch of a ZooKeeper (empty without an election). Whoever has the
// transactional id is fenced, whichever ZooKeeper elected it. choose is told what
// readers have then, nil if that is not recorded, and returns from where on they
// get changes.
func (t *Transactions) Move(ctx context.Context, epoch int64, zookeeper string, choose func(*positions.Record) (position.Resume, error)) (err error) {
	p, err := t.Producer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(ctx)) }()
	defer context.AfterFunc(ctx, p.cut)()
	p.epoch, p.identity = epoch, zookeeper
	if err := p.reach(ctx); err != nil {
		return fmt.Errorf("claim transactional id %s: %w", t.own.ID, err)
	}
	if err := p.makePositions(ctx); err != nil {
		return err
	}
	last, err := p.readPosition(ctx)
	if err != nil {
		return fmt.Errorf("read topic %s: %w", t.own.Topic, err)
	}
	if last != nil && (last.Format > positions.Format || last.ZooKeeper == zookeeper) {
		if err := p.judge(last); err != nil {
			return err
		}
	}
	to, err := choose(last)
	if err != nil {
		return err
	}
	if err := p.client.BeginTransaction(); err != nil {
		return err
	}
	if err := p.commit(to); err != nil {
		return fmt.Errorf("write to topic %s: %w: whether that was done is not known, see canal-relay cursor show", t.own.Topic, err)
	}
	return nil
}
