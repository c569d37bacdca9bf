package binlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/go-mysql-org/go-mysql/replication"
)

const (
	readBuffer = 256 << 10
	maxPayload = 1<<24 - 1 // bytes of a packet that is continued by the next one
	maxEvent   = 2 << 30   // above max_allowed_packet of any server
)

// link is a connection to a source. While it streams, it tells when the next
// read is about to block.
type link struct {
	net.Conn
	timeout time.Duration // longest silence of a stream
	idle    func() error  // called before a read of the stream blocks; nil before the dump
	failed  error         // what idle returned
}

// Read returns bytes that are there at once; only when there are none does it
// call idle and wait.
func (l *link) Read(p []byte) (int, error) {
	if l.idle == nil {
		return l.Conn.Read(p)
	}
	if n, err := l.poll(p); n > 0 || err != nil {
		return n, err
	}
	if l.failed = l.idle(); l.failed != nil {
		return 0, l.failed
	}
	if err := l.SetReadDeadline(time.Now().Add(l.timeout)); err != nil {
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
func (l *link) poll(p []byte) (n int, err error) {
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

// packets cuts a dump's bytes into events.
type packets struct {
	r     *bufio.Reader
	arena arena
}

// next reads one event; its bytes are the caller's. A source's error packet
// comes back as *sourceError, its end of stream as errEnded.
func (p *packets) next() ([]byte, error) {
	head, err := p.r.Peek(5)
	if err != nil {
		return nil, lost(err, len(head) > 0)
	}
	length := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if length == 0 {
		return nil, fmt.Errorf("%w: empty packet", errBroken)
	}
	switch head[4] {
	case 0xff, 0xfe:
		return nil, p.refusal(length)
	case 0:
	default:
		return nil, fmt.Errorf("%w: packet begins with %d", errBroken, head[4])
	}
	if _, err := p.r.Discard(5); err != nil {
		return nil, lost(err, true)
	}
	return p.event(length)
}

// event reads the event whose first packet has length payload bytes, the first
// of them read already.
func (p *packets) event(length int) ([]byte, error) {
	size := length - 1
	if length == maxPayload {
		head, err := p.r.Peek(replication.EventHeaderSize)
		if err != nil {
			return nil, lost(err, true)
		}
		size = int(binary.LittleEndian.Uint32(head[9:]))
		if size < length-1 || size > maxEvent {
			return nil, fmt.Errorf("%w: event of %d bytes in packets of %d", errBroken, size, length)
		}
	}
	b := p.arena.take(size)
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
			return nil, fmt.Errorf("%w: packets do not add up to an event of %d bytes", errBroken, size)
		}
		if _, err := io.ReadFull(p.r, b[at:at+length]); err != nil {
			return nil, lost(err, true)
		}
	}
	return b, nil
}

// refusal reads an error or end packet.
func (p *packets) refusal(length int) error {
	b := make([]byte, 4+length)
	if _, err := io.ReadFull(p.r, b); err != nil {
		return lost(err, true)
	}
	b = b[4:]
	if b[0] == 0xfe || len(b) < 3 {
		return errEnded
	}
	e := &sourceError{Code: binary.LittleEndian.Uint16(b[1:])}
	if b = b[3:]; len(b) >= 6 && b[0] == '#' {
		b = b[6:]
	}
	e.Message = string(b)
	return e
}

var (
	errEnded  = errors.New("the source ended the dump")
	errBroken = errors.New("broken replication packet")
)

// sourceError is an error packet of the source.
type sourceError struct {
	Code    uint16
	Message string
}

func (e *sourceError) Error() string { return fmt.Sprintf("source says %d: %s", e.Code, e.Message) }

func lost(err error, within bool) error {
	if err == io.EOF && within {
		err = io.ErrUnexpectedEOF
	}
	var t net.Error
	if errors.As(err, &t) && t.Timeout() {
		return fmt.Errorf("source silent for more than two heartbeats: %w", err)
	}
	return fmt.Errorf("read from source: %w", err)
}
