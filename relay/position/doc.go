// Package position says where in a binlog the relay is: the position itself,
// the JSON in which Canal stores it, and a cursor kept in a file.
package position
