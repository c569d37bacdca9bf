package mq

import (
	"math"
	"regexp"

	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/mqstarter/route"
)

// TopicName is what Kafka takes for the name of a topic.
var TopicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// RecordKey is the key of that name.
const RecordKey = "canal.relay.record.key"

// Route reads canal.mq.*. Each rule is judged by itself, so that every bad one
// is told of.
func Route(r *reading.Reader) route.Config {
	const topic, dynamic, hash, counts = "canal.mq.topic", "canal.mq.dynamicTopic", "canal.mq.partitionHash", "canal.mq.dynamicTopicPartitionNum"
	c := route.DefaultConfig()
	c.Topic = r.Text(topic)
	c.DynamicTopic = r.Text(dynamic)
	c.PartitionHash = r.Text(hash)
	c.DynamicTopicPartitionNum = r.Text(counts)
	c.DatabaseHash = r.Boolean("canal.mq.database.hash")
	c.FromTopic = r.Boolean("canal.relay.partitions.from.topic")
	c.RecordKey = r.Text(RecordKey)
	if n, ok := r.Optional("canal.mq.partition", 0, math.MaxInt32); ok {
		c.Partition = int32(n)
	}
	if n, ok := r.Optional("canal.mq.partitionsNum", 1, math.MaxInt32); ok {
		n := int32(n)
		c.PartitionsNum = &n
	}
	if c.Topic == "" && c.DynamicTopic == "" {
		r.Blame(topic, "it is missing: name a topic, or set %s", dynamic)
	} else if c.Topic != "" && (!TopicName.MatchString(c.Topic) || c.Topic == "." || c.Topic == "..") {
		r.Blame(topic, "%q cannot be a topic's name: use letters, digits, dots, dashes and underscores", c.Topic)
	}
	for _, part := range []struct {
		key string
		one route.Config
	}{
		{dynamic, route.Config{Topic: "x", DynamicTopic: c.DynamicTopic}},
		{hash, route.Config{Topic: "x", PartitionHash: c.PartitionHash}},
		{counts, route.Config{Topic: "x", DynamicTopicPartitionNum: c.DynamicTopicPartitionNum}},
		{RecordKey, route.Config{Topic: "x", RecordKey: c.RecordKey}},
	} {
		if _, err := route.New(part.one); err != nil {
			r.BlameErr(part.key, err)
		}
	}
	return c
}
