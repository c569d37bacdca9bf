// Package reading gives the values of keys in the types that packages want, and
// notes what is wrong with them.
package reading
