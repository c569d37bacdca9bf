// Package simulation tests nodes against the faults of networks and processes
// in virtual time. Everything that decides who may write is the real thing:
// ha.Monitor, mqstarter.Starter, ha/zookeeper on the ZooKeeper server zktest,
// mqstarter/kafka on the Kafka cluster kfake. A seed gives the changes of the
// source, the delivery mode and the schedule of crashes, pauses, partitions and
// delays. It holds tests alone.
package simulation
