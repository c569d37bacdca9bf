// Package positions is the position topic of exactly-once: compacted, of one
// partition, with a record for each destination that says what readers have. The
// record is written in the transaction of the messages that it speaks of.
package positions

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

	"github.com/canal-relay/canal-relay/mqstarter/kafka/refusal"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Format is the version of the records that this build writes. It reads older
// ones; a newer one must not be gone on from.
const Format = 1

// config is how the topic is made: small segments, so that little is read at a
// take-over.
var config = map[string]string{
	"cleanup.policy": "compact", "segment.bytes": "4194304", "segment.ms": "600000", "min.cleanable.dirty.ratio": "0.1",
}

// Record is the value of a record: JSON, with the destination as key.
type Record struct {
	Format    int               `json:"format"`
	Epoch     int64             `json:"epoch"`               // of the owner that wrote it; 0 without an election
	ZooKeeper string            `json:"zookeeper,omitempty"` // where the epoch comes from
	Node      string            `json:"node,omitempty"`      // host that wrote it, for people
	Routing   string            `json:"routing,omitempty"`   // hash of the routing in force
	Position  position.Position `json:"position"`
	Sent      uint64            `json:"sent,omitempty"` // rows of the next transaction that readers have
	Tx        string            `json:"tx,omitempty"`   // that one, as in header r-pos
}

// Resume is where a stream goes on behind what readers have.
func (r *Record) Resume() position.Resume {
	return position.Resume{Position: r.Position, Sent: r.Sent, Tx: r.Tx}
}

// Judge is an error when an owner of an epoch, elected by a ZooKeeper (empty
// without an election), must not go on from the record.
func (r *Record) Judge(destination string, epoch int64, zookeeper string) error {
	flags := "--destination " + destination
	if zookeeper != "" {
		flags += " --release"
	}
	switch {
	case r.Format > Format:
		return fmt.Errorf("the record has format %d, written by a newer canal-relay on %s: this one reads up to %d", r.Format, r.Node, Format)
	case r.ZooKeeper != "" && r.ZooKeeper != zookeeper:
		return fmt.Errorf("the record was written by a node (%s) of another ZooKeeper (%s, here it is %q), or that was set up anew: "+
			"make sure that no such node runs any more, and take over where readers are: canal-relay cursor set record %s --reason WHY",
			r.Node, r.ZooKeeper, zookeeper, flags)
	case r.Epoch > epoch:
		return fmt.Errorf("somebody else owns it: %s wrote with epoch %d, ours is %d", r.Node, r.Epoch, epoch)
	}
	return nil
}

// Parse reads the value of a record. Of a newer one it reads Format and Node:
// the rest may be of another kind.
func Parse(value []byte) (*Record, error) {
	var head struct {
		Format int    `json:"format"`
		Node   string `json:"node"`
	}
	if err := json.Unmarshal(value, &head); err == nil && head.Format > Format {
		return &Record{Format: head.Format, Node: head.Node}, nil
	}
	r := &Record{}
	return r, json.Unmarshal(value, r)
}

// Kafka is the record as it is written to the topic; Format and Node are set.
func (r Record) Kafka(ctx context.Context, topic, destination string) (*kgo.Record, error) {
	r.Format = Format
	r.Node, _ = os.Hostname() // for people
	value, err := json.Marshal(r)
	return &kgo.Record{Topic: topic, Key: []byte(destination), Value: value, Context: ctx}, err
}

// Create makes the topic. One that is there by now is fine; that it must not be
// made is a failure with the command for an administrator.
func Create(ctx context.Context, c *kgo.Client, topic string, replication int16, brokers []string) error {
	settings := map[string]*string{}
	flags := ""
	for _, k := range slices.Sorted(maps.Keys(config)) {
		v := config[k]
		settings[k] = &v
		flags += " --config " + k + "=" + v
	}
	_, err := kadm.NewClient(c).CreateTopic(ctx, 1, replication, settings, topic)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case err != nil && refusal.Is(err):
		return refusal.Named("topic %s cannot be created: %v: an administrator may create it with kafka-topics --bootstrap-server %s --create --topic %s --partitions 1%s",
			topic, err, strings.Join(brokers, ","), topic, flags)
	}
	return err
}

// Read calls each with what is committed, in order. The topic is read to the end
// that it has now, not to what was committed before the oldest open transaction:
// that may be another destination's, and the record looked for behind it. So it
// may have to wait until a broker aborts that transaction. options are for a
// client like c.
func Read(ctx context.Context, c *kgo.Client, options []kgo.Opt, topic string, each func(destination string, value []byte)) error {
	return read(ctx, kadm.NewClient(c).ListEndOffsets, options, topic, each)
}

// Look returns the values of a topic's records that are committed at this moment,
// by destination; none when there is no such topic. It claims nothing and waits
// for no transaction.
func Look(ctx context.Context, options []kgo.Opt, topic string) (map[string][]byte, error) {
	c, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all := map[string][]byte{}
	err = read(ctx, kadm.NewClient(c).ListCommittedOffsets, options, topic, func(destination string, value []byte) {
		all[destination] = value
	})
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		err = nil
	}
	return all, err
}

func read(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error), options []kgo.Opt, topic string,
	each func(destination string, value []byte)) error {
	ends, err := list(ctx, topic)
	if err = cmp.Or(err, ends.Error()); err != nil {
		return err
	}
	end, _ := ends.Lookup(topic, 0)
	reader, err := kgo.NewClient(append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		return err
	}
	defer reader.Close()
	// What is committed or aborted ends with a control record, so that an end
	// that is aborted is passed as well.
	for next := int64(0); next < end.Offset; {
		fetches := reader.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for the end of a transaction behind offset %d: %w", next, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			next = r.Offset + 1
			if !r.Attrs.IsControl() {
				each(string(r.Key), r.Value)
			}
		}
	}
	return nil
}
