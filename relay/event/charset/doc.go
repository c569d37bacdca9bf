// Package charset turns text in a character set of MySQL or MariaDB into UTF-8.
package charset
