// Package content sums up what records say of rows, so that a record can be
// compared with all or a part of what a source has. A sum is of rows in their
// order: that of some of them can be taken from that of all.
package content
