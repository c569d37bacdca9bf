//go:build stack

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// written says how a value of an inserted row was chosen.
type written int

const (
	unwritten written = iota // left to the column's default
	writtenNull
	writtenSmallest
	writtenLargest
	writtenRandom
	writtens
)

func (w written) String() string {
	return []string{"default", "null", "smallest", "largest", "random"}[w]
}

// written is a literal of the type.
func (t *valueType) written(r *rand.Rand, w written) string {
	switch w {
	case unwritten:
		return "DEFAULT"
	case writtenNull:
		return "NULL"
	case writtenSmallest:
		return t.smallest()
	case writtenLargest:
		return t.largest()
	}
	return t.value(r)
}

// base is the type's name and what stands in brackets.
func (t *valueType) base() (name, arguments string) {
	name, arguments, _ = strings.Cut(t.ddl, "(")
	arguments, _, _ = strings.Cut(arguments, ")")
	return name, arguments
}

// integerBits are the widths of integers.
var integerBits = map[string]int{"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}

// smallest is the type's smallest or shortest value: of dates the one that is none.
func (t *valueType) smallest() string {
	name, arguments := t.base()
	word, _, _ := strings.Cut(name, " ")
	signed := !strings.Contains(t.ddl, "UNSIGNED") && !strings.Contains(t.ddl, "ZEROFILL")
	switch {
	case integerBits[word] > 0 && signed:
		return fmt.Sprint(int64(-1) << (integerBits[word] - 1))
	case word == "DECIMAL":
		return "-" + nines(arguments)
	case word == "FLOAT" && arguments == "":
		return "-3.40282347e38"
	case word == "DOUBLE" && arguments == "":
		return "-1.7976931348623157e308"
	case word == "FLOAT":
		return "-9999999.99"
	case word == "DOUBLE":
		return "-99999999.9999"
	case word == "DATE":
		return "'0000-00-00'"
	case word == "DATETIME", word == "TIMESTAMP":
		return "'0000-00-00 00:00:00'"
	case word == "TIME":
		return "'-838:59:59'"
	case t.kind != "", t.bytes && word != "POINT" && word != "GEOMETRY":
		return "''"
	case word == "POINT":
		return "POINT(-1.7976931348623157e308, 0)"
	case word == "GEOMETRY":
		return "ST_GeomFromText('POINT(0 0)')"
	case word == "JSON":
		return `'""'`
	case word == "VECTOR":
		return "STRING_TO_VECTOR('[-3.4e38]')"
	case addresses[word] > 0:
		return fmt.Sprintf("CAST(X'%s' AS %s)", strings.Repeat("00", addresses[word]), word)
	}
	return "0" // also of ENUM, where it stands for a value that is none, and of YEAR
}

// addresses are the bytes of MariaDB's types.
var addresses = map[string]int{"UUID": 16, "INET4": 4, "INET6": 16}

// largest is the type's largest or longest value, or one of many bytes.
func (t *valueType) largest() string {
	name, arguments := t.base()
	word, _, _ := strings.Cut(name, " ")
	switch {
	case integerBits[word] > 0:
		if strings.Contains(t.ddl, "UNSIGNED") || strings.Contains(t.ddl, "ZEROFILL") {
			return fmt.Sprint(^uint64(0) >> (64 - integerBits[word]))
		}
		return fmt.Sprint(^uint64(0) >> (65 - integerBits[word]))
	case word == "BIT":
		var n int
		_, _ = fmt.Sscan(arguments, &n)
		return fmt.Sprint(^uint64(0) >> (64 - n))
	case word == "YEAR":
		return "2155"
	case word == "ENUM":
		return fmt.Sprint(1 + strings.Count(strings.ReplaceAll(t.ddl, "d,e", ""), ","))
	case word == "SET":
		return fmt.Sprint(^uint64(0) >> (63 - strings.Count(t.ddl, ",")))
	case word == "DATE":
		return "'9999-12-31'"
	case word == "DATETIME":
		return "'9999-12-31 23:59:59" + fraction(arguments) + "'"
	case word == "TIMESTAMP":
		return "FROM_UNIXTIME(2147483647" + fraction(arguments) + ")"
	case word == "TIME":
		return "'838:59:58" + fraction(arguments) + "'"
	case t.kind != "":
		return fmt.Sprintf("REPEAT(CONVERT(X'%x' USING utf8mb4), %d)", widest(t.charset), t.limit)
	case word == "POINT":
		return "POINT(1.7976931348623157e308, -0.0)"
	case word == "GEOMETRY":
		return "ST_GeomFromText('LINESTRING(" + strings.Join(times(500, func(i int) string { return fmt.Sprint(i%80, " ", i%70) }), ",") + ")')"
	case t.bytes:
		return fmt.Sprintf("REPEAT(X'FF', %d)", map[string]int{
			"BINARY": 8, "VARBINARY": 300, "TINYBLOB": 255, "BLOB": 65535, "MEDIUMBLOB": 70_000, "LONGBLOB": 70_000}[word]*shorter(t.ddl)/300)
	case word == "JSON":
		return `CONCAT('["', REPEAT('é', 70000), '"', REPEAT(', {"k": 18446744073709551615}', 500), ']')`
	case word == "VECTOR":
		return "STRING_TO_VECTOR('[3.4e38,3.4e38,3.4e38,3.4e38,3.4e38]')"
	case addresses[word] > 0:
		return fmt.Sprintf("CAST(X'%s' AS %s)", strings.Repeat("ff", addresses[word]), word)
	}
	return strings.TrimPrefix(t.smallest(), "-") // DECIMAL, FLOAT, DOUBLE
}

// shorter is 300 but for VARBINARY(20).
func shorter(ddl string) int {
	if ddl == "VARBINARY(20)" {
		return 20
	}
	return 300
}

// fraction is the largest of so many digits.
func fraction(digits string) string {
	if digits == "" || digits == "0" {
		return ""
	}
	return "." + strings.Repeat("9", int(digits[0]-'0'))
}

// nines is the largest decimal of a precision and scale.
func nines(arguments string) string {
	var precision, scale int
	_, _ = fmt.Sscanf(arguments, "%d,%d", &precision, &scale)
	text := "0" + strings.Repeat("9", precision-scale)
	if scale > 0 {
		text += "." + strings.Repeat("9", scale)
	}
	return text
}

// widest is a character of a set with the most bytes that the test knows.
func widest(charset string) string {
	list := letters[charset]
	if len(list) == 0 {
		return "z"
	}
	best := list[0]
	for _, c := range list {
		if len(string(c)) > len(string(best)) {
			best = c
		}
	}
	return string(best)
}
