// Package wire reads a replication connection: its packets become events, and
// it tells when the source has nothing more to send.
package wire
