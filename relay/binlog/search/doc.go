// Package search holds the handlers that look for something in a binlog: where a
// time or an offset is, and what stands at a position.
package search
