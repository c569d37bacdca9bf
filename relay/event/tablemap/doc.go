// Package tablemap reads table-map events: what they say of a table, MariaDB's
// own columns among it.
package tablemap
