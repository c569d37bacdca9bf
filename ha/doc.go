// Package ha decides who is active: for each destination a Monitor campaigns,
// runs the destination's Starter while this node owns it, and gives it up only
// when everything that the Starter ran has ended.
package ha
