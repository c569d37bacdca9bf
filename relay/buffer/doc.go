// Package buffer is the queue between the stream and those who take its batches,
// bounded in bytes.
package buffer
