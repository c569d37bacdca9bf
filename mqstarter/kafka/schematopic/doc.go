// Package schematopic keeps the history of table definitions in a Kafka topic.
package schematopic
