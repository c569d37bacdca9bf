// Package keys is the table of property names: every key of Canal, every one of
// ours, and what becomes of it.
package keys
