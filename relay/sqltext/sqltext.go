package sqltext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
)

// Variable is the statement for a RAND or USER_VAR event as Canal writes it;
// empty if the bytes do not hold one. Layout of USER_VAR: name length (4) and
// name, null flag, then type (1), collation (4), length (4) and value.
func Variable(t replication.EventType, b []byte) string {
	if t == replication.RAND_EVENT {
		if len(b) < 16 {
			return ""
		}
		return fmt.Sprintf("SET SESSION rand_seed1 = %d , rand_seed2 = %d", binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]))
	}
	if len(b) < 5 {
		return ""
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n < 0 || len(b) < 5+n {
		return ""
	}
	set := "SET @" + string(b[4:4+n]) + " := "
	null := b[4+n] != 0
	if b = b[5+n:]; null || len(b) < 9 {
		return set + "NULL"
	}
	size := int(binary.LittleEndian.Uint32(b[5:]))
	if size < 0 || len(b) < 9+size {
		return ""
	}
	return set + userValue(b[0], binary.LittleEndian.Uint32(b[1:]), b[9:9+size])
}

// userValue is the value of a user variable. Types: 0 text, 1 double, 2 integer,
// 4 decimal.
func userValue(kind byte, collation uint32, v []byte) string {
	switch {
	case kind == 1 && len(v) == 8:
		return string(column.AppendDouble(nil, math.Float64frombits(binary.LittleEndian.Uint64(v))))
	case kind == 2 && len(v) == 8:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(v)), 10)
	case kind == 4 && len(v) > 2:
		if text, err := column.AppendDecimal(nil, v[2:], int(v[0]), int(v[1]), false); err == nil {
			return string(text)
		}
	}
	return "'" + decode(uint64(collation), v) + "'"
}

// CutNUL ends a text at its first NUL, as Canal does.
func CutNUL(s string) string {
	before, _, _ := strings.Cut(s, "\x00")
	return before
}

// decode turns text of a collation's character set into UTF-8.
func decode(collation uint64, raw []byte) string {
	set := charset.ByCollation(collation)
	if set == nil {
		return string(raw)
	}
	return string(set.Append(nil, raw))
}

// Vars is what a statement's status variables say about its text.
type Vars struct {
	SQLMode uint64
	Client  uint16 // collation id of the client's character set; 0 if not said
	Server  uint16 // of the session's default for new databases; 0 if not said
}

// Charset is the character set of a new database that names none; empty if not
// said.
func (v Vars) Charset() string {
	if set := charset.ByCollation(uint64(v.Server)); v.Server != 0 && set != nil {
		return set.Name()
	}
	return ""
}

// Text is the statement's text in UTF-8.
func (v Vars) Text(raw []byte) string {
	if v.Client == 0 || ascii(raw) {
		return string(raw)
	}
	return decode(uint64(v.Client), raw)
}

func ascii(b []byte) bool { return bytes.IndexFunc(b, func(r rune) bool { return r >= 0x80 }) < 0 }

// ReadVars reads the status variables of a query event as far as they are
// needed; at an unknown code it stops. Codes: Query_event of MySQL.
func ReadVars(b []byte) (v Vars) {
	fixed := [...]int{0: 4, 1: 8, 3: 4, 4: 6, 7: 2, 8: 2, 9: 8, 10: 4, 13: 3, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1}
	for len(b) > 0 {
		code := int(b[0])
		b = b[1:]
		var n int
		switch {
		case code == 2 && len(b) > 0: // catalog with a NUL
			n = 2 + int(b[0])
		case (code == 5 || code == 6) && len(b) > 0: // time zone, catalog
			n = 1 + int(b[0])
		case code < len(fixed) && fixed[code] > 0:
			n = fixed[code]
		default:
			return v
		}
		if len(b) < n {
			return v
		}
		switch code {
		case 1:
			v.SQLMode = binary.LittleEndian.Uint64(b)
		case 4:
			v.Client, v.Server = binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[4:])
		}
		b = b[n:]
	}
	return v
}

// LoadQuery is the text and the default database of an EXECUTE_LOAD_QUERY
// event, from its body without checksum; both empty if the bytes hold neither.
// It is a query event with 13 bytes more before the status variables.
func LoadQuery(b []byte) (sql, database string) {
	const fixed = 13 + 13
	if len(b) < fixed {
		return "", ""
	}
	db, status := int(b[8]), int(binary.LittleEndian.Uint16(b[11:]))
	if b = b[fixed:]; len(b) < status+db+1 {
		return "", ""
	}
	return ReadVars(b[:status]).Text(b[status+db+1:]), string(b[status : status+db])
}
