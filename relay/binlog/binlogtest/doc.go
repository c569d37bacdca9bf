// Package binlogtest is a MySQL server for tests: it serves recorded or made-up
// binlog bytes to a dump and answers the statements that a reader asks. Log
// makes up such bytes.
package binlogtest
