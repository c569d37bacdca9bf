// Package zookeeper keeps what nodes must agree on in ZooKeeper, in the tree that
// Canal uses: who runs, who waits, how far a destination has come.
package zookeeper
