// Package sqltext reads the texts of logged statements, and makes those of the
// variables that a statement uses.
package sqltext
