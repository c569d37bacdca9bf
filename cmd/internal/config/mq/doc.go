// Package mq reads how changes are routed, and how Kafka is reached.
package mq
