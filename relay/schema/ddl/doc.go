// Package ddl reads the statements of a MySQL or MariaDB binlog: what Canal
// calls them, which tables they name, and what they do to the layout of a
// table. It reads a token stream and skips what neither needs, so that options
// and expressions it has never heard of do no harm.
package ddl
