// Package repeats finds the records of a term that readers have from an earlier
// one, so that they are not sent again.
package repeats
