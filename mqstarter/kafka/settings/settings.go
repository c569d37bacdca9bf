// Package settings asks brokers how they and their topics are set up.
package settings

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatesTopics reports whether brokers create topics by themselves, or do not
// tell whether they do.
func CreatesTopics(ctx context.Context, c *kgo.Client) bool {
	brokers, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, c)
	if err != nil || len(brokers.Brokers) == 0 {
		return true
	}
	value, err := setting(ctx, c, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(brokers.Brokers[0].NodeID)), "auto.create.topics.enable")
	return err != nil || value != "false"
}

// MessageLimit returns a topic's max.message.bytes; 0 when it is not told.
func MessageLimit(ctx context.Context, c *kgo.Client, topic string) (int, error) {
	value, err := setting(ctx, c, kmsg.ConfigResourceTypeTopic, topic, "max.message.bytes")
	n, parseErr := strconv.Atoi(value)
	if parseErr != nil {
		n = 0
	}
	return n, err
}

// TransactionVersion returns the level of the feature transaction.version: 2 and
// more tell the transactions of a producer apart (KIP-890). Brokers that do not
// know it have 0.
func TransactionVersion(ctx context.Context, c *kgo.Client) (int16, error) {
	answer, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c)
	if err != nil {
		return 0, err
	}
	for _, f := range answer.FinalizedFeatures {
		if f.Name == "transaction.version" {
			return f.MaxVersionLevel, nil
		}
	}
	return 0, nil
}

// Losing tells, with what to do about it, by which settings a topic may lose
// records that must stay: cleanup by age or size, or, where keys repeat, compaction.
// compacted says that the last record of each key is enough. It is empty where none
// does, where they may not be read, and where there is no such topic.
func Losing(ctx context.Context, c *kgo.Client, brokers []string, topic string, compacted bool) (string, error) {
	const policy, age, size = "cleanup.policy", "retention.ms", "retention.bytes"
	values, err := settings(ctx, c, kmsg.ConfigResourceTypeTopic, topic, policy, age, size)
	for _, untold := range []error{kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.UnknownTopicOrPartition} {
		if errors.Is(err, untold) {
			return "", nil
		}
	}
	if err != nil {
		return "", err
	}
	var found []string
	wanted := "delete,retention.ms=-1,retention.bytes=-1"
	if compacted {
		wanted = "compact"
	} else if strings.Contains(values[policy], "compact") {
		found = append(found, policy+"="+values[policy])
	}
	if strings.Contains(values[policy], "delete") {
		for _, limit := range []string{age, size} {
			if v := values[limit]; v != "" && v != "-1" {
				found = append(found, limit+"="+v)
			}
		}
	}
	if len(found) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s; an administrator mends it with kafka-configs --bootstrap-server %s --alter --topic %s --add-config %s=%s",
		strings.Join(found, ", "), strings.Join(brokers, ","), topic, policy, wanted), nil
}

// setting returns a setting's text; empty when it is not told.
func setting(ctx context.Context, c *kgo.Client, kind kmsg.ConfigResourceType, of, name string) (string, error) {
	values, err := settings(ctx, c, kind, of, name)
	return values[name], err
}

// settings returns the texts of some settings, of those that are told.
func settings(ctx context.Context, c *kgo.Client, kind kmsg.ConfigResourceType, of string, names ...string) (map[string]string, error) {
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, of, names
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(ctx, c)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, r := range response.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, err
		}
		for _, s := range r.Configs {
			if s.Value != nil {
				values[s.Name] = *s.Value
			}
		}
	}
	return values, nil
}
