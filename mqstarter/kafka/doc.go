// Package kafka writes messages to Kafka topics: it turns settings into
// franz-go's options, and is the only place that knows that client.
package kafka
