package schema

import (
	"math"
	"strconv"
	"strings"
)

// server is a kind of server, as far as SHOW CREATE TABLE tells them apart.
type server struct {
	mariadb bool
	version uint32 // see ddl.Options
}

// widths says that integers show a display width: MySQL gave that up in 8.0.19,
// but for tinyint(1) and zerofill.
func (s server) widths() bool { return s.mariadb || s.version != 0 && s.version < 80019 }

// integers are the display widths that a server adds, signed and unsigned.
var integers = map[string][2]string{
	"tinyint": {"4", "3"}, "smallint": {"6", "5"}, "mediumint": {"9", "8"}, "int": {"11", "10"}, "bigint": {"20", "20"},
}

// lengths are the sizes that a TEXT(n) or BLOB(n) chooses among.
var lengths = []struct {
	prefix string
	limit  uint64 // bytes
}{{"tiny", math.MaxUint8}, {"", math.MaxUint16}, {"medium", 1<<24 - 1}, {"long", math.MaxUint64}}

// widest is the number of bytes of a character where it is not one.
var widest = map[string]uint64{
	"utf8mb4": 4, "utf16": 4, "utf16le": 4, "utf32": 4, "gb18030": 4, "utf8mb3": 3, "ujis": 3, "eucjpms": 3,
	"ucs2": 2, "gbk": 2, "big5": 2, "sjis": 2, "cp932": 2, "gb2312": 2, "euckr": 2,
}

// normal is the type of a column as SHOW CREATE TABLE prints it. It takes a
// column as written and does not change what such a server has printed.
func (s server) normal(c *Column) string {
	zerofill := strings.HasSuffix(c.Type, " zerofill")
	out := c.Base + s.arguments(c, zerofill)
	switch {
	case (c.Base == "text" || c.Base == "blob") && len(c.Args) == 1:
		out = sized(c)
	case c.Base == "geometrycollection" && !s.mariadb && (s.version == 0 || s.version >= 80000):
		out = "geomcollection"
	}
	if c.Unsigned {
		out += " unsigned"
	}
	if zerofill {
		out += " zerofill"
	}
	return out
}

// arguments is what stands in brackets.
func (s server) arguments(c *Column, zerofill bool) string {
	first := ""
	if len(c.Args) > 0 {
		first = c.Args[0]
	}
	switch c.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return s.width(c, first, zerofill)
	case "decimal":
		precision, scale := "10", "0"
		if first != "" && first != "0" {
			precision = first
		}
		if len(c.Args) > 1 {
			scale = c.Args[1]
		}
		return "(" + precision + "," + scale + ")"
	case "float", "double":
		if len(c.Args) < 2 {
			return "" // float(p) only chooses between the two
		}
	case "char", "binary", "bit":
		if first == "" {
			first = "1"
		}
		return "(" + first + ")"
	case "vector":
		if first == "" && !s.mariadb {
			first = "2048"
		}
		return "(" + first + ")"
	case "year":
		if s.widths() {
			return "(4)"
		}
		return ""
	case "enum", "set":
		_, labels, _ := strings.Cut(c.Type, "(")
		return "(" + labels
	}
	if first == "" || first == "0" && (c.Base == "time" || c.Base == "datetime" || c.Base == "timestamp") {
		return ""
	}
	return "(" + strings.Join(c.Args, ",") + ")"
}

// width is the display width of an integer, if it shows one.
func (s server) width(c *Column, given string, zerofill bool) string {
	boolean := strings.HasPrefix(strings.ToLower(c.Type), "bool")
	if boolean {
		given = "1"
	}
	if !s.widths() && !zerofill && (c.Base != "tinyint" || given != "1" || c.Unsigned) {
		return ""
	}
	if given == "" || given == "0" {
		given = integers[c.Base][0]
		if c.Unsigned {
			given = integers[c.Base][1]
		}
	}
	return "(" + given + ")"
}

// sized is the smallest text or blob that holds as many characters as asked for.
func sized(c *Column) string {
	n, err := strconv.ParseUint(c.Args[0], 10, 32)
	if err != nil || n == 0 {
		return c.Base
	}
	return holding(c.Base, n*width(c.Charset))
}

// holding is the smallest text or blob of n bytes.
func holding(base string, n uint64) string {
	for _, l := range lengths {
		if n <= l.limit {
			return l.prefix + base
		}
	}
	return base
}

func width(charset string) uint64 { return max(widest[charset], 1) }

// widen is the type of a text after its conversion from another character set:
// it must hold as many characters as before.
func widen(c *Column, from string) {
	for _, l := range lengths {
		if c.Type == l.prefix+"text" && l.limit < math.MaxUint64 {
			c.Type = holding("text", l.limit/width(from)*width(c.Charset))
			return
		}
	}
}
