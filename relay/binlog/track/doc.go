// Package track follows a stream of binlog events: where it stands in its file,
// which GTIDs are executed there, and where transactions begin and end.
package track
