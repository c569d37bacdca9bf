// Package outage decides how long to wait before a source that was lost is
// asked again.
package outage
