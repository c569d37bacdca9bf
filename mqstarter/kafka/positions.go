package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/positions"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/settings"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
	"github.com/canal-relay/canal-relay/relay/position"
)

// readTimeout bounds reading the position topic, in which another destination's
// transaction may stand open until the broker aborts it.
const readTimeout = 2 * transactionTimeout

// makePositions creates the position topic if it is missing.
func (p *Transactional) makePositions(ctx context.Context) error {
	name := p.all.own.Topic
	for {
		var n int32
		err := p.ask(ctx, func(ctx context.Context) (err error) {
			if n, err = topics.Count(ctx, p.client, name, false); errors.Is(err, kerr.UnknownTopicOrPartition) {
				return positions.Create(ctx, p.client, name, p.config.Replication, p.config.Brokers)
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case n == 1:
			if losing, _ := settings.Losing(ctx, p.client, p.config.Brokers, name, true); losing != "" {
				p.log.Warn("the position topic may lose records that must stay", "topic", name, "settings", losing)
			}
			return nil
		case n > 1:
			return refusal.Named("topic %s has %d partitions: a position topic has one; name another one as canal.relay.position.topic", name, n)
		}
		select { // it was made, and is looked for again
		case <-time.After(topicPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readPosition returns the destination's last committed record, nil if it has
// none.
func (p *Transactional) readPosition(ctx context.Context) (*positions.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	options, err := p.config.Options()
	if err != nil {
		return nil, err
	}
	var last []byte
	err = positions.Read(ctx, p.client, append(options, kgo.WithContext(p.live)), p.all.own.Topic, func(destination string, value []byte) {
		if destination == p.all.own.Destination {
			last = value
		}
	})
	if err != nil || last == nil {
		return nil, err
	}
	record, err := positions.Parse(last)
	if err != nil {
		return nil, refusal.Named("the record of %s cannot be read: %v: name another topic as canal.relay.position.topic to go on at the cursor",
			p.all.own.Destination, err)
	}
	return record, nil
}

// judge refuses a record that this owner must not go on from.
func (p *Transactional) judge(r *positions.Record) error {
	if r == nil {
		return nil
	}
	if err := r.Judge(p.all.own.Destination, p.epoch, p.identity); err != nil {
		return refusal.Named("topic %s, destination %s: %v", p.all.own.Topic, p.all.own.Destination, err)
	}
	if r.Sent > 0 && r.Routing != p.all.own.Routing {
		p.log.Warn("the routing has changed since a part of a transaction was sent", "position.topic", p.all.own.Topic, "rows", r.Sent)
	}
	return nil
}

// positionRecord is the record that goes with a transaction.
func (p *Transactional) positionRecord(to position.Resume) (*kgo.Record, error) {
	r := positions.Record{Epoch: p.epoch, ZooKeeper: p.identity, Routing: p.all.own.Routing, Position: to.Position, Sent: to.Sent, Tx: to.Tx}
	return r.Kafka(p.record, p.all.own.Topic, p.all.own.Destination)
}
