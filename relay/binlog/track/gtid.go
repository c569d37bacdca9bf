package track

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/uuid"
)

// gtid names one transaction: source UUID, tag and number on MySQL, or domain,
// server and sequence on MariaDB.
type gtid struct {
	sid    uuid.UUID
	tag    string
	number int64 // MySQL; 0 on MariaDB

	domain, server uint32
	sequence       uint64
}

func (g *gtid) isZero() bool { return g.number == 0 && g.sequence == 0 }

// append adds the server's text form of g.
func (g *gtid) append(b []byte) []byte {
	if g.number == 0 {
		return appendDomain(b, domainEnd{g.domain, g.server, g.sequence})
	}
	b = appendUUID(b, g.sid)
	if g.tag != "" {
		b = append(append(b, ':'), g.tag...)
	}
	return strconv.AppendInt(append(b, ':'), g.number, 10)
}

// GTIDSet is the set of executed transactions: intervals per source and tag on
// MySQL, the last number per domain on MariaDB. It grows by one transaction at
// a time without printing or sorting anything.
type GTIDSet struct {
	sources []sourceSet // by UUID, then tag
	domains []domainEnd // by domain
}

type sourceSet struct {
	sid       uuid.UUID
	tag       string
	intervals []interval // ascending, disjoint, not touching
}

type interval struct{ start, stop int64 } // stop is exclusive

type domainEnd struct {
	domain, server uint32
	sequence       uint64
}

// ParseGTIDSet reads the text form of either server; white space is ignored.
func ParseGTIDSet(text string) (GTIDSet, error) {
	var s GTIDSet
	text = strings.Join(strings.Fields(text), "")
	if text == "" {
		return s, nil
	}
	if !strings.Contains(text, ":") {
		parsed, err := mysql.ParseMariadbGTIDSet(text)
		if err != nil {
			return s, fmt.Errorf("GTID set %q: %w", text, err)
		}
		for _, g := range parsed.(*mysql.MariadbGTIDSet).Sets {
			s.add(&gtid{domain: g.DomainID, server: g.ServerID, sequence: g.SequenceNumber})
		}
		return s, nil
	}
	parsed, err := mysql.ParseMysqlGTIDSet(text)
	if err != nil {
		return s, fmt.Errorf("GTID set %q: %w", text, err)
	}
	for sid, tags := range *parsed.(*mysql.MysqlGTIDSet) {
		for tag, list := range tags {
			src := s.source(sid, tag.String())
			for _, in := range list {
				src.add(interval{in.Start, in.Stop})
			}
		}
	}
	return s, nil
}

// add puts one transaction into the set.
func (s *GTIDSet) add(g *gtid) {
	if g.number != 0 {
		s.source(g.sid, g.tag).add(interval{g.number, g.number + 1})
		return
	}
	end := domainEnd{g.domain, g.server, g.sequence}
	i, found := slices.BinarySearchFunc(s.domains, g.domain, func(d domainEnd, id uint32) int { return cmp.Compare(d.domain, id) })
	if found {
		s.domains[i] = end
		return
	}
	s.domains = slices.Insert(s.domains, i, end)
}

// last is the last GTID of a domain; where there is none, the domain alone.
func (s *GTIDSet) last(domain uint32) string {
	for _, d := range s.domains {
		if d.domain == domain {
			return string(appendDomain(nil, d))
		}
	}
	return strconv.FormatUint(uint64(domain), 10)
}

// rewind takes a domain back to what last told of it.
func (s *GTIDSet) rewind(last string) {
	domain, _, some := strings.Cut(last, "-")
	s.domains = slices.DeleteFunc(s.domains, func(d domainEnd) bool { return strconv.FormatUint(uint64(d.domain), 10) == domain })
	if one, err := ParseGTIDSet(last); some && err == nil && len(one.domains) == 1 {
		end := one.domains[0]
		s.add(&gtid{domain: end.domain, server: end.server, sequence: end.sequence})
	}
}

// clone is a copy that shares nothing.
func (s *GTIDSet) clone() GTIDSet {
	c := GTIDSet{sources: slices.Clone(s.sources), domains: slices.Clone(s.domains)}
	for i := range c.sources {
		c.sources[i].intervals = slices.Clone(c.sources[i].intervals)
	}
	return c
}

// source finds or makes the intervals of one source and tag.
func (s *GTIDSet) source(sid uuid.UUID, tag string) *sourceSet {
	i, found := slices.BinarySearchFunc(s.sources, sid, func(have sourceSet, want uuid.UUID) int {
		return cmp.Or(bytes.Compare(have.sid[:], want[:]), cmp.Compare(have.tag, tag))
	})
	if !found {
		s.sources = slices.Insert(s.sources, i, sourceSet{sid: sid, tag: tag})
	}
	return &s.sources[i]
}

// add merges one interval, touching ones becoming one.
func (s *sourceSet) add(in interval) {
	if n := len(s.intervals); n > 0 && s.intervals[n-1].stop == in.start {
		s.intervals[n-1].stop = in.stop
		return
	}
	from, _ := slices.BinarySearchFunc(s.intervals, in.start, func(have interval, start int64) int { return cmp.Compare(have.stop, start) })
	to := from
	for to < len(s.intervals) && s.intervals[to].start <= in.stop {
		in.start = min(in.start, s.intervals[to].start)
		in.stop = max(in.stop, s.intervals[to].stop)
		to++
	}
	s.intervals = slices.Replace(s.intervals, from, to, in)
}

// String is the server's text form, sorted and without white space.
func (s *GTIDSet) String() string { return string(s.append(nil)) }

func (s *GTIDSet) append(b []byte) []byte {
	for i := range s.sources {
		src := &s.sources[i]
		if len(src.intervals) == 0 {
			continue
		}
		if i == 0 || s.sources[i-1].sid != src.sid {
			if len(b) > 0 {
				b = append(b, ',')
			}
			b = appendUUID(b, src.sid)
		}
		if src.tag != "" {
			b = append(append(b, ':'), src.tag...)
		}
		for _, in := range src.intervals {
			b = strconv.AppendInt(append(b, ':'), in.start, 10)
			if in.stop > in.start+1 {
				b = strconv.AppendInt(append(b, '-'), in.stop-1, 10)
			}
		}
	}
	for _, d := range s.domains {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = appendDomain(b, d)
	}
	return b
}

func appendUUID(b []byte, u uuid.UUID) []byte {
	for i, n := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, u[[...]int{0, 4, 6, 8, 10}[i]:n])
	}
	return b
}

func appendDomain(b []byte, d domainEnd) []byte {
	b = strconv.AppendUint(b, uint64(d.domain), 10)
	b = strconv.AppendUint(append(b, '-'), uint64(d.server), 10)
	return strconv.AppendUint(append(b, '-'), d.sequence, 10)
}
