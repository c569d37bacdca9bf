// Package topicreader reads topics back: all partitions of some topics, side
// by side in the order of the records' times.
package topicreader
