package wire

const (
	chunkSize = 256 << 10 // small events are carved from chunks of this size

	// ChunkedBelow is the event size in bytes from which an event has memory
	// of its own. A smaller one shares a chunk with its neighbours, so that
	// keeping its bytes keeps them all.
	ChunkedBelow = 16 << 10
)

// Arena hands out memory for event bytes: small events share chunks, so that
// they do not cost an allocation each.
type Arena struct{ chunk []byte }

// Take returns n bytes that nobody else has.
func (a *Arena) Take(n int) []byte {
	if n >= ChunkedBelow {
		return make([]byte, n)
	}
	if n > len(a.chunk) {
		a.chunk = make([]byte, chunkSize)
	}
	b := a.chunk[:n:n]
	a.chunk = a.chunk[n:]
	return b
}
