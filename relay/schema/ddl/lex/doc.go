// Package lex cuts SQL text into tokens as MySQL and MariaDB do.
package lex
