// Package metrics keeps the canal_instance_* and canal_relay_* series and
// serves them with the status page on one HTTP port.
package metrics
