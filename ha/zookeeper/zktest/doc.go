// Package zktest is a ZooKeeper server for tests: one process, in memory, with
// sessions, ephemeral nodes, watches and transactions, and with handles to make
// links and sessions fail. It works over TCP, and over pipes inside a
// testing/synctest bubble, where its time is the bubble's.
package zktest
