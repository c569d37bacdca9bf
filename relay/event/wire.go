package event

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"

	"github.com/canal-relay/canal-relay/relay/event/charset"
	"github.com/canal-relay/canal-relay/relay/event/column"
	"github.com/canal-relay/canal-relay/relay/event/tablemap"
	"github.com/canal-relay/canal-relay/relay/schema"
)

// kind is how the bytes of a value read.
type kind uint8

const (
	unknownKind kind = iota
	intKind
	uintKind // also the index of an ENUM
	setKind
	floatKind
	doubleKind
	decimalKind
	bitKind
	yearKind
	dateKind
	timeKind
	time2Kind
	datetimeKind
	datetime2Kind
	timestampKind
	timestamp2Kind
	hiresTimeKind // MariaDB's old format with a fraction
	hiresDatetimeKind
	hiresTimestampKind
	uuidKind
	inet4Kind
	inet6Kind
	vectorKind // up to here texts need no escaping in JSON
	binaryKind
	textKind
	jsonKind
)

// decide fixes how the column's values read, from its type and the collation
// that the table map gives, if any.
func (c *Column) decide(collation uint64, known bool) error {
	if known {
		s := charset.ByCollation(collation)
		if s == nil {
			return fmt.Errorf("collation %d: %w", collation, ErrUnsupported)
		}
		c.set = s
	} else {
		c.set = charset.ByName(c.Charset)
		if c.set == nil && c.Charset != "" {
			return fmt.Errorf("character set %s: %w", c.Charset, ErrUnsupported)
		}
	}
	c.kind, c.width = c.read()
	if c.kind == unknownKind {
		return fmt.Errorf("%s: %w", tablemap.Name(c.Wire, c.Meta), ErrUnsupported)
	}
	if c.kind == textKind || c.kind == binaryKind {
		if known && c.Wire != mysql.MYSQL_TYPE_GEOMETRY {
			c.Charset = c.set.Name()
		}
	}
	c.hash = c.canalKind()
	return nil
}

// read is the kind and width of the column's values.
func (c *Column) read() (kind, width) {
	n := int(c.Meta)
	switch c.Wire {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		if n < 256 {
			return c.text(), width{prefix: 1}
		}
		return c.text(), width{prefix: 2}
	case mysql.MYSQL_TYPE_BLOB:
		return within(n, 4, c.text()), prefixed(n)
	case mysql.MYSQL_TYPE_GEOMETRY:
		return within(n, 4, binaryKind), prefixed(n)
	case mysql.MYSQL_TYPE_JSON:
		return within(n, 4, jsonKind), prefixed(n)
	case mysql.MYSQL_TYPE_VECTOR:
		return within(n, 4, vectorKind), prefixed(n)
	case mysql.MYSQL_TYPE_ENUM:
		return within(n, 2, uintKind), fixed(n)
	case mysql.MYSQL_TYPE_SET:
		return within(n, 8, setKind), fixed(n)
	case mysql.MYSQL_TYPE_BIT:
		size := (n>>8*8 + n&0xff + 7) / 8
		return within(size, 8, bitKind), fixed(size)
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		size := column.DecimalSize(n>>8, n&0xff)
		return within(size, 32, decimalKind), fixed(size)
	}
	return c.readFixed(n)
}

// within is the kind if a size from the metadata is one that servers write.
func within(n, most int, k kind) kind {
	if n < 1 || n > most {
		return unknownKind
	}
	return k
}

// readFixed is read for numbers and times.
func (c *Column) readFixed(n int) (kind, width) {
	integer := intKind
	if c.Unsigned {
		integer = uintKind
	}
	fraction := column.FractionSize(n)
	switch c.Wire {
	case mysql.MYSQL_TYPE_TINY:
		return integer, fixed(1)
	case mysql.MYSQL_TYPE_SHORT:
		return integer, fixed(2)
	case mysql.MYSQL_TYPE_INT24:
		return integer, fixed(3)
	case mysql.MYSQL_TYPE_LONG:
		return integer, fixed(4)
	case mysql.MYSQL_TYPE_LONGLONG:
		return integer, fixed(8)
	case mysql.MYSQL_TYPE_FLOAT:
		return floatKind, fixed(4)
	case mysql.MYSQL_TYPE_DOUBLE:
		return doubleKind, fixed(8)
	case mysql.MYSQL_TYPE_YEAR:
		return yearKind, fixed(1)
	case mysql.MYSQL_TYPE_DATE, mysql.MYSQL_TYPE_NEWDATE:
		return dateKind, fixed(3)
	case mysql.MYSQL_TYPE_TIME, mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_TIMESTAMP:
		return c.oldTemporal()
	}
	if n > 6 {
		return unknownKind, width{}
	}
	switch c.Wire {
	case mysql.MYSQL_TYPE_TIME2:
		return time2Kind, fixed(3 + fraction)
	case mysql.MYSQL_TYPE_DATETIME2:
		return datetime2Kind, fixed(5 + fraction)
	case mysql.MYSQL_TYPE_TIMESTAMP2:
		return timestamp2Kind, fixed(4 + fraction)
	}
	return unknownKind, width{}
}

// oldTemporal is readFixed for the formats before MySQL 5.6. MariaDB's have
// fractions, and the table map does not tell how many digits
// (mysql56_temporal_format=OFF).
func (c *Column) oldTemporal() (kind, width) {
	if len(c.Args) > 0 {
		f, err := strconv.Atoi(c.Args[0])
		if err != nil || f < 0 || f > 6 {
			return unknownKind, width{}
		}
		c.fraction = f
	}
	whole := c.fraction == 0
	switch {
	case c.Wire == mysql.MYSQL_TYPE_TIME && whole:
		return timeKind, fixed(3)
	case c.Wire == mysql.MYSQL_TYPE_TIME:
		return hiresTimeKind, fixed(column.HiresTimeSize(c.fraction))
	case c.Wire == mysql.MYSQL_TYPE_DATETIME && whole:
		return datetimeKind, fixed(8)
	case c.Wire == mysql.MYSQL_TYPE_DATETIME:
		return hiresDatetimeKind, fixed(column.HiresDatetimeSize(c.fraction))
	case whole:
		return timestampKind, fixed(4)
	}
	return hiresTimestampKind, fixed(column.HiresTimestampSize(c.fraction))
}

// text is the kind of a character or byte string.
func (c *Column) text() kind {
	switch c.Base {
	case "uuid":
		return uuidKind
	case "inet4":
		return inet4Kind
	case "inet6":
		return inet6Kind
	}
	if c.set != nil {
		if c.set == charset.Binary {
			return binaryKind
		}
		return textKind
	}
	switch {
	case strings.HasSuffix(c.Base, "blob"), strings.HasSuffix(c.Base, "binary"):
		return binaryKind
	}
	return textKind
}

// canalKind is how Canal reads the column, for the partition hash: strings are
// binary if their type text says so, blobs are text if it is one of four words.
func (c *Column) canalKind() kind {
	t := strings.ToLower(c.Type)
	switch c.Wire {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		if strings.Contains(t, "binary") {
			return binaryKind
		}
		return textKind
	case mysql.MYSQL_TYPE_BLOB:
		switch t {
		case "tinytext", "text", "mediumtext", "longtext":
			return textKind
		}
		return binaryKind
	}
	return c.kind
}

// fits says whether a tracked type can have the table map's type. Lengths are
// compared only where they do not depend on character sets: a server turns a
// VARCHAR that is too long into a TEXT, and TEXT(n) into the smallest that holds it.
func fits(c *schema.Column, wire byte, meta uint16) bool {
	name := tablemap.Base(wire, meta)
	switch c.Base {
	case "float", "double", "real":
		return name == "float" || name == "double"
	case "char", "binary", "uuid", "inet4", "inet6":
		return name == "char" || name == "blob" && len(c.Args) > 0
	case "varchar", "varbinary":
		return name == "varchar" || wire == mysql.MYSQL_TYPE_BLOB
	case "json":
		return name == "json" || wire == mysql.MYSQL_TYPE_BLOB
	case "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob":
		return wire == mysql.MYSQL_TYPE_BLOB &&
			(len(c.Args) > 0 || name == strings.Replace(c.Base, "text", "blob", 1))
	case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection":
		return name == "geometry"
	case "bool", "boolean":
		return name == "tinyint"
	case "numeric", "dec", "fixed":
		return name == "decimal"
	}
	return name == c.Base
}
