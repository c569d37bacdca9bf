//go:build stack

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// valueTypes are the column types of the randomised value test.
var valueTypes = buildValueTypes()

func buildValueTypes() []valueType {
	var all []valueType
	for _, w := range []struct {
		name string
		bits int
	}{{"TINYINT", 8}, {"SMALLINT", 16}, {"MEDIUMINT", 24}, {"INT", 32}, {"BIGINT", 64}} {
		all = append(all,
			valueType{ddl: w.name, sel: "%s", value: signed(w.bits)},
			valueType{ddl: w.name + " UNSIGNED", sel: "%s", value: unsigned(w.bits), direct: unsignedOf(w.bits)})
	}
	for _, ps := range [][2]int{{1, 0}, {5, 2}, {10, 0}, {10, 2}, {9, 9}, {18, 9}, {20, 10}, {39, 11}, {65, 30}, {38, 0}} {
		all = append(all, valueType{ddl: fmt.Sprintf("DECIMAL(%d,%d)", ps[0], ps[1]), sel: "%s", value: decimal(ps[0], ps[1])})
	}
	all = append(all,
		valueType{ddl: "FLOAT", sel: "CAST(%s AS DOUBLE)", value: float32Literal, equal: parsedFloats(32), direct: floatDecoded(32)},
		valueType{ddl: "DOUBLE", sel: "%s", value: float64Literal, equal: parsedFloats(64), direct: floatDecoded(64)},
		valueType{ddl: "YEAR", sel: "%s", value: func(r *rand.Rand) string { return fmt.Sprint([]int{0, 1901, 2155, 1970 + r.IntN(100)}[r.IntN(4)]) }, direct: yearDecoded},
		valueType{ddl: "DATE", sel: "%s", value: func(r *rand.Rand) string { return "'" + randomDate(r) + "'" }},
		valueType{ddl: "ENUM('a','b','it''s','d,e')", sel: "%s + 0", value: func(r *rand.Rand) string { return fmt.Sprint(1 + r.IntN(4)) }},
		valueType{ddl: "SET('x','y','z','w')", sel: "%s + 0", value: func(r *rand.Rand) string { return fmt.Sprint(r.IntN(16)) }},
		valueType{ddl: "BINARY(8)", sel: "HEX(TRIM(TRAILING '\\0' FROM %s))", value: binary(8), equal: sameHex, direct: notComparable},
		valueType{ddl: "VARBINARY(300)", sel: "HEX(%s)", value: binary(300), equal: sameHex, direct: notComparable},
		valueType{ddl: "BLOB", sel: "HEX(%s)", value: binary(2000), equal: sameHex, direct: notComparable},
		valueType{ddl: "POINT", sel: "HEX(%s)", value: func(r *rand.Rand) string { return fmt.Sprintf("POINT(%d, %f)", r.IntN(100), r.Float64()) }, equal: sameHex, direct: notComparable},
		valueType{ddl: "JSON", sel: "%s", value: jsonLiteral, equal: sameJSON, direct: notComparable},
	)
	for _, n := range []int{1, 7, 9, 33, 64} {
		all = append(all, valueType{ddl: fmt.Sprintf("BIT(%d)", n), sel: "%s + 0", value: bits(n), direct: unsignedOf(64)})
	}
	for f := range 7 {
		all = append(all,
			valueType{ddl: fmt.Sprintf("TIME(%d)", f), sel: "%s", value: timeLiteral, direct: zeroFraction},
			valueType{ddl: fmt.Sprintf("DATETIME(%d)", f), sel: "%s", value: func(r *rand.Rand) string {
				return fmt.Sprintf("'%s %02d:%02d:%02d.%06d'", randomDate(r), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6))
			}},
			valueType{ddl: fmt.Sprintf("TIMESTAMP(%d)", f), sel: "%s", value: func(r *rand.Rand) string {
				return fmt.Sprintf("FROM_UNIXTIME(%d.%06d)", 1+r.Int64N(math.MaxInt32-2), r.IntN(999_999))
			}})
	}
	for _, charset := range []string{"utf8mb4", "latin1", "gbk", "utf16", "utf32", "ucs2", "sjis", "big5", "cp1251", "euckr", "latin2", "ascii", "utf8mb3"} {
		for _, kind := range []string{"CHAR(20)", "VARCHAR(300)", "TEXT"} {
			all = append(all, valueType{ddl: kind + " CHARACTER SET " + charset, sel: "CONVERT(%s USING utf8mb4)", value: text(charset, kind), direct: notComparable})
		}
	}
	return all
}

func yearDecoded(mine string, decoded any) (bool, bool) {
	return mine == fmt.Sprintf("%04v", decoded), true
}

func signed(bits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		lowest := int64(-1) << (bits - 1)
		switch r.IntN(5) {
		case 0:
			return fmt.Sprint(lowest)
		case 1:
			return fmt.Sprint(-(lowest + 1))
		default:
			return fmt.Sprint(int64(r.Uint64()) >> (64 - bits) >> r.IntN(bits))
		}
	}
}

func unsigned(bits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		if r.IntN(5) == 0 {
			return fmt.Sprint(uint64(math.MaxUint64) >> (64 - bits))
		}
		return fmt.Sprint(r.Uint64() >> (64 - bits) >> r.IntN(bits))
	}
}

func decimal(precision, scale int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		digits := func(n int) string {
			b := make([]byte, n)
			zeros := r.IntN(3) == 0
			for i := range b {
				b[i] = '0' + byte(r.IntN(10))
				if zeros {
					b[i] = '0'
				}
			}
			return string(b)
		}
		text := []string{"", "-"}[r.IntN(2)] + "0" + digits(r.IntN(precision-scale+1))
		if scale > 0 {
			text += "." + digits(scale)
		}
		return text
	}
}

func float32Literal(r *rand.Rand) string {
	f := math.Float32frombits(r.Uint32())
	if f != f || math.IsInf(float64(f), 0) || r.IntN(3) == 0 {
		return strconv.Itoa(r.IntN(100000)) + ".5"
	}
	return strconv.FormatFloat(float64(f), 'e', 9, 32)
}

func float64Literal(r *rand.Rand) string {
	f := math.Float64frombits(r.Uint64())
	if f != f || math.IsInf(f, 0) || math.Abs(f) < 1e-300 || r.IntN(3) == 0 {
		return fmt.Sprint(float64(r.IntN(1_000_000)) / 64)
	}
	return strconv.FormatFloat(f, 'e', 17, 64)
}

func randomDate(r *rand.Rand) string {
	if r.IntN(8) == 0 {
		return "0000-00-00"
	}
	return fmt.Sprintf("%04d-%02d-%02d", 1000+r.IntN(9000), 1+r.IntN(12), 1+r.IntN(28))
}

func timeLiteral(r *rand.Rand) string {
	return fmt.Sprintf("'%s%d:%02d:%02d.%06d'", []string{"", "-"}[r.IntN(2)], r.IntN(838), r.IntN(60), r.IntN(60), r.IntN(3)*r.IntN(500_000)/2)
}

func bits(n int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(r.Uint64() >> (64 - n)) }
}

func binary(limit int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		b := make([]byte, r.IntN(limit+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return fmt.Sprintf("X'%x'", b)
	}
}

// text makes random text of the characters that a character set has, with those that JSON escapes.
func text(charset, kind string) func(*rand.Rand) string {
	alphabet := []rune(`abcXYZ019 "\/` + "\n\t\r\b\f\x01\x1f\x7f<>&")
	alphabet = append(alphabet, map[string][]rune{
		"utf8mb4": []rune("éß中文日本😀\u2028\u00a0"), "utf8mb3": []rune("éß中文"), "utf16": []rune("é中😀"), "utf32": []rune("é中😀"),
		"ucs2": []rune("é中文"), "latin1": []rune("éßÿ€ñ"), "latin2": []rune("ąčéž"), "gbk": []rune("中文你好"), "big5": []rune("中文你好"),
		"sjis": []rune("日本カタ"), "euckr": []rune("한국어"), "cp1251": []rune("Привет"),
	}[charset]...)
	limit := map[string]int{"CHAR(20)": 20, "VARCHAR(300)": 300, "TEXT": 400}[kind]
	return func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(limit + 1) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		if kind == "CHAR(20)" {
			return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", strings.TrimRight(b.String(), " "))
		}
		return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", b.String())
	}
}

func jsonLiteral(r *rand.Rand) string {
	var value func(depth int) string
	value = func(depth int) string {
		switch r.IntN(9 - depth) {
		case 0:
			return fmt.Sprint(r.Int64N(1 << r.IntN(60)))
		case 1:
			return strconv.FormatFloat(float64(r.IntN(1_000_000))/128, 'f', -1, 64)
		case 2:
			return []string{"true", "false", "null"}[r.IntN(3)]
		case 3, 4:
			return strconv.Quote("t\"é" + strconv.Itoa(r.IntN(1000)))
		case 5:
			return "-" + fmt.Sprint(r.IntN(70000))
		case 6:
			items := make([]string, r.IntN(5))
			for i := range items {
				items[i] = value(depth + 1)
			}
			return "[" + strings.Join(items, ", ") + "]"
		default:
			items := make([]string, r.IntN(5))
			for i := range items {
				items[i] = fmt.Sprintf(`"k%d": %s`, i, value(depth+1))
			}
			return "{" + strings.Join(items, ", ") + "}"
		}
	}
	return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", value(0))
}
