package config

import (
	"math"
	"regexp"

	"github.com/canal-relay/canal-relay/mqstarter/route"
)

// topicName is what Kafka takes for the name of a topic.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

const recordKey = "canal.relay.record.key"

// route reads canal.mq.*. Each rule is judged by itself, so that every bad one
// is told of.
func (r *reader) route() route.Config {
	const topic, dynamic, hash, counts = "canal.mq.topic", "canal.mq.dynamicTopic", "canal.mq.partitionHash", "canal.mq.dynamicTopicPartitionNum"
	c := route.DefaultConfig()
	c.Topic = r.text(topic)
	c.DynamicTopic = r.text(dynamic)
	c.PartitionHash = r.text(hash)
	c.DynamicTopicPartitionNum = r.text(counts)
	c.DatabaseHash = r.boolean("canal.mq.database.hash")
	c.FromTopic = r.boolean("canal.relay.partitions.from.topic")
	c.RecordKey = r.text(recordKey)
	if n, ok := r.optional("canal.mq.partition", 0, math.MaxInt32); ok {
		c.Partition = int32(n)
	}
	if n, ok := r.optional("canal.mq.partitionsNum", 1, math.MaxInt32); ok {
		n := int32(n)
		c.PartitionsNum = &n
	}
	if c.Topic == "" && c.DynamicTopic == "" {
		r.blame(topic, "it is missing: name a topic, or set %s", dynamic)
	} else if c.Topic != "" && (!topicName.MatchString(c.Topic) || c.Topic == "." || c.Topic == "..") {
		r.blame(topic, "%q cannot be a topic's name: use letters, digits, dots, dashes and underscores", c.Topic)
	}
	for _, part := range []struct {
		key string
		one route.Config
	}{
		{dynamic, route.Config{Topic: "x", DynamicTopic: c.DynamicTopic}},
		{hash, route.Config{Topic: "x", PartitionHash: c.PartitionHash}},
		{counts, route.Config{Topic: "x", DynamicTopicPartitionNum: c.DynamicTopicPartitionNum}},
		{recordKey, route.Config{Topic: "x", RecordKey: c.RecordKey}},
	} {
		if _, err := route.New(part.one); err != nil {
			r.blameErr(part.key, err)
		}
	}
	return c
}
