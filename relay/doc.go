// Package relay turns a stream of binlog events into bounded batches of
// changes: Run assembles and queues them, Next hands them out in order, Release
// gives their memory back. The stream's goroutine looks at headers, asks the
// filter and keeps raw bytes; nothing is decoded here.
//
// The budget is in bytes. A batch is charged when it is queued, with its binlog
// bytes and what its messages are expected to take; a full budget blocks the
// stream, so that the source's socket is read more slowly.
package relay
