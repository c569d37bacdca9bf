package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
)

const (
	ReadBuffer = 256 << 10 // bytes of a stream's read buffer

	maxPayload = 1<<24 - 1 // bytes of a packet that is continued by the next one
	MaxEvent   = 2 << 30   // bytes of an event; above max_allowed_packet of any server
)

// Link is a connection to a source. While it streams, it tells when the next
// read is about to block.
type Link struct {
	net.Conn
	Timeout time.Duration // longest silence of a stream

	idle   func() error // nil before the stream
	failed error        // what idle returned
}

// Stream makes the connection a stream: before a read of it blocks, idle is
// called.
func (l *Link) Stream(idle func() error) { l.idle = idle }

// Failed is the error that idle ended the stream with.
func (l *Link) Failed() error { return l.failed }

// Read returns bytes that are there at once; only when there are none does it
// call idle and wait.
func (l *Link) Read(p []byte) (int, error) {
	if l.idle == nil {
		return l.Conn.Read(p)
	}
	if n, err := l.poll(p); n > 0 || err != nil {
		return n, err
	}
	if l.failed = l.idle(); l.failed != nil {
		return 0, l.failed
	}
	if err := l.SetReadDeadline(time.Now().Add(l.Timeout)); err != nil {
		return 0, err
	}
	n, err := l.Conn.Read(p)
	if err == nil {
		// A deadline that passes while events are handled must not end the stream.
		err = l.SetReadDeadline(time.Time{})
	}
	return n, err
}

// poll reads without waiting: 0 and no error when nothing is there.
func (l *Link) poll(p []byte) (n int, err error) {
	sc, ok := l.Conn.(syscall.Conn)
	if !ok {
		return 0, nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fail error
	err = raw.Read(func(fd uintptr) bool {
		n, fail = readNow(fd, p)
		return true
	})
	if err != nil {
		return 0, err
	}
	return n, fail
}

// Packets cuts a dump's bytes into events.
type Packets struct {
	r     *bufio.Reader
	arena Arena
}

// NewPackets reads a dump from r.
func NewPackets(r io.Reader) *Packets { return &Packets{r: bufio.NewReaderSize(r, ReadBuffer)} }

// Next reads one event; its bytes are the caller's. A source's error packet
// comes back as *SourceError, its end of stream as ErrEnded.
func (p *Packets) Next() ([]byte, error) {
	head, err := p.r.Peek(5)
	if err != nil {
		return nil, lost(err, len(head) > 0)
	}
	length := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if length == 0 {
		return nil, fmt.Errorf("%w: empty packet", ErrBroken)
	}
	switch head[4] {
	case 0xff, 0xfe:
		return nil, p.refusal(length)
	case 0:
	default:
		return nil, fmt.Errorf("%w: packet begins with %d", ErrBroken, head[4])
	}
	if _, err := p.r.Discard(5); err != nil {
		return nil, lost(err, true)
	}
	return p.event(length)
}

// event reads the event whose first packet has length payload bytes, the first
// of them read already.
func (p *Packets) event(length int) ([]byte, error) {
	size := length - 1
	if length == maxPayload {
		head, err := p.r.Peek(replication.EventHeaderSize)
		if err != nil {
			return nil, lost(err, true)
		}
		size = int(binary.LittleEndian.Uint32(head[9:]))
		if size < length-1 || size > MaxEvent {
			return nil, fmt.Errorf("%w: event of %d bytes in packets of %d", ErrBroken, size, length)
		}
	}
	b := p.arena.Take(size)
	if _, err := io.ReadFull(p.r, b[:length-1]); err != nil {
		return nil, lost(err, true)
	}
	for at := length - 1; length == maxPayload; at += length {
		var head [4]byte
		if _, err := io.ReadFull(p.r, head[:]); err != nil {
			return nil, lost(err, true)
		}
		length = int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		if at+length > size || length < maxPayload && at+length != size {
			return nil, fmt.Errorf("%w: packets do not add up to an event of %d bytes", ErrBroken, size)
		}
		if _, err := io.ReadFull(p.r, b[at:at+length]); err != nil {
			return nil, lost(err, true)
		}
	}
	return b, nil
}

// refusal reads an error or end packet.
func (p *Packets) refusal(length int) error {
	b := make([]byte, 4+length)
	if _, err := io.ReadFull(p.r, b); err != nil {
		return lost(err, true)
	}
	b = b[4:]
	if b[0] == 0xfe || len(b) < 3 {
		return ErrEnded
	}
	e := &SourceError{Code: binary.LittleEndian.Uint16(b[1:])}
	if b = b[3:]; len(b) >= 6 && b[0] == '#' {
		b = b[6:]
	}
	e.Message = string(b)
	return e
}

// ErrEnded says that the source ended the dump.
var ErrEnded = errors.New("the source ended the dump")

// ErrBroken says that what came is not a replication packet.
var ErrBroken = errors.New("broken replication packet")

// SourceError is an error packet of the source.
type SourceError struct {
	Code    uint16
	Message string
}

// Error is one line, also where the source breaks a GTID set into several.
func (e *SourceError) Error() string {
	return fmt.Sprintf("source says %d: %s", e.Code, strings.Join(strings.Fields(e.Message), " "))
}

func lost(err error, within bool) error {
	if errors.Is(err, io.EOF) && within {
		err = io.ErrUnexpectedEOF
	}
	var t net.Error
	if errors.As(err, &t) && t.Timeout() {
		return fmt.Errorf("source silent for more than two heartbeats: %w", err)
	}
	return fmt.Errorf("read from source: %w", err)
}
