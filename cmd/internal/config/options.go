package config

import (
	"net/url"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/mq"
	"github.com/canal-relay/canal-relay/mqstarter/oversize"
)

const (
	minRate      = 64 << 10 // bytes per second: at less the source gives up on a large event
	minHeartbeat = time.Second
)

// options reads what can be had beyond Canal's way of sending changes.
func (r *reader) options(i *Instance, node *Node) {
	const rate, interval = "canal.relay.read.rate", "canal.relay.heartbeat.interval"
	i.Relay.Isolate = r.Boolean("canal.instance.get.ddl.isolation")
	i.Relay.SkipTables = r.Boolean("canal.instance.filter.table.error")
	i.Relay.SplitKeys = r.Choice("canal.relay.pk.update", "as-canal", "split") == "split"
	if i.Relay.Rate = r.Size(rate); i.Relay.Rate > 0 && i.Relay.Rate < minRate {
		r.Blame(rate, "%d bytes a second are too few: choose at least %d KiB, or 0 for no limit", i.Relay.Rate, minRate>>10)
	}
	if i.Starter.Heartbeat = r.Duration(interval); i.Starter.Heartbeat > 0 && i.Starter.Heartbeat < minHeartbeat {
		r.Blame(interval, "%s is too short: choose %s or more, or 0 for none", i.Starter.Heartbeat, minHeartbeat)
	}
	if i.Starter.Heartbeat > 0 && strings.TrimSpace(i.Route.DynamicTopic) == "" {
		i.Starter.HeartbeatTopic = i.Route.Topic
	}
	r.oversize(i, node)
	if i.Route.RecordKey != "" && i.Starter.Packets != nil {
		r.Blame(mq.RecordKey, "a protobuf record holds changes of many rows: it goes with canal.mq.flatMessage=true only")
	}
}

// oversize reads what becomes of a change that is too large.
func (r *reader) oversize(i *Instance, node *Node) {
	const key, topic = "canal.relay.oversize", "canal.relay.deadletter.topic"
	i.Starter.Oversize = oversize.Policy(r.Choice(key, string(oversize.Stop), string(oversize.KeyOnly), string(oversize.DeadLetter)))
	if i.Starter.DeadLetters = r.Text(topic); i.Starter.DeadLetters == "" {
		i.Starter.DeadLetters = node.Cluster + "-dead-letter"
	}
	if i.Starter.Oversize != oversize.DeadLetter {
		return
	}
	if i.Kafka.Topics == nil {
		i.Kafka.Topics = make(map[string]int32)
	}
	if _, used := i.Kafka.Topics[i.Starter.DeadLetters]; used || !mq.TopicName.MatchString(i.Starter.DeadLetters) {
		r.Blame(topic, "%q is the topic of the changes, or cannot be a topic's name: use letters, digits, dots, dashes and underscores", i.Starter.DeadLetters)
	}
	i.Kafka.DeadLetters, i.Kafka.Topics[i.Starter.DeadLetters] = i.Starter.DeadLetters, 1
}

// webhook reads where changes of state are told. What is wrong with it is said
// without showing it.
func (r *reader) webhook() Secret {
	const key = "canal.relay.alarm.webhook"
	address := r.Secret(key)
	if address == "" {
		return ""
	}
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.Blame(key, "it is not the URL of a web server: write http://… or https://…")
	}
	return address
}
