package event

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/event/jsonb"
)

// Style is how values are written. The zero Style writes TIMESTAMP in UTC,
// every digit of a decimal, and takes text of unknown character set as UTF-8.
type Style struct {
	MySQL   bool         // what SELECT shows, instead of Canal's texts
	Zone    *column.Zone // of TIMESTAMP columns
	Decimal bool         // decimals without an all-zero tail group, as Canal writes them
	Charset *charset.Set // connectionCharset: of text whose own set is unknown
}

// NewStyle makes a style: zone nil is UTC, connectionCharset a name of MySQL's
// or Java's, empty for UTF-8. A style is for all rows: laying out the zone is work.
func NewStyle(zone *time.Location, decimal bool, connectionCharset string) (Style, error) {
	s := Style{Decimal: decimal, Charset: charset.UTF8MB4}
	if zone != nil {
		s.Zone = column.NewZone(zone)
	}
	if connectionCharset != "" {
		if s.Charset = charset.ByName(connectionCharset); s.Charset == nil {
			return s, fmt.Errorf("character set %q is not known", connectionCharset)
		}
	}
	return s, nil
}

func (s *Style) charset() *charset.Set {
	if s.Charset == nil {
		return charset.UTF8MB4
	}
	return s.Charset
}

// AppendText appends the text of a value that is not NULL, in UTF-8, without
// quotes or escapes. The column is one of a Layout made by NewLayout. The error
// is column.ErrValue or jsonb.ErrFormat; what was appended is then void.
func AppendText(dst []byte, col *Column, raw []byte, s Style) ([]byte, error) {
	return col.append(dst, raw, col.kind, col.set, &s)
}

// AppendHashText appends the text that Canal's partition hash takes: Canal's
// style whatever is configured, decimals without an all-zero tail, every text in
// connectionCharset.
func AppendHashText(dst []byte, col *Column, raw []byte, s Style) ([]byte, error) {
	s.Decimal, s.MySQL = true, false
	return col.append(dst, raw, col.hash, s.charset(), &s)
}

func (c *Column) append(dst, raw []byte, k kind, set *charset.Set, s *Style) ([]byte, error) {
	if c.prefix == 0 && len(raw) != int(c.fixed) {
		return dst, fmt.Errorf("column %s: %d bytes, want %d: %w", c.Name, len(raw), c.fixed, column.ErrValue)
	}
	var err error
	if c.compressed {
		if raw, err = column.AppendInflated(nil, raw); err != nil {
			return dst, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	if s.MySQL {
		return c.appendMySQL(dst, raw, k, set, s)
	}
	return c.appendCanal(dst, raw, k, set, s)
}

// appendCanal is append in Canal's style.
func (c *Column) appendCanal(dst, raw []byte, k kind, set *charset.Set, s *Style) (_ []byte, err error) {
	switch k {
	case intKind:
		return strconv.AppendInt(dst, column.Int(raw), 10), nil
	case uintKind, setKind:
		return strconv.AppendUint(dst, column.Uint(raw), 10), nil
	case textKind:
		if set == nil {
			set = s.charset()
		}
		return set.Append(dst, raw), nil
	case binaryKind:
		return column.AppendLatin1(dst, raw), nil
	case decimalKind:
		dst, err = column.AppendDecimal(dst, raw, int(c.Meta>>8), int(c.Meta&0xff), s.Decimal)
	case floatKind:
		return column.AppendFloat(dst, math.Float32frombits(binary.LittleEndian.Uint32(raw))), nil
	case doubleKind:
		return column.AppendDouble(dst, math.Float64frombits(binary.LittleEndian.Uint64(raw))), nil
	case bitKind:
		return strconv.AppendUint(dst, column.UintBE(raw), 10), nil
	case yearKind:
		return column.AppendYear(dst, raw[0]), nil
	case jsonKind:
		dst, err = jsonb.Append(dst, raw, jsonb.Style{CutTail: s.Decimal, Charset: s.Charset})
	case uuidKind:
		dst, err = column.AppendUUID(dst, raw)
	case inet4Kind:
		dst, err = column.AppendInet4(dst, raw)
	case inet6Kind:
		dst, err = column.AppendInet6(dst, raw)
	case vectorKind:
		dst, err = column.AppendVector(dst, raw)
	default:
		dst, err = c.appendTemporal(dst, raw, k, s)
	}
	if err != nil {
		return dst, fmt.Errorf("column %s: %w", c.Name, err)
	}
	return dst, nil
}

func (c *Column) appendTemporal(dst, raw []byte, k kind, s *Style) ([]byte, error) {
	switch k {
	case dateKind:
		return column.AppendDate(dst, raw)
	case timeKind:
		return column.AppendTime(dst, raw)
	case time2Kind:
		return column.AppendTime2(dst, raw, int(c.Meta))
	case datetimeKind:
		return column.AppendDatetime(dst, raw)
	case datetime2Kind:
		return column.AppendDatetime2(dst, raw, int(c.Meta))
	case timestampKind:
		return column.AppendTimestamp(dst, raw, s.Zone)
	case timestamp2Kind:
		return column.AppendTimestamp2(dst, raw, int(c.Meta), s.Zone)
	case hiresTimeKind:
		return column.AppendHiresTime(dst, raw, c.fraction)
	case hiresDatetimeKind:
		return column.AppendHiresDatetime(dst, raw, c.fraction)
	case hiresTimestampKind:
		return column.AppendHiresTimestamp(dst, raw, c.fraction, s.Zone)
	}
	return dst, ErrUnsupported
}

// Plain says that the column's texts never need escaping in JSON.
func (c *Column) Plain() bool {
	return c.kind != unknownKind && c.kind <= vectorKind && c.Wire != mysql.MYSQL_TYPE_ENUM && c.Wire != mysql.MYSQL_TYPE_SET
}

// UTF8 says that the column's bytes are its text if they are well-formed UTF-8.
func (c *Column) UTF8() bool {
	return c.kind == textKind && !c.compressed && c.set != nil && c.set.UTF8()
}

// SameText says that two values have the same text only if their bytes are the
// same. It does not hold for JSON, of which one text has many forms, for
// TIMESTAMP, whose local times come twice when summer time ends, for text that
// may hold what its character set has not, and for COMPRESSED columns.
func (c *Column) SameText() bool {
	switch c.kind {
	case jsonKind, textKind, timestampKind, timestamp2Kind, hiresTimestampKind, unknownKind:
		return false
	}
	return !c.compressed
}

// Equal says whether two values that are not NULL have the same text. The
// scratch is returned for the next call.
func (c *Column) Equal(a, b []byte, s Style, scratch []byte) (bool, []byte, error) {
	if bytes.Equal(a, b) {
		return true, scratch, nil
	}
	if c.SameText() || c.UTF8() && utf8.Valid(a) && utf8.Valid(b) {
		return false, scratch, nil
	}
	scratch, err := AppendText(scratch[:0], c, a, s)
	if err != nil {
		return false, scratch, err
	}
	n := len(scratch)
	if scratch, err = AppendText(scratch, c, b, s); err != nil {
		return false, scratch, err
	}
	return bytes.Equal(scratch[:n], scratch[n:]), scratch, nil
}

// java.sql.Types.
const (
	sqlBit       = -7
	sqlTinyint   = -6
	sqlBigint    = -5
	sqlChar      = 1
	sqlDecimal   = 3
	sqlInteger   = 4
	sqlSmallint  = 5
	sqlReal      = 7
	sqlDouble    = 8
	sqlVarchar   = 12
	sqlDate      = 91
	sqlTime      = 92
	sqlTimestamp = 93
	sqlOther     = 1111
	sqlBlob      = 2004
	sqlClob      = 2005
)

// SQLType is the value's java.sql.Types number as Canal gives it. It varies by
// value: an unsigned number with its top bit set has the next wider type, and
// NULL of a SET or JSON column a type of its own. In MySQL's style it does not.
func (c *Column) SQLType(raw []byte, null bool, s *Style) int32 {
	if s.MySQL {
		raw, null = allOnes[:c.fixed&15], false
		if c.Wire == mysql.MYSQL_TYPE_ENUM || c.Wire == mysql.MYSQL_TYPE_SET {
			return sqlChar
		}
	}
	switch c.kind {
	case intKind:
		return integerTypes[c.fixed&15].base
	case uintKind:
		if c.Wire == mysql.MYSQL_TYPE_ENUM {
			return sqlInteger
		}
		if t := integerTypes[c.fixed&15]; null || len(raw) == 0 || raw[len(raw)-1] < 0x80 {
			return t.base
		} else {
			return t.promoted
		}
	case setKind:
		if null {
			return sqlBlob
		}
	case jsonKind:
		if null {
			return sqlOther
		}
	case textKind:
		switch c.Wire {
		case mysql.MYSQL_TYPE_STRING:
			return sqlChar
		case mysql.MYSQL_TYPE_BLOB:
			return sqlClob
		}
	}
	return kindTypes[c.kind]
}

var allOnes = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

// integerTypes are the types of integers by their number of bytes.
var integerTypes = [16]struct{ base, promoted int32 }{
	1: {sqlTinyint, sqlSmallint}, 2: {sqlSmallint, sqlInteger}, 3: {sqlInteger, sqlInteger}, 4: {sqlInteger, sqlBigint}, 8: {sqlBigint, sqlDecimal},
}

var kindTypes = [...]int32{
	setKind: sqlBit, floatKind: sqlReal, doubleKind: sqlDouble, decimalKind: sqlDecimal, bitKind: sqlBit, yearKind: sqlVarchar,
	dateKind: sqlDate, timeKind: sqlTime, time2Kind: sqlTime, datetimeKind: sqlTimestamp, datetime2Kind: sqlTimestamp,
	timestampKind: sqlTimestamp, timestamp2Kind: sqlTimestamp, hiresTimeKind: sqlTime, hiresDatetimeKind: sqlTimestamp,
	hiresTimestampKind: sqlTimestamp, uuidKind: sqlChar, inet4Kind: sqlChar, inet6Kind: sqlChar,
	vectorKind: sqlVarchar, binaryKind: sqlBlob, textKind: sqlVarchar, jsonKind: sqlVarchar,
}
