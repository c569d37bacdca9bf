package position

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Covers reports whether everything up to q is also before p, that is, whether
// a stream that stands at p has already passed q or stands exactly there.
// comparable is false when the two cannot be ordered, and covered then means
// nothing.
//
// Files of one server are ordered by number and offset. Servers are the same
// when their UUIDs are, or, where one of them is unknown, when host and port are
// the same text: nothing is resolved here. GTID sets are ordered only when one
// contains the other (MySQL), or is as far or farther in every domain (MariaDB).
// Where both orders exist and contradict each other, the binlog was reset or
// replaced, and the two are not comparable.
func (p Position) Covers(q Position) (covered, comparable bool) {
	order, byFile := compareFiles(p, q)
	ahead, behind, byGTID := compareGTIDs(p.GTIDs, q.GTIDs)
	switch {
	case byFile && byGTID:
		if order > 0 && !ahead || order < 0 && !behind {
			return false, false
		}
		return order >= 0, true
	case byFile:
		return order >= 0, true
	case byGTID:
		return ahead, ahead || behind
	}
	return false, false
}

// compareFiles orders two file positions of one server: negative, zero or
// positive. ok is false when they are not of one server or not of one series.
func compareFiles(p, q Position) (order int, ok bool) {
	if !sameServer(p, q) {
		return 0, false
	}
	pBase, pNumber, ok := splitFile(p.File)
	if !ok {
		return 0, false
	}
	qBase, qNumber, ok := splitFile(q.File)
	if !ok || pBase != qBase {
		return 0, false
	}
	if c := cmp.Compare(pNumber, qNumber); c != 0 {
		return c, true
	}
	return cmp.Compare(p.Offset, q.Offset), true
}

func sameServer(p, q Position) bool {
	if p.ServerUUID != "" && q.ServerUUID != "" {
		return strings.EqualFold(p.ServerUUID, q.ServerUUID)
	}
	return strings.EqualFold(p.Host, q.Host) && p.Port == q.Port
}

// splitFile cuts binlog.000012 into its base name and its number. Numbers are
// padded to six digits, but a server that has passed 999999 writes seven, so
// names are never compared as text.
func splitFile(name string) (base string, number uint64, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(name[dot+1:], 10, 64)
	return name[:dot], number, err == nil
}

// compareGTIDs reports whether set a contains b (ahead) and b contains a
// (behind). ok is false when one is empty, unreadable or of another flavour.
func compareGTIDs(a, b string) (ahead, behind, ok bool) {
	as, aok := parseGTIDs(a)
	bs, bok := parseGTIDs(b)
	if !aok || !bok {
		return false, false, false
	}
	if _, mariaA := as.(*mysql.MariadbGTIDSet); mariaA {
		if _, mariaB := bs.(*mysql.MariadbGTIDSet); !mariaB {
			return false, false, false
		}
	}
	return as.Contain(bs), bs.Contain(as), true
}

// parseGTIDs reads a set in either server's form. A MySQL set has a colon after
// each UUID; a MariaDB position has none.
func parseGTIDs(text string) (mysql.GTIDSet, bool) {
	if text == "" {
		return nil, false
	}
	flavour := mysql.MariaDBFlavor
	if strings.Contains(text, ":") {
		flavour = mysql.MySQLFlavor
	}
	set, err := mysql.ParseGTIDSet(flavour, text)
	return set, err == nil && !set.IsEmpty()
}
