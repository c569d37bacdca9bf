// Package event is the data that travels from the relay to the MQ starter:
// batches of changes whose rows are still the raw images of the binlog, and
// the text of their columns, appended straight from those bytes.
package event
