// Package mqstarter runs one term of a destination: it takes batches from the
// relay, builds them into messages, sends these in order, and moves the stored
// position over what Kafka has acknowledged.
package mqstarter
