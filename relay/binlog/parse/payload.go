package parse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/go-mysql-org/go-mysql/replication"
	"github.com/klauspost/compress/zstd"

	"github.com/canal-relay/canal-relay/relay/binlog/wire"
)

const (
	maxWindow  = 128 << 20 // the largest that a server's level 22 makes
	keepWindow = 8 << 20   // a decoder that had a larger one is not kept
	atOnce     = 1 << 20   // larger events get memory as their bytes come
)

// Payload is a compressed transaction: the event TRANSACTION_PAYLOAD. Source:
// binary_log::codecs::binary::Transaction_payload of MySQL. It is valid until
// its parser reads another event.
type Payload struct {
	parser *Parser
	plain  bool   // not compressed after all
	body   []byte // the events, compressed as one stream
}

// Events inflates the transaction and hands its events on one by one, so that
// never more than one of them is held here. Their bytes are the taker's to
// keep, not they themselves (see Keep); they have no checksum and no place in the file. The error is ErrFormat,
// or what the taker returns.
func (p *Payload) Events(take func(*replication.BinlogEvent) error) error {
	return p.parser.payload.events(p, take)
}

// Decode is there for replication.Event; Parse has read the event.
func (p *Payload) Decode([]byte) error { return nil }

// Dump writes what the event is.
func (p *Payload) Dump(w io.Writer) { fmt.Fprintf(w, "transaction payload of %d bytes\n", len(p.body)) }

// open reads an event TRANSACTION_PAYLOAD.
func (p *Parser) open(raw []byte) (*replication.BinlogEvent, error) {
	h := &replication.EventHeader{}
	if err := h.Decode(raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	broken := func(why string) error {
		return fmt.Errorf("%w: %s of %d bytes that ends at %d: %s", ErrFormat, h.EventType, h.EventSize, h.LogPos, why)
	}
	if p.format == nil {
		return nil, broken("no format event before it")
	}
	body := raw[replication.EventHeaderSize:]
	if p.checksum {
		n := len(raw) - replication.BinlogChecksumLength
		if n < replication.EventHeaderSize || crc32.ChecksumIEEE(raw[:n]) != binary.LittleEndian.Uint32(raw[n:]) {
			return nil, broken("checksum mismatch")
		}
		body = raw[replication.EventHeaderSize:n]
	}
	payload := &Payload{parser: p}
	for {
		kind, rest, ok := number(body)
		if !ok {
			return nil, broken("it ends in its fields")
		}
		if body = rest; kind == replication.OTW_PAYLOAD_HEADER_END_MARK {
			break
		}
		size, rest, ok := number(body)
		if !ok || size > uint64(len(rest)) {
			return nil, broken("it ends in its fields")
		}
		if kind == replication.OTW_PAYLOAD_COMPRESSION_TYPE_FIELD {
			switch v, _, _ := number(rest[:size]); v {
			case replication.ZSTD:
			case replication.NONE:
				payload.plain = true
			default:
				return nil, broken(fmt.Sprintf("compression type %d is not known", v))
			}
		}
		body = rest[size:]
	}
	payload.body = body
	return &replication.BinlogEvent{RawData: raw, Header: h, Event: payload}, nil
}

// number takes a packed integer.
func number(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	if b[0] < 251 {
		return uint64(b[0]), b[1:], true
	}
	n := map[byte]int{252: 2, 253: 3, 254: 8}[b[0]]
	if n == 0 || len(b) <= n {
		return 0, nil, false
	}
	for i := n; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, b[1+n:], true
}

// inflater is what payloads of one parser share.
type inflater struct {
	d     *decoder // of events without checksum; nil until needed
	zstd  *zstd.Decoder
	arena wire.Arena
}

func (f *inflater) events(p *Payload, take func(*replication.BinlogEvent) error) error {
	if f.d == nil {
		f.d = newDecoder(p.parser.flavor, false)
		if _, err := f.d.parse(withoutChecksum(p.parser.format)); err != nil {
			return fmt.Errorf("format of a payload's events: %w", err)
		}
	}
	var in io.Reader = bytes.NewReader(p.body)
	if !p.plain {
		if err := f.reset(in); err != nil {
			return err
		}
		in = f.zstd
		defer f.rest(p.body)
	}
	for {
		raw, err := f.next(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: inflate a transaction: %w", ErrFormat, err)
		}
		e, err := f.d.parse(raw)
		if err != nil {
			return err
		}
		if err := take(e); err != nil {
			return err
		}
	}
}

// withoutChecksum is a format event that says that events have none: the byte
// before its own checksum is the algorithm.
func withoutChecksum(format []byte) []byte {
	f := bytes.Clone(format)
	if n := len(f) - replication.BinlogChecksumLength - 1; n > replication.EventHeaderSize {
		f[n] = byte(replication.BINLOG_CHECKSUM_ALG_OFF)
	}
	return f
}

func (f *inflater) reset(in io.Reader) (err error) {
	if f.zstd == nil {
		f.zstd, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	} else {
		err = f.zstd.Reset(in)
	}
	if err != nil {
		return fmt.Errorf("%w: inflate a transaction: %w", ErrFormat, err)
	}
	return nil
}

// rest lets go of the payload, and of the decoder if it has grown.
func (f *inflater) rest(body []byte) {
	var h zstd.Header
	if h.Decode(body) != nil || h.WindowSize > keepWindow || h.SingleSegment && h.FrameContentSize > keepWindow {
		f.zstd.Close()
		f.zstd = nil
		return
	}
	_ = f.zstd.Reset(nil) // it says that it has no input
}

// next reads the bytes of an event; io.EOF is the end of the payload.
func (f *inflater) next(in io.Reader) ([]byte, error) {
	var head [replication.EventHeaderSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err //nolint:wrapcheck // io.EOF is an answer
	}
	size := int64(binary.LittleEndian.Uint32(head[9:]))
	if size < int64(len(head)) || size > wire.MaxEvent {
		return nil, fmt.Errorf("an event of %d bytes", size)
	}
	if size <= atOnce {
		raw := f.arena.Take(int(size))
		_, err := io.ReadFull(in, raw[copy(raw, head[:]):])
		return raw, cutShort(err)
	}
	b := bytes.NewBuffer(make([]byte, 0, atOnce))
	b.Write(head[:])
	_, err := io.CopyN(b, in, size-int64(len(head)))
	return b.Bytes(), cutShort(err)
}

// cutShort makes the end within an event another error than the end.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
