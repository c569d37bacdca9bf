package route

import (
	"strings"
	"testing"
)

// TestExplainSaysWhichRule: also which setting says how many partitions there are.
func TestExplainSaysWhichRule(t *testing.T) {
	six := int32(6)
	for _, tt := range []struct {
		config                       Config
		topic, why, rule, partitions string
	}{
		{Config{Topic: "my.topic"}, "my.topic", "canal.mq.topic, since canal.mq.dynamicTopic is empty", "canal.mq.partition,", ""},
		{Config{Topic: "my.topic", DynamicTopic: "other"}, "my_topic", "no rule of canal.mq.dynamicTopic matches; with", "canal.mq.partition,", ""},
		{Config{DynamicTopic: "other"}, "", "no rule", "canal.mq.partition,", ""},
		{Config{DynamicTopic: `a,x:shop\..*`, PartitionHash: "a.b,shop.orders:id"}, "x", `rule "x:shop`, `rule "shop.orders:id"`, "canal.mq.partitionsNum is not set"},
		{Config{Topic: "t", PartitionHash: "shop.orders:id", PartitionsNum: &six}, "t", "", `rule "shop.orders:id"`, "canal.mq.partitionsNum"},
		{Config{Topic: "t", PartitionHash: "shop.orders:id", PartitionsNum: &six, DynamicTopicPartitionNum: "u:2,t:3"}, "t", "", "", `rule "t:3"`},
		{Config{Topic: "t", PartitionHash: "shop.other", Partition: 2}, "t", "", "which means partition 0", ""},
	} {
		r, err := New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		a, err := r.Explain("shop", "orders", nil)
		if err != nil || a.Topic != tt.topic || !strings.Contains(a.WhyTopic, tt.why) || !strings.Contains(a.WhyRule, tt.rule) || !strings.HasPrefix(a.Partitions, tt.partitions) {
			t.Errorf("%+v: %+v, %v", tt.config, a, err)
		}
	}
}
