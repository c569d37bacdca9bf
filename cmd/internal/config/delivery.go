package config

import (
	"math"

	"github.com/canal-relay/canal-relay/mqstarter/kafka"
)

// exactlyOnce reads how a destination commits; nil for at-least-once.
func (r *reader) exactlyOnce(node *Node, i Instance) *kafka.TransactionConfig {
	const delivery, longest, rows, bytes = "canal.relay.delivery", "canal.relay.transaction.max.time",
		"canal.relay.transaction.max.rows", "canal.relay.transaction.max.bytes"
	c := kafka.TransactionConfig{
		ID: node.Cluster + "-" + i.Name, Destination: i.Name, Topic: r.Text("canal.relay.position.topic"),
		MaxTime: r.Duration(longest), MaxRows: int(r.Number(rows, 1, math.MaxInt32)), MaxBytes: r.Size(bytes),
	}
	if c.Topic == "" {
		c.Topic = node.Cluster + "-positions"
	}
	if c.MaxTime < kafka.MinTransactionTime || c.MaxTime > kafka.MaxTransactionTime {
		r.Blame(longest, "%s: choose %s to %s", c.MaxTime, kafka.MinTransactionTime, kafka.MaxTransactionTime)
	}
	if c.MaxBytes < 1<<10 {
		r.Blame(bytes, "%d bytes: choose at least 1 KiB", c.MaxBytes)
	}
	if r.Choice(delivery, "at-least-once", "exactly-once") == "at-least-once" {
		return nil
	}
	if a := i.Kafka.Acks; a != "all" && a != "-1" {
		r.Blame("kafka.acks", "%s: with %s=exactly-once only all is possible", a, delivery)
	}
	return &c
}
