package show

import (
	"math"
	"strconv"
	"strings"
)

// Binary are the types that a text type with the character set binary is.
var Binary = map[string]string{
	"char": "binary", "varchar": "varbinary", "tinytext": "tinyblob", "text": "blob", "mediumtext": "mediumblob", "longtext": "longblob",
}

// lengths are the sizes that a TEXT(n) or BLOB(n) chooses among.
var lengths = []struct {
	prefix string
	limit  uint64 // bytes
}{{"tiny", math.MaxUint8}, {"", math.MaxUint16}, {"medium", 1<<24 - 1}, {"long", math.MaxUint32}}

// widest is the number of bytes of a character where it is not one.
var widest = map[string]uint64{
	"utf8mb4": 4, "utf16": 4, "utf16le": 4, "utf32": 4, "gb18030": 4, "utf8mb3": 3, "ujis": 3, "eucjpms": 3,
	"ucs2": 2, "gbk": 2, "big5": 2, "sjis": 2, "cp932": 2, "gb2312": 2, "euckr": 2,
}

// Width is the number of bytes that a character of a character set may take.
func Width(charset string) uint64 { return max(widest[charset], 1) }

// stored is the type word under which the server keeps a type: TEXT(n) and
// BLOB(n) are the smallest that hold as many characters, and what is too long
// for a VARCHAR becomes one of them unless sql_mode is strict.
func stored(c Type) string {
	base, least := c.Base, uint64(1)
	switch c.Base {
	case "text", "blob":
	case "varchar":
		base, least = "text", math.MaxUint16+1
	case "varbinary":
		base, least = "blob", math.MaxUint16+1
	default:
		return c.Base
	}
	if n := number(c.Args) * Width(c.Charset); n >= least {
		return holding(base, n)
	}
	return c.Base
}

// number is the first argument of a type, 0 without one.
func number(args []string) uint64 {
	if len(args) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// holding is the smallest text or blob of n bytes.
func holding(base string, n uint64) string {
	for _, l := range lengths {
		if n <= l.limit {
			return l.prefix + base
		}
	}
	return "long" + base
}

// limit is the number of bytes of a text or blob, 0 of another type.
func limit(base string) uint64 {
	for _, l := range lengths {
		if base == l.prefix+"text" || base == l.prefix+"blob" {
			return l.limit
		}
	}
	return 0
}

// Converted is the type word of text behind a CONVERT TO CHARACTER SET: a TEXT
// must hold as many characters as before. If the same statement has changed the
// column's type, MySQL counts the characters of the old type for any TEXT or BLOB
// without a length, but for LONGTEXT and LONGBLOB.
func Converted(now, was Type, changed bool) string {
	base := stored(now)
	size, kind := limit(base), "text"
	if strings.HasSuffix(base, "blob") {
		kind = "blob"
	}
	switch {
	case size == 0, size == math.MaxUint32, changed && len(now.Args) > 0:
		return base
	case changed:
		return holding(kind, min(math.MaxUint32, characters(was)*Width(now.Charset)))
	}
	return holding(kind, size/Width(was.Charset)*Width(now.Charset))
}

// characters is MySQL's count of a type's characters. It divides the length of
// character strings, too, by the width of a character.
func characters(c Type) uint64 {
	n := number(c.Args)
	switch c.Base {
	case "char", "varchar", "binary", "varbinary":
		n = max(n, 1)
	case "bit":
		return max(n, 1)
	case "decimal":
		if n++; len(c.Args) > 1 && c.Args[1] != "0" {
			n++ // the point
		}
		return n
	case "enum":
		n = 0
		for _, l := range c.Args {
			n = max(n, uint64(len([]rune(l))))
		}
	case "set":
		n = uint64(len([]rune(strings.Join(c.Args, ","))))
	case "json", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		return math.MaxUint32
	default:
		n = limit(stored(c))
	}
	return n / Width(c.Charset)
}
