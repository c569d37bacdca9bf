// Package layout knows what a table looks like and what a statement makes of it.
package layout
