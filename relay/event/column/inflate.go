package column

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"fmt"
	"io"
	"sync"
)

// inflaters are kept for reuse: one has 40 KiB.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// AppendInflated appends the value of a MariaDB COMPRESSED column as it was
// before it was stored. Its first byte is 0 before bytes that are not
// compressed; else its top half is 8 for zlib, bit 3 says that the stream lacks
// zlib's head and tail, and bits 0 to 2 are the number of bytes that the
// length takes, most significant first (field_comp.cc in MariaDB's sql).
func AppendInflated(dst, raw []byte) ([]byte, error) {
	switch {
	case len(raw) == 0:
		return dst, nil
	case raw[0] == 0:
		return append(dst, raw[1:]...), nil
	}
	n := int(raw[0] & 7)
	if raw[0]>>4 != 8 || n > 4 || len(raw) < 1+n {
		return dst, fmt.Errorf("compressed value of method %#x: %w", raw[0], ErrValue)
	}
	size := int64(UintBE(raw[1 : 1+n]))
	in := bytes.NewReader(raw[1+n:])
	var from io.Reader
	if raw[0]&8 == 0 {
		z, err := zlib.NewReader(in)
		if err != nil {
			return dst, fmt.Errorf("compressed value: %w: %w", err, ErrValue)
		}
		from = z
	} else {
		f := inflaters.Get().(io.ReadCloser)
		defer inflaters.Put(f)
		if err := f.(flate.Resetter).Reset(in, nil); err != nil {
			return dst, fmt.Errorf("compressed value: %w: %w", err, ErrValue)
		}
		from = f
	}
	out := bytes.NewBuffer(dst)
	got, err := io.Copy(out, io.LimitReader(from, size+1))
	if err == nil && got != size {
		err = fmt.Errorf("%d bytes, want %d", got, size)
	}
	if err != nil {
		return dst, fmt.Errorf("compressed value: %w: %w", err, ErrValue)
	}
	return out.Bytes(), nil
}
