// Package source is a connection to a MySQL or MariaDB server: logging in, what
// the server is and what the account may do, and asking for a dump.
package source
