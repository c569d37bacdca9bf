package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/settings"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/topics"
)

// Finding is something that stands in the way of producing, or may.
type Finding struct {
	Warning bool   // it may go well all the same
	Topic   string // empty for the cluster
	Text    string // what was found, and what to do
}

// Check looks at the cluster and at the configured topics without creating
// anything: whether brokers answer and let us in, whether topics exist and have
// the partitions that they must have, and what messages they take. It returns
// what is not as it should be.
func (p *Producer) Check(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := p.reach(ctx); err != nil {
		return []Finding{{Text: fmt.Sprintf("Kafka at %s does not answer: %v: is a broker listening there, and do user, password and TLS settings fit?",
			strings.Join(p.config.Brokers, ","), p.reason(err))}}
	}
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(p.config.Topics)) {
		all = append(all, p.checkTopic(ctx, name, p.config.Topics[name])...)
	}
	return all
}

// CheckTransactions looks at whether the cluster is fit for exactly-once. It
// does not claim anything: that would end the owner's term.
func (p *Producer) CheckTransactions(ctx context.Context, positions string) []Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var all []Finding
	level, err := settings.TransactionVersion(ctx, p.client)
	if err != nil {
		return []Finding{{Warning: true, Text: fmt.Sprintf("its version cannot be read: %v", p.reason(err))}}
	}
	if level < 2 {
		all = append(all, Finding{Warning: true, Text: fmt.Sprintf("transaction.version is %d: a commit that was delayed on its way can end a later transaction; "+
			"Kafka 4.0 or newer with transaction.version=2 is advised (kafka-features --upgrade --feature transaction.version=2)", level)})
	}
	n, err := topics.Count(ctx, p.client, positions, false)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		all = append(all, Finding{Warning: true, Topic: positions, Text: "does not exist, and is to be created at the first claim"})
	case err != nil:
		all = append(all, Finding{Topic: positions, Text: fmt.Sprintf("cannot be looked at: %v", err)})
	case n != 1:
		all = append(all, Finding{Topic: positions, Text: fmt.Sprintf("has %d partitions: a position topic has one; name another one as canal.relay.position.topic", n)})
	default:
		all = append(all, p.CheckKept(ctx, positions, true)...)
	}
	return all
}

// CheckKept looks at whether a topic of ours may lose what must stay, as
// settings.Losing.
func (p *Producer) CheckKept(ctx context.Context, topic string, compacted bool) []Finding {
	text, err := settings.Losing(ctx, p.client, p.config.Brokers, topic, compacted)
	if err != nil {
		return []Finding{{Warning: true, Topic: topic, Text: fmt.Sprintf("its settings cannot be read: %v", p.reason(err))}}
	} else if text != "" {
		return []Finding{{Warning: true, Topic: topic, Text: "may lose records that must stay: " + text}}
	}
	return nil
}

// reason prefers what a broker said to "deadline exceeded".
func (p *Producer) reason(err error) error {
	if why := p.away.Why(); why != nil && errors.Is(err, context.DeadlineExceeded) {
		return why
	}
	return err
}

func (p *Producer) checkTopic(ctx context.Context, name string, wanted int32) []Finding {
	n, err := topics.Count(ctx, p.client, name, false)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		f := Finding{Topic: name, Text: "does not exist: create it with " + p.command(name, "create", wanted)}
		who, _ := p.config.making(name)
		if who == CreateRelay || who == CreateBroker && settings.CreatesTopics(ctx, p.client) {
			f.Warning = true
			f.Text = fmt.Sprintf("does not exist, and is to be created by the %s at its first record: or create it with %s",
				who, p.command(name, "create", wanted))
		}
		return []Finding{f}
	}
	if err != nil {
		return []Finding{{Topic: name, Text: fmt.Sprintf("cannot be looked at: %v", err)}}
	}
	var all []Finding
	if n < wanted {
		all = append(all, Finding{Topic: name, Text: fmt.Sprintf("has %d partitions, %d are wanted: add them with %s",
			n, wanted, p.command(name, "alter", wanted))})
	}
	limit, err := p.messageLimit(ctx, name)
	switch {
	case err != nil:
		all = append(all, Finding{Topic: name, Warning: true, Text: fmt.Sprintf("its max.message.bytes cannot be read: %v", err)})
	case limit < p.config.MaxRequestBytes:
		all = append(all, Finding{Topic: name, Warning: true, Text: fmt.Sprintf("takes batches of %d bytes, less than the request size of %d: larger rows end the term",
			limit, p.config.MaxRequestBytes)})
	}
	return all
}
