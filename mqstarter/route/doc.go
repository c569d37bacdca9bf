// Package route says to which topic and partition a change goes, by Canal's
// rules, from nothing but names and texts.
package route
