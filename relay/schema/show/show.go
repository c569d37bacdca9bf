package show

import "strings"

// Server is a kind of server, as far as SHOW CREATE TABLE tells them apart.
type Server struct {
	MariaDB bool
	Version uint32 // 80036 is 8.0.36; 0: not known, which counts as new
}

// Type is what is known of a column's type.
type Type struct {
	Base     string   // lower-case type word after synonyms
	Args     []string // arguments, without quotes
	Written  string   // the whole type as a statement writes it; empty when none does
	Unsigned bool
	Charset  string
}

// widths says that integers show a display width: MySQL gave that up in 8.0.19,
// but for tinyint(1) and zerofill.
func (s Server) widths() bool { return s.MariaDB || s.Version != 0 && s.Version < 80019 }

// integers are the display widths that a server adds, signed and unsigned.
var integers = map[string][2]string{
	"tinyint": {"4", "3"}, "smallint": {"6", "5"}, "mediumint": {"9", "8"}, "int": {"11", "10"}, "bigint": {"20", "20"},
}

// escapes are what a server writes for characters in labels.
var escapes = strings.NewReplacer(`\`, `\\`, "'", "''", "\x00", `\0`, "\n", `\n`, "\r", `\r`)

// Type is the type as SHOW CREATE TABLE prints it. What such a server has
// printed stays as it is.
func (s Server) Type(c Type) string {
	zerofill := strings.HasSuffix(c.Written, " zerofill")
	out := c.Base + s.arguments(c, zerofill)
	switch {
	case (c.Base == "text" || c.Base == "blob") && len(c.Args) == 1, stored(c) != c.Base:
		out = stored(c)
	case c.Base == "geometrycollection" && !s.MariaDB && (s.Version == 0 || s.Version >= 80000):
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
func (s Server) arguments(c Type, zerofill bool) string {
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
		if first == "" && c.Written == "" {
			return "" // it is not known
		}
		if first == "" && !s.MariaDB {
			first = "2048"
		}
		return "(" + first + ")"
	case "year":
		if s.widths() {
			return "(4)"
		}
		return ""
	case "enum", "set":
		if _, labels, ok := strings.Cut(c.Written, "("); ok {
			return "(" + labels
		}
		labels := make([]string, len(c.Args))
		for i, l := range c.Args {
			labels[i] = "'" + escapes.Replace(l) + "'"
		}
		return "(" + strings.Join(labels, ",") + ")"
	}
	if first == "" || first == "0" && (c.Base == "time" || c.Base == "datetime" || c.Base == "timestamp") {
		return ""
	}
	return "(" + strings.Join(c.Args, ",") + ")"
}

// width is the display width of an integer, if it shows one.
func (s Server) width(c Type, given string, zerofill bool) string {
	boolean := strings.HasPrefix(strings.ToLower(c.Written), "bool")
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
