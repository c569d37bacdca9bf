package binlogtest

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
)

const (
	heartbeatEvent = 27
	heartbeatV2    = 41
	mariaGTIDEvent = 162
	artificial     = 0x20
)

func gtidText(gno int64) string { return UUID + ":1-" + strconv.FormatInt(gno, 10) }

// stream sends the dump that was asked for until the connection breaks.
func (h *handler) stream() error {
	h.s.mu.Lock()
	h.s.dumps = append(h.s.dumps, h.dump)
	cut := -1
	if h.dump.ID != 0 {
		if len(h.s.refusals) > 0 {
			err := h.s.refusals[0]
			h.s.refusals = h.s.refusals[1:]
			h.s.mu.Unlock()
			return err
		}
		if len(h.s.cuts) > 0 {
			cut, h.s.cuts = h.s.cuts[0], h.s.cuts[1:]
		}
	}
	logs := h.s.logs
	h.s.mu.Unlock()
	skip, err := newSkipper(h.dump)
	if err != nil {
		return err
	}
	at, offset := 0, uint64(4)
	if !h.dump.GTID {
		for at < len(logs) && logs[at].Name != h.dump.File {
			at++
		}
		if at == len(logs) {
			return mysql.NewError(1236, "Could not find first log file name in binary log index file")
		}
		offset = h.dump.Offset
	}
	for ; at < len(logs); at++ {
		if err := h.file(logs[at], offset, skip, &cut); err != nil {
			return err
		}
		offset = 4
		h.s.mu.Lock()
		logs = h.s.logs
		h.s.mu.Unlock()
	}
	return nil
}

// file sends one log: a made-up rotate event, the format event, the rest from
// offset. Behind the last log it waits for more, with heartbeats.
func (h *handler) file(l *Log, offset uint64, skip *skipper, cut *int) error {
	where := binary.LittleEndian.AppendUint64(nil, offset)
	if err := h.send(Event(rotateEvent, 0, 0, artificial, append(where, l.Name...))); err != nil {
		return err
	}
	left := false // something was left out since the last event
	for pos, beats := uint64(4), 0; ; {
		h.s.mu.Lock()
		all, grown, last := l.Bytes, h.s.grown, h.s.logs[len(h.s.logs)-1] == l
		h.s.mu.Unlock()
		for pos < uint64(len(all)) {
			e := all[pos : pos+uint64(binary.LittleEndian.Uint32(all[pos+9:]))]
			begins := pos
			pos += uint64(len(e))
			if l.offset(int(begins)) < offset {
				if e[4] != formatEvent {
					continue
				}
				e = Event(formatEvent, binary.LittleEndian.Uint32(e), 0, 0, e[19:len(e)-4])
			} else if skip.skips(e) {
				left = true
				continue
			} else if left && h.beats {
				left = false
				if err := h.send(Event(heartbeatV2, 0, 0, 0, beatBody(l.Name, l.offset(int(begins))))); err != nil {
					return err
				}
			}
			if *cut == 0 {
				return errDone
			}
			*cut--
			if err := h.send(e); err != nil {
				return err
			}
		}
		if !last {
			return nil
		}
		if h.dump.ID == 0 {
			return h.eof()
		}
		select {
		case <-grown:
		case <-time.After(heartbeat):
			if beats++; beats%2 == 0 { // half of the time a silent source
				if err := h.send(Event(heartbeatEvent, 0, uint32(l.offset(int(pos))), 0, []byte(l.Name))); err != nil {
					return err
				}
			}
		}
	}
}

// beatBody is that of HEARTBEAT_LOG_EVENT_V2.
func beatBody(file string, offset uint64) []byte {
	b := append([]byte{1, byte(len(file))}, file...)
	return append(binary.LittleEndian.AppendUint64(append(b, 2, 9, 0xfe), offset), 0)
}

// send writes one event as packets.
func (h *handler) send(e []byte) error {
	return h.conn.WritePacket(append([]byte{0, 0, 0, 0, 0}, e...))
}

func (h *handler) eof() error {
	if err := h.conn.WritePacket([]byte{0, 0, 0, 0, 0xfe, 0, 0, 2, 0}); err != nil {
		return err
	}
	return errDone
}

// skipper leaves out the transactions that a reader has.
type skipper struct {
	mysql mysql.GTIDSet
	maria *mysql.MariadbGTIDSet
	on    bool
}

func newSkipper(d Dump) (*skipper, error) {
	s := &skipper{}
	if !d.GTID {
		return s, nil
	}
	if set, err := mysql.ParseMysqlGTIDSet(d.GTIDs); err == nil {
		s.mysql = set
		return s, nil
	}
	set, err := mysql.ParseMariadbGTIDSet(d.GTIDs)
	if err != nil {
		return nil, err
	}
	s.maria = set.(*mysql.MariadbGTIDSet)
	return s, nil
}

func (s *skipper) skips(e []byte) bool {
	switch body := e[19:]; e[4] {
	case gtidEvent:
		if s.mysql == nil {
			return false
		}
		sid, _ := uuid.FromBytes(body[1:17])
		one := mysql.NewMysqlGTIDSet()
		one.AddGTID(sid, int64(binary.LittleEndian.Uint64(body[17:])))
		s.on = s.mysql.Contain(&one)
	case mariaGTIDEvent:
		if s.maria == nil {
			return false
		}
		have, ok := s.maria.Sets[binary.LittleEndian.Uint32(body[8:])]
		s.on = ok && have.SequenceNumber >= binary.LittleEndian.Uint64(body)
	case rotateEvent, formatEvent, previousGTIDs, 163:
		return false
	}
	return s.on
}

// Load takes a recorded binlog file for a log of this name.
func Load(name string, b []byte) *Log {
	l := &Log{Name: name, Bytes: b}
	for pos := 4; pos+19 < len(b); pos += int(binary.LittleEndian.Uint32(b[pos+9:])) {
		if b[pos+4] == gtidEvent {
			l.gno = int64(binary.LittleEndian.Uint64(b[pos+19+17:]))
		}
	}
	return l
}

// Checksum reports whether an event's checksum is right.
func Checksum(e []byte) bool {
	n := len(e) - 4
	return crc32.ChecksumIEEE(e[:n]) == binary.LittleEndian.Uint32(e[n:])
}
