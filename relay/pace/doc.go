// Package pace holds a stream to a number of bytes per second.
package pace
