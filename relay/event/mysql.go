package event

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/event/jsonb"
)

// appendMySQL appends what SELECT shows of a value: labels of ENUM and SET,
// JSON and numbers as the server prints them, but FLOAT with all the digits
// that tell it from others. Bytes that are no text are in base64, BINARY with
// the zeros that the binlog leaves out. BIT is a number and VECTOR a list.
func (c *Column) appendMySQL(dst, raw []byte, k kind, set *charset.Set, s *Style) (_ []byte, err error) {
	start := len(dst)
	switch {
	case c.Wire == mysql.MYSQL_TYPE_ENUM:
		return c.appendLabel(dst, column.Uint(raw))
	case c.Wire == mysql.MYSQL_TYPE_SET:
		return c.appendLabels(dst, column.Uint(raw))
	case k == binaryKind:
		return c.appendBase64(dst, raw), nil
	case k == textKind && set != nil:
		return set.AppendShown(dst, raw), nil
	case k == jsonKind:
		if dst, err = jsonb.Append(dst, raw, jsonb.Style{MySQL: true}); err != nil {
			return dst, fmt.Errorf("column %s: %w", c.Name, err)
		}
		return dst, nil
	case k == floatKind:
		dst = c.appendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), 32)
	case k == doubleKind:
		dst = c.appendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(raw)), 64)
	default:
		exact := *s
		exact.Decimal = false
		if dst, err = c.appendCanal(dst, raw, k, set, &exact); err != nil {
			return dst, err
		}
	}
	if missing := c.zerofill() - (len(dst) - start); missing > 0 {
		dst = append(dst, zeros[:missing]...)
		copy(dst[start+missing:], dst[start:len(dst)-missing])
		copy(dst[start:], zeros[:missing])
	}
	return dst, nil
}

// zeros are as many as the widest ZEROFILL column has.
var zeros = strings.Repeat("0", 255)

// zerofill is the width to which the column's numbers are filled, 0 for none.
func (c *Column) zerofill() int {
	if c.kind > decimalKind || !strings.HasSuffix(c.Type, "zerofill") {
		return 0
	}
	if c.kind == decimalKind {
		if c.Meta&0xff == 0 {
			return int(c.Meta >> 8)
		}
		return int(c.Meta>>8) + 1 // the point
	}
	if len(c.Args) > 0 {
		n, _ := strconv.Atoi(c.Args[0]) // 0 where it is no number
		return min(n, len(zeros))
	}
	switch c.Wire {
	case mysql.MYSQL_TYPE_TINY:
		return 3
	case mysql.MYSQL_TYPE_SHORT:
		return 5
	case mysql.MYSQL_TYPE_INT24:
		return 8
	case mysql.MYSQL_TYPE_LONG:
		return 10
	case mysql.MYSQL_TYPE_LONGLONG:
		return 20
	case mysql.MYSQL_TYPE_FLOAT:
		return 12
	case mysql.MYSQL_TYPE_DOUBLE:
		return 22
	}
	return 0
}

// appendFloat appends a FLOAT or DOUBLE, or one with a number of decimals.
func (c *Column) appendFloat(dst []byte, v float64, bits int) []byte {
	if len(c.Args) == 2 {
		if decimals, err := strconv.Atoi(c.Args[1]); err == nil {
			return strconv.AppendFloat(dst, v, 'f', decimals, 64)
		}
	}
	return column.AppendShortest(dst, v, bits)
}

func (c *Column) appendBase64(dst, raw []byte) []byte {
	if c.Wire == mysql.MYSQL_TYPE_STRING && len(raw) < int(c.Meta) {
		padded := make([]byte, c.Meta)
		copy(padded, raw)
		raw = padded
	}
	return base64.StdEncoding.AppendEncode(dst, raw)
}

// appendLabel appends the label of an ENUM's index; 0 is the empty text that
// stands for an invalid value.
func (c *Column) appendLabel(dst []byte, index uint64) ([]byte, error) {
	if index == 0 {
		return dst, nil
	}
	if index > uint64(len(c.Args)) {
		return dst, fmt.Errorf("column %s: index %d of %d labels: %w", c.Name, index, len(c.Args), column.ErrValue)
	}
	return append(dst, c.Args[index-1]...), nil
}

// appendLabels appends the labels of a SET's bits.
func (c *Column) appendLabels(dst []byte, mask uint64) ([]byte, error) {
	if mask>>len(c.Args) != 0 {
		return dst, fmt.Errorf("column %s: bits %#x of %d labels: %w", c.Name, mask, len(c.Args), column.ErrValue)
	}
	start := len(dst)
	for i, label := range c.Args {
		if mask>>i&1 == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, label...)
	}
	return dst, nil
}
