// Package schema knows what a table looked like at a position in the binlog:
// from the server's definition, from the DDL in the stream, and, offline, from
// the DDL in the files.
package schema
