// Package binlog is where events come from: the dump stream of a server
// (Reader) or binlog files (Files). Both feed the same Handler. Track follows
// such a stream: offsets, executed GTIDs, transaction boundaries.
package binlog
