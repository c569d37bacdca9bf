package tablemap

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-mysql-org/go-mysql/mysql"
)

// Resolve takes the real type out of STRING's metadata: its first byte is the
// type, of which two bits are lent to lengths from 256 to 1023 (MySQL bug
// 37426). The length is left as the metadata.
func Resolve(wire byte, meta uint16) (byte, uint16) {
	if wire != mysql.MYSQL_TYPE_STRING || meta < 256 {
		return wire, meta
	}
	first, second := byte(meta>>8), meta&0xff
	if first&0x30 != 0x30 {
		return first | 0x30, second | uint16(first&0x30^0x30)<<4
	}
	return first, second
}

// Base is the type word of a binlog type, for text types that of bytes.
func Base(wire byte, meta uint16) string {
	name := Name(wire, meta)
	if i := strings.IndexByte(name, '('); i >= 0 {
		name = name[:i]
	}
	return name
}

// Name is a binlog type as an SQL type, for errors.
func Name(wire byte, meta uint16) string {
	switch wire {
	case mysql.MYSQL_TYPE_NEWDECIMAL:
		return fmt.Sprintf("decimal(%d,%d)", meta>>8, meta&0xff)
	case mysql.MYSQL_TYPE_BLOB:
		if meta >= 1 && meta <= 4 {
			return [...]string{"tinyblob", "blob", "mediumblob", "longblob"}[meta-1]
		}
	case mysql.MYSQL_TYPE_STRING:
		return fmt.Sprintf("char(%d)", meta)
	case mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING:
		return fmt.Sprintf("varchar(%d)", meta)
	}
	if name, ok := wireNames[wire]; ok {
		return name
	}
	return "binlog type " + strconv.Itoa(int(wire))
}

var wireNames = map[byte]string{
	mysql.MYSQL_TYPE_TINY: "tinyint", mysql.MYSQL_TYPE_SHORT: "smallint", mysql.MYSQL_TYPE_INT24: "mediumint", mysql.MYSQL_TYPE_LONG: "int",
	mysql.MYSQL_TYPE_LONGLONG: "bigint", mysql.MYSQL_TYPE_FLOAT: "float", mysql.MYSQL_TYPE_DOUBLE: "double", mysql.MYSQL_TYPE_YEAR: "year",
	mysql.MYSQL_TYPE_DATE: "date", mysql.MYSQL_TYPE_NEWDATE: "date", mysql.MYSQL_TYPE_TIME: "time", mysql.MYSQL_TYPE_TIME2: "time",
	mysql.MYSQL_TYPE_DATETIME: "datetime", mysql.MYSQL_TYPE_DATETIME2: "datetime", mysql.MYSQL_TYPE_TIMESTAMP: "timestamp",
	mysql.MYSQL_TYPE_TIMESTAMP2: "timestamp", mysql.MYSQL_TYPE_BIT: "bit", mysql.MYSQL_TYPE_ENUM: "enum", mysql.MYSQL_TYPE_SET: "set",
	mysql.MYSQL_TYPE_JSON: "json", mysql.MYSQL_TYPE_GEOMETRY: "geometry", mysql.MYSQL_TYPE_VECTOR: "vector",
}
