// Package audit proves or refutes that topics hold what a destination promises:
// no change lost, none repeated but from a transaction's end, all in order. It
// reads records as a stream and remembers a bounded number of them.
package audit
