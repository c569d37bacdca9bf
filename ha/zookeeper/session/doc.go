// Package session keeps a ZooKeeper session whose lease its holder can tell by the
// clock.
package session
