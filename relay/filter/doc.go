// Package filter decides what a destination captures: tables by patterns,
// columns by name, with the exact meaning of Canal's settings. It is asked
// before a row is decoded.
package filter
