// Package tail reads the ends of partitions backwards, to the last record that
// a destination wrote there.
package tail
