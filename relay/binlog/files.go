package binlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/binlog/parse"
	"github.com/canal-relay/canal-relay/relay/binlog/source"
	"github.com/canal-relay/canal-relay/relay/binlog/wire"
	"github.com/canal-relay/canal-relay/relay/position"
)

// Files streams binlog files in the order given.
type Files struct{ paths []string }

// NewFiles returns a stream of the files at paths; it opens nothing.
func NewFiles(paths ...string) *Files { return &Files{paths: paths} }

// Run streams all files from their start, or from a position in one of them,
// and ends with io.EOF. A position without a file means the start. An event
// that is cut short is ErrFormat.
func (f *Files) Run(ctx context.Context, from position.Position, h Handler) error {
	paths := f.paths
	if from.File == "" {
		if len(paths) == 0 {
			return io.EOF
		}
		from = position.Position{File: filepath.Base(paths[0]), Offset: 4, GTIDs: from.GTIDs}
	}
	for len(paths) > 0 && filepath.Base(paths[0]) != from.File {
		paths = paths[1:]
	}
	if len(paths) == 0 {
		return fmt.Errorf("%w: no file %s is given", ErrStart, from.File)
	}
	if err := h.Begin(from); err != nil {
		return err
	}
	for i, path := range paths {
		offset := uint64(4)
		if i == 0 {
			offset = max(from.Offset, 4)
		} else if err := h.HandleEvent(nextFile(filepath.Base(path))); err != nil {
			return err
		}
		if err := f.file(ctx, path, offset, h); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	return io.EOF
}

// Reread streams one of the files again, from an offset.
func (f *Files) Reread(ctx context.Context, at position.Position, h Handler) error {
	for _, path := range f.paths {
		if filepath.Base(path) != at.File {
			continue
		}
		if err := h.Begin(at); err != nil {
			return err
		}
		return f.file(ctx, path, max(at.Offset, 4), h)
	}
	return fmt.Errorf("%w: file %s is not given", ErrPurged, at.File)
}

// nextFile is the rotate event that a server makes up at a file's start.
func nextFile(name string) *replication.BinlogEvent {
	return &replication.BinlogEvent{
		Header: &replication.EventHeader{EventType: replication.ROTATE_EVENT, Flags: replication.LOG_EVENT_ARTIFICIAL_F},
		Event:  &replication.RotateEvent{Position: 4, NextLogName: []byte(name)},
	}
}

// file streams one file: its format event always, then events from an offset.
func (f *Files) file(ctx context.Context, path string, from uint64, h Handler) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open binlog file: %w", err)
	}
	defer file.Close()
	s := fileStream{r: bufio.NewReaderSize(file, wire.ReadBuffer), path: path, parser: parse.New(mysql.MySQLFlavor)}
	if err := s.magic(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		at := s.at
		raw, err := s.next()
		if errors.Is(err, io.EOF) {
			return h.Idle()
		}
		if err != nil {
			return err
		}
		e, err := s.parser.Parse(raw)
		if err != nil {
			return fmt.Errorf("%s at %d: %w", path, at, err)
		}
		if format, ok := e.Event.(*replication.FormatDescriptionEvent); ok {
			s.parser.SetFlavor(source.FlavorOf(format.ServerVersion))
		}
		if at < from {
			if e.Header.EventType != replication.FORMAT_DESCRIPTION_EVENT {
				return fmt.Errorf("%w: %s does not begin with a format event", ErrFormat, path)
			}
			e.Header.LogPos, e.Header.EventSize = 0, 0 // not of the stream, as in a dump
			if err := s.skip(from); err != nil {
				return err
			}
		}
		if err := h.HandleEvent(e); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

type fileStream struct {
	r      *bufio.Reader
	path   string
	at     uint64 // offset of the next byte
	arena  wire.Arena
	parser *parse.Parser
}

func (s *fileStream) magic() error {
	head := make([]byte, 4)
	if _, err := io.ReadFull(s.r, head); err != nil || !bytes.Equal(head[1:], replication.BinLogFileHeader[1:]) {
		return fmt.Errorf("%w: %s is not a binlog file", ErrFormat, s.path)
	}
	switch head[0] {
	case 0xfe:
	case 0xfd:
		return fmt.Errorf("%w: %s is encrypted; read it from its server, or copy it with mysqlbinlog --read-from-remote-server --raw", ErrFormat, s.path)
	default:
		return fmt.Errorf("%w: %s is not a binlog file", ErrFormat, s.path)
	}
	s.at = 4
	return nil
}

// next reads one event's bytes; io.EOF between events is the end of the file.
func (s *fileStream) next() ([]byte, error) {
	head, err := s.r.Peek(replication.EventHeaderSize)
	if err != nil {
		if len(head) == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, s.short(err)
	}
	size := binary.LittleEndian.Uint32(head[9:])
	if size < replication.EventHeaderSize || size > wire.MaxEvent {
		return nil, fmt.Errorf("%w: %s: the event at %d says it has %d bytes", ErrFormat, s.path, s.at, size)
	}
	b := s.arena.Take(int(size))
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, s.short(err)
	}
	s.at += uint64(size)
	return b, nil
}

func (s *fileStream) short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s: the event at %d is cut short; the file is still written or was copied in part", ErrFormat, s.path, s.at)
	}
	return fmt.Errorf("read %s at %d: %w", s.path, s.at, err)
}

func (s *fileStream) skip(to uint64) error {
	for s.at < to {
		n, err := s.r.Discard(int(min(to-s.at, 1<<30)))
		s.at += uint64(n)
		if err != nil {
			return fmt.Errorf("%w: %s ends before %d", ErrStart, s.path, to)
		}
	}
	return nil
}
