// Package properties reads Java's properties files by Canal's rules: where a
// value comes from when several files and the environment have the key, and what
// becomes of placeholders in it.
package properties
