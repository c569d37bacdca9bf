package words

import "strings"

// bases maps the words of a type, lower case and joined by blanks, to the type
// that the server stores. Words that are not here stand for themselves.
var bases = map[string]string{
	"integer": "int", "int4": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint", "int8": "bigint",
	"bool": "tinyint", "boolean": "tinyint", "serial": "bigint",
	"dec": "decimal", "numeric": "decimal", "fixed": "decimal", "number": "decimal",
	"float4": "float", "float8": "double", "real": "double", "double precision": "double",
	"character": "char", "nchar": "char", "national char": "char", "national character": "char",
	"varcharacter": "varchar", "char varying": "varchar", "character varying": "varchar", "nvarchar": "varchar", "nchar varchar": "varchar",
	"nchar varying": "varchar", "national varchar": "varchar", "national varcharacter": "varchar", "national char varying": "varchar",
	"national character varying": "varchar", "varchar2": "varchar",
	"long": "mediumtext", "long varchar": "mediumtext", "long varcharacter": "mediumtext", "long char varying": "mediumtext",
	"long character varying": "mediumtext", "long varbinary": "mediumblob", "clob": "longtext", "raw": "varbinary",
	"geomcollection": "geometrycollection",
}

// following lists, for the first word of a type, the words that may continue it.
var following = map[string][]string{
	"double": {"PRECISION"}, "char": {"VARYING"}, "character": {"VARYING"}, "nchar": {"VARYING", "VARCHAR"},
	"long":     {"VARCHAR", "VARCHARACTER", "VARBINARY", "CHAR", "CHARACTER", "VARYING"},
	"national": {"CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER", "VARYING"},
}

// Base is the type that the server stores for the words of a type, joined by
// blanks.
func Base(typed string) string {
	typed = strings.ToLower(typed)
	if b, ok := bases[typed]; ok {
		return b
	}
	return typed
}

// Following lists the words, upper case, that may continue a type that begins
// with a word.
func Following(first string) []string { return following[strings.ToLower(first)] }
