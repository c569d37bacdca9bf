package route

import (
	"fmt"
	"strings"
)

// Answer is where the changes of a table go and by which settings, for people.
type Answer struct {
	Topic      string // empty when nothing gives it one
	Rule       Rule
	WhyTopic   string // a phrase each, which names the setting and its rule
	WhyRule    string
	Partitions string // which setting says how many there are; empty when that does not matter
}

// Explain tells what Topic and Rule answer for a table, and why.
// partitions are those of its topic, if FromTopic.
func (r *Router) Explain(schema, table string, partitions func(topic string) int32) (Answer, error) {
	a := Answer{Topic: r.Topic(schema, table)}
	var count int32
	if r.FromTopic() {
		count = partitions(a.Topic)
	}
	a.Rule = r.Rule(a.Topic, schema, table, count)
	a.WhyTopic = r.whyTopic(schema, table)
	a.WhyRule, a.Partitions = r.whyRule(a.Topic, schema+"."+table)
	return a, r.Err()
}

func (r *Router) whyTopic(schema, table string) string {
	if !r.dynamic() {
		return "canal.mq.topic, since canal.mq.dynamicTopic is empty"
	}
	dotted, rule := r.dotted(schema, table)
	why := "canal.mq.topic, since no rule of canal.mq.dynamicTopic matches"
	if rule != nil {
		why = fmt.Sprintf("rule %q of canal.mq.dynamicTopic", rule.item)
	}
	if strings.Contains(dotted, ".") {
		why += "; with canal.mq.dynamicTopic dots become underscores"
	}
	return why
}

func (r *Router) whyRule(topic, name string) (why, partitions string) {
	if !r.hashed() {
		return "canal.mq.partition, since canal.mq.partitionHash is empty", ""
	}
	h := r.hashRule(name)
	if h == nil {
		return "no rule of canal.mq.partitionHash matches, which means partition 0", ""
	}
	why = fmt.Sprintf("rule %q of canal.mq.partitionHash", h.item)
	_, count := r.counted(topic)
	switch {
	case r.config.FromTopic:
		partitions = "those that the topic has, since canal.relay.partitions.from.topic is true"
	case count != nil:
		partitions = fmt.Sprintf("rule %q of canal.mq.dynamicTopicPartitionNum", count.item)
	case r.config.PartitionsNum != nil:
		partitions = "canal.mq.partitionsNum"
	default:
		partitions = "canal.mq.partitionsNum is not set"
	}
	return why, partitions
}

// Of returns the partition of a row whose hashed columns, those that it has,
// have these texts.
func (r Rule) Of(texts ...string) int32 {
	if !r.Hashed {
		return r.Partition
	}
	h := r.Seed
	for _, text := range texts {
		h ^= Hash(text)
	}
	return Partition(h, r.Partitions)
}
