// Package history keeps a schema history in a file, for a node without
// ZooKeeper.
package history
