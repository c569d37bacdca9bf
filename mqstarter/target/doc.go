// Package target finds where each change of a term goes: topic, partition and key.
package target
