package config

import (
	"net/url"
	"strings"
	"time"
)

const (
	minRate      = 64 << 10 // bytes per second: at less the source gives up on a large event
	minHeartbeat = time.Second
)

// options reads what can be had beyond Canal's way of sending changes.
func (r *reader) options(i *Instance) {
	const rate, interval = "canal.relay.read.rate", "canal.relay.heartbeat.interval"
	i.Relay.Isolate = r.boolean("canal.instance.get.ddl.isolation")
	i.Relay.SkipTables = r.boolean("canal.instance.filter.table.error")
	i.Relay.SplitKeys = r.choice("canal.relay.pk.update", "as-canal", "split") == "split"
	if i.Relay.Rate = r.size(rate); i.Relay.Rate > 0 && i.Relay.Rate < minRate {
		r.blame(rate, "%d bytes a second are too few: choose at least %d KiB, or 0 for no limit", i.Relay.Rate, minRate>>10)
	}
	if i.Starter.Heartbeat = r.duration(interval); i.Starter.Heartbeat > 0 && i.Starter.Heartbeat < minHeartbeat {
		r.blame(interval, "%s is too short: choose %s or more, or 0 for none", i.Starter.Heartbeat, minHeartbeat)
	}
	if i.Starter.Heartbeat > 0 && strings.TrimSpace(i.Route.DynamicTopic) == "" {
		i.Starter.HeartbeatTopic = i.Route.Topic
	}
	if i.Route.RecordKey != "" && i.Starter.Packets != nil {
		r.blame(recordKey, "a protobuf record holds changes of many rows: it goes with canal.mq.flatMessage=true only")
	}
}

// webhook reads where changes of state are told. What is wrong with it is said
// without showing it.
func (r *reader) webhook() Secret {
	const key = "canal.relay.alarm.webhook"
	address := r.secret(key)
	if address == "" {
		return ""
	}
	u, err := url.Parse(address.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		r.blame(key, "it is not the URL of a web server: write http://… or https://…")
	}
	return address
}
