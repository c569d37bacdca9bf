// Package settings asks brokers how they and their topics are set up.
package settings

import (
	"context"
	"strconv"

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

// setting returns a setting's text; empty when it is not told.
func setting(ctx context.Context, c *kgo.Client, kind kmsg.ConfigResourceType, of, name string) (string, error) {
	request := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName, resource.ConfigNames = kind, of, []string{name}
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(ctx, c)
	if err != nil {
		return "", err
	}
	for _, r := range response.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return "", err
		}
		for _, s := range r.Configs {
			if s.Name == name && s.Value != nil {
				return *s.Value, nil
			}
		}
	}
	return "", nil
}
