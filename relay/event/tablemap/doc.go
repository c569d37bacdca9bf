// Package tablemap reads of table-map events what go-mysql does not, or not
// right: MariaDB's own columns, and labels.
package tablemap
