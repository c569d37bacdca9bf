// Package parse turns the bytes of a binlog into events, of rows only their
// header, those of a compressed transaction one by one.
package parse
