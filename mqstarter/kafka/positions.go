package kafka

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/relay/position"
)

// positionFormat is the version of the records that are written; a newer one is refused.
const positionFormat = 1

// readTimeout bounds reading the position topic, in which another destination's
// transaction may stand open until the broker aborts it.
const readTimeout = 2 * transactionTimeout

// positionTopic is how a position topic is made: small segments, so that little
// is read at a take-over.
var positionTopic = map[string]string{
	"cleanup.policy": "compact", "segment.bytes": "4194304", "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1",
}

// positionRecord is the value of a record of the position topic: JSON, with the
// destination as key.
type positionRecord struct {
	Format    int               `json:"format"`
	Epoch     int64             `json:"epoch"`               // of the owner that wrote it; 0 without an election
	ZooKeeper string            `json:"zookeeper,omitempty"` // where the epoch comes from
	Node      string            `json:"node,omitempty"`      // host that wrote it, for people
	Routing   string            `json:"routing,omitempty"`   // hash of the routing in force
	Position  position.Position `json:"position"`
	Sent      uint64            `json:"sent,omitempty"` // rows of the next transaction that readers have
}

func (r *positionRecord) resume() position.Resume {
	return position.Resume{Position: r.Position, Sent: r.Sent}
}

// makePositions creates the position topic if it is missing.
func (p *Transactional) makePositions(ctx context.Context) error {
	name := p.all.own.Topic
	for {
		var n int32
		err := p.ask(ctx, func(ctx context.Context) (err error) {
			if n, err = p.askPartitions(ctx, name, false); errors.Is(err, kerr.UnknownTopicOrPartition) {
				return p.createPositions(ctx)
			}
			return err
		})
		switch {
		case err != nil || n == 1:
			return err
		case n > 1:
			return named("topic %s has %d partitions: a position topic has one; name another one as canal.relay.position.topic", name, n)
		}
		select { // it was made, and is looked for again
		case <-time.After(topicPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *Transactional) createPositions(ctx context.Context) error {
	name, flags, config := p.all.own.Topic, "", map[string]*string{}
	for _, k := range slices.Sorted(maps.Keys(positionTopic)) {
		v := positionTopic[k]
		config[k] = &v
		flags += " --config " + k + "=" + v
	}
	_, err := kadm.NewClient(p.client).CreateTopic(ctx, 1, p.config.Replication, config, name)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case err != nil && Refused(err):
		return named("topic %s cannot be created: %v: an administrator may create it with kafka-topics --bootstrap-server %s --create --topic %s --partitions 1%s",
			name, err, strings.Join(p.config.Brokers, ","), name, flags)
	}
	return err
}

// readPosition returns the destination's last committed record, nil if it has
// none. The topic is read to the end that it has now, not to what was committed
// before the oldest open transaction: that may be another destination's, and our
// last record behind it.
func (p *Transactional) readPosition(ctx context.Context) (*positionRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	topic := p.all.own.Topic
	ends, err := kadm.NewClient(p.client).ListEndOffsets(ctx, topic)
	if err = cmp.Or(err, ends.Error()); err != nil {
		return nil, err
	}
	end, _ := ends.Lookup(topic, 0)
	options, err := p.config.Options()
	if err != nil {
		return nil, err
	}
	reader, err := kgo.NewClient(append(options, kgo.WithContext(p.live), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var last []byte
	// What is committed or aborted ends with a control record, so that an end
	// that is aborted is passed as well.
	for next := int64(0); next < end.Offset; {
		fetches := reader.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for the end of a transaction behind offset %d: %w", next, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, errs[0].Err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			next = r.Offset + 1
			if !r.Attrs.IsControl() && string(r.Key) == p.all.own.Destination {
				last = r.Value
			}
		}
	}
	if last == nil {
		return nil, nil
	}
	record := &positionRecord{}
	if err := json.Unmarshal(last, record); err != nil {
		return nil, named("the record of %s cannot be read: %v: name another topic as canal.relay.position.topic to go on at the cursor",
			p.all.own.Destination, err)
	}
	return record, nil
}

// judge refuses a record that this owner must not go on from.
func (p *Transactional) judge(r *positionRecord) error {
	const remedy = "if it does not, name another topic as canal.relay.position.topic on all nodes: then the stored cursor decides, and what was sent since is repeated"
	where := fmt.Sprintf("topic %s, destination %s", p.all.own.Topic, p.all.own.Destination)
	switch {
	case r == nil:
		return nil
	case r.Format > positionFormat:
		return named("%s: the record has format %d, written by a newer canal-relay on %s: this one reads up to %d", where, r.Format, r.Node, positionFormat)
	case r.ZooKeeper != "" && r.ZooKeeper != p.identity:
		return named("%s: the record was written by a node (%s) of another ZooKeeper (%s, here it is %q), or that was set up anew: "+
			"make sure that no such node runs any more; %s", where, r.Node, r.ZooKeeper, p.identity, remedy)
	case r.Epoch > p.epoch:
		return named("%s: somebody else owns it: %s wrote with epoch %d, ours is %d", where, r.Node, r.Epoch, p.epoch)
	case r.Sent > 0 && r.Routing != p.all.own.Routing:
		p.log.Warn("the routing has changed since a part of a transaction was sent", "position.topic", p.all.own.Topic, "rows", r.Sent)
	}
	return nil
}

// positionRecord is the record that goes with a transaction.
func (p *Transactional) positionRecord(to position.Resume) (*kgo.Record, error) {
	host, _ := os.Hostname() // for people
	value, err := json.Marshal(positionRecord{
		Format: positionFormat, Epoch: p.epoch, ZooKeeper: p.identity, Node: host,
		Routing: p.all.own.Routing, Position: to.Position, Sent: to.Sent,
	})
	if err != nil {
		return nil, err
	}
	return &kgo.Record{Topic: p.all.own.Topic, Key: []byte(p.all.own.Destination), Value: value, Context: p.record}, nil
}
