// Package message turns changes into the messages that Canal's consumers
// know, appending their bytes straight from raw row images.
package message
