// Package oversize says what becomes of a change that is too large to be sent.
package oversize
