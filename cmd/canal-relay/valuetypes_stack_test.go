//go:build stack

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// valueType is a column type with random values and the ways to compare three readings of one.
type valueType struct {
	ddl          string
	value        func(r *rand.Rand) string           // an SQL literal
	sel          string                              // what to SELECT, %s is the column
	equal        func(ours, selected string) bool    // whether other texts than the same are equal
	direct       func(ours string, decoded any) bool // compares with go-mysql's value; nil: its text is the same
	incomparable bool                                // go-mysql does not tell the value
	bytes        bool                                // no text: base64 in the style `mysql`
	kind         string                              // of text: the type without its character set
	charset      string
	limit        int // characters of text
}

// valueTypes are the columns of the randomised value test, the first two plain integers: those of all types that
// go-mysql decodes, and those that it does not.
func valueTypes(server string, zone *time.Location) (common, odd []valueType) {
	plain := []valueType{{ddl: "INT", sel: "%s"}, {ddl: "INT", sel: "%s"}}
	common = slices.Concat(plain, numberTypes(), temporalTypes(zone), binaryTypes(server), textTypes(server))
	if server == "mysql" {
		return common, append(plain, valueType{ddl: "VECTOR(5)", sel: "IF(LENGTH(%[1]s) = 0, '[]', VECTOR_TO_STRING(%[1]s))", value: vector})
	}
	address := func(bytes int, format string) func(*rand.Rand) string {
		return func(r *rand.Rand) string { return fmt.Sprintf(format, sparse(r, bytes)) }
	}
	old := temporalTypes(zone)[2:5] // without fractions: made with mysql56_temporal_format=OFF, they are stored as ever before
	for i := range old {
		old[i].ddl = strings.TrimSuffix(old[i].ddl, "(0)")
	}
	return common, append(append(plain, old...),
		compressed(valueType{ddl: "BLOB", sel: "HEX(%s)", value: randomBytes(2000), equal: sameHex, bytes: true}),
		compressed(valueType{ddl: "VARBINARY(300)", sel: "HEX(%s)", value: randomBytes(300), equal: sameHex, bytes: true}),
		compressed(textType("VARCHAR(300)", "utf8mb4", 300)), compressed(textType("TEXT", "gbk", 400)),
		valueType{ddl: "UUID", sel: "CAST(%s AS CHAR)", value: address(16, "CAST(X'%x' AS UUID)")},
		valueType{ddl: "INET4", sel: "CAST(%s AS CHAR)", value: address(4, "CAST(X'%x' AS INET4)")},
		valueType{ddl: "INET6", sel: "CAST(%s AS CHAR)", value: address(16, "CAST(X'%x' AS INET6)")})
}

// compressed is MariaDB's COMPRESSED column of a type.
func compressed(t valueType) valueType {
	kind, charset, _ := strings.Cut(t.ddl, " ")
	t.ddl = strings.TrimSuffix(kind+" COMPRESSED "+charset, " ")
	if t.kind != "" {
		t.kind = kind + " COMPRESSED"
	}
	return t
}

func numberTypes() (all []valueType) {
	for _, w := range []struct {
		name string
		bits int
	}{{"TINYINT", 8}, {"SMALLINT", 16}, {"MEDIUMINT", 24}, {"INT", 32}, {"BIGINT", 64}} {
		all = append(all,
			valueType{ddl: w.name, sel: "%s", value: signed(w.bits)},
			valueType{ddl: w.name + " UNSIGNED", sel: "%s", value: unsigned(w.bits), direct: unsignedOf(w.bits)},
			valueType{ddl: w.name + "(7) ZEROFILL", sel: "%s + 0", value: unsigned(w.bits), direct: unsignedOf(w.bits)})
	}
	for _, ps := range [][2]int{{1, 0}, {5, 2}, {2, 2}, {10, 0}, {10, 2}, {9, 9}, {18, 9}, {20, 10}, {30, 30}, {39, 11}, {65, 30}, {38, 0}} {
		all = append(all, valueType{ddl: fmt.Sprintf("DECIMAL(%d,%d)", ps[0], ps[1]), sel: "%s", value: decimal(ps[0], ps[1])})
	}
	for _, n := range []int{1, 7, 8, 9, 33, 64} {
		all = append(all, valueType{ddl: fmt.Sprintf("BIT(%d)", n), sel: "%s + 0", value: bits(n), direct: unsignedOf(64)})
	}
	float := valueType{sel: "CAST(%s AS DOUBLE)", value: float32Literal, equal: parsedFloats(32), direct: floatDecoded(32)}
	double := valueType{sel: "%s", value: float64Literal, equal: parsedFloats(64), direct: floatDecoded(64)}
	rounded := func(r *rand.Rand) string { return fmt.Sprintf("%.3f", r.Float64()*99_999-50_000) }
	for ddl, t := range map[string]valueType{"FLOAT": float, "FLOAT(9,2)": float, "DOUBLE": double, "DOUBLE(12,4)": double} {
		if t.ddl = ddl; strings.HasSuffix(ddl, ")") {
			t.value = rounded
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b valueType) int { return strings.Compare(a.ddl, b.ddl) }) // a seed has one meaning
	labels := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("'l%d'", i)
		}
		return strings.Join(list, ",")
	}
	upTo := func(n int) func(r *rand.Rand) string {
		return func(r *rand.Rand) string { return fmt.Sprint(1 + r.IntN(n)) }
	}
	return append(all,
		valueType{ddl: "ENUM('a','b','it''s','d,e')", sel: "%s + 0", value: upTo(4)},
		valueType{ddl: "ENUM(" + labels(300) + ")", sel: "%s + 0", value: upTo(300)},
		valueType{ddl: "SET('x','y','z','w')", sel: "%s + 0", value: bits(4)},
		valueType{ddl: "SET(" + labels(64) + ")", sel: "CAST(%s AS UNSIGNED)", value: bits(64), direct: unsignedOf(64)})
}

func temporalTypes(zone *time.Location) []valueType {
	year := func(r *rand.Rand) string { return fmt.Sprint([]int{0, 1901, 2155, 1970 + r.IntN(100)}[r.IntN(4)]) }
	all := []valueType{
		{ddl: "YEAR", sel: "CAST(%s AS CHAR)", value: year, direct: func(ours string, v any) bool { return ours == fmt.Sprintf("%04v", v) }},
		{ddl: "DATE", sel: "%s", value: func(r *rand.Rand) string { return "'" + randomDate(r) + "'" }}}
	for f := range 7 {
		all = append(all,
			valueType{ddl: fmt.Sprintf("TIME(%d)", f), sel: "%s", value: timeLiteral, direct: zeroFraction},
			valueType{ddl: fmt.Sprintf("DATETIME(%d)", f), sel: "%s", value: func(r *rand.Rand) string {
				return fmt.Sprintf("'%s %02d:%02d:%02d.%06d'", randomDate(r), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6))
			}},
			valueType{ddl: fmt.Sprintf("TIMESTAMP(%d)", f), sel: "UNIX_TIMESTAMP(%s)", value: timestamp(zone), equal: timestampIn(zone)})
	}
	return all
}

func binaryTypes(server string) []valueType {
	all := []valueType{
		{ddl: "BINARY(8)", sel: "HEX(TRIM(TRAILING '\\0' FROM %s))", value: randomBytes(8), equal: sameHex, direct: latin1Decoded, bytes: true},
		{ddl: "POINT", sel: "HEX(%s)", value: func(r *rand.Rand) string { return fmt.Sprintf("POINT(%d, %f)", r.IntN(100), r.Float64()) }, equal: sameHex, direct: latin1Decoded, bytes: true},
		{ddl: "GEOMETRY", sel: "HEX(%s)", value: geometry, equal: sameHex, direct: latin1Decoded, bytes: true},
	}
	for ddl, limit := range map[string]int{"VARBINARY(20)": 20, "VARBINARY(300)": 300, "TINYBLOB": 255, "BLOB": 2000, "MEDIUMBLOB": 70_000, "LONGBLOB": 500} {
		all = append(all, valueType{ddl: ddl, sel: "HEX(%s)", value: randomBytes(limit), equal: sameHex, direct: latin1Decoded, bytes: true})
	}
	slices.SortFunc(all, func(a, b valueType) int { return strings.Compare(a.ddl, b.ddl) })
	if server == "mariadb" { // LONGTEXT
		return append(all, valueType{ddl: "JSON", sel: "%s", value: jsonLiteral})
	}
	return append(all,
		valueType{ddl: "JSON", sel: "%s", value: jsonLiteral, equal: sameJSON, incomparable: true},
		valueType{ddl: "JSON", sel: "%s", value: opaqueLiteral, equal: sameJSON, incomparable: true})
}

func textTypes(server string) (all []valueType) {
	column := func(kind, charset string, limit int) { all = append(all, textType(kind, charset, limit)) }
	for _, charset := range []string{"utf8mb4", "latin1", "gbk", "utf16", "utf32", "ucs2", "sjis", "big5", "cp1251", "euckr", "latin2", "ascii", "utf8mb3"} {
		column("CHAR(20)", charset, 20)
		column("VARCHAR(300)", charset, 300)
		column("TEXT", charset, 400)
	}
	for _, charset := range []string{"cp932", "ujis", "eucjpms", "gb2312", "utf16le", "koi8r", "hebrew", "greek", "tis620", "latin5", "cp1250", "cp1256", "cp850",
		"armscii8", "cp1257", "cp852", "cp866", "dec8", "geostd8", "hp8", "keybcs2", "koi8u", "latin7", "macce", "macroman", "swe7"} {
		column("VARCHAR(40)", charset, 40)
	}
	if server == "mysql" {
		column("VARCHAR(40)", "gb18030", 40)
	}
	column("TINYTEXT", "utf8mb4", 60)
	column("MEDIUMTEXT", "utf8mb4", 30_000)
	column("LONGTEXT", "utf8mb4", 300)
	return all
}

func textType(kind, charset string, limit int) valueType {
	return valueType{ddl: kind + " CHARACTER SET " + charset, sel: "CONVERT(%s USING utf8mb4)", value: text(charset, limit), equal: sameCharacters,
		incomparable: !strings.HasPrefix(charset, "utf8"), kind: kind, charset: charset, limit: limit}
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

// timestamp makes times that a TIMESTAMP holds, many of them about a change of the zone's offset, and zero.
func timestamp(zone *time.Location) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		second := 1 + r.Int64N(math.MaxInt32-2)
		switch r.IntN(8) {
		case 0:
			return "'0000-00-00 00:00:00'"
		case 1, 2, 3:
			if _, change := time.Unix(second, 0).In(zone).ZoneBounds(); !change.IsZero() && change.Unix() < math.MaxInt32-10_000 {
				second = change.Unix() - 4_000 + r.Int64N(8_000)
			}
		}
		return fmt.Sprintf("FROM_UNIXTIME(%d.%06d)", second, r.IntN(999_999))
	}
}

func timeLiteral(r *rand.Rand) string {
	return fmt.Sprintf("'%s%d:%02d:%02d.%06d'", []string{"", "-"}[r.IntN(2)], r.IntN(838), r.IntN(60), r.IntN(60), r.IntN(3)*r.IntN(500_000)/2)
}

func bits(n int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprint(r.Uint64() >> (64 - n)) }
}

func randomBytes(limit int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		return fmt.Sprintf("X'%x'", sparse(r, r.IntN(limit+1)))
	}
}

// sparse are so many random bytes, of which some are zero.
func sparse(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	zeros := r.IntN(3)
	for i := range b {
		if r.IntN(3) >= zeros {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

func vector(r *rand.Rand) string {
	list := make([]string, 1+r.IntN(5))
	for i := range list {
		list[i] = fmt.Sprintf("%g", (r.Float32()-0.5)*float32(math.Pow10(r.IntN(60)-30)))
	}
	return "STRING_TO_VECTOR('[" + strings.Join(list, ",") + "]')"
}

func geometry(r *rand.Rand) string {
	n := func() string { return fmt.Sprintf("%.2f %d", r.Float64()*80, r.IntN(80)) }
	p := n()
	return "ST_GeomFromText('" + []string{
		"POINT(" + p + ")", "LINESTRING(" + p + "," + n() + ")", "POLYGON((" + p + "," + n() + "," + n() + "," + p + "))",
		"MULTIPOINT(" + p + "," + n() + ")", "GEOMETRYCOLLECTION(POINT(" + p + "),LINESTRING(" + n() + "," + n() + "))",
	}[r.IntN(5)] + "', " + []string{"0", "4326"}[r.IntN(2)] + ")"
}

// letters are characters of character sets that ASCII has not.
var letters = map[string][]rune{
	"utf8mb4": []rune("éß中文日本😀\u2028\u00a0"), "utf8mb3": []rune("éß中文"), "utf16": []rune("é中😀"), "utf32": []rune("é中😀"), "utf16le": []rune("é中😀"),
	"ucs2": []rune("é中文"), "latin1": []rune("éßÿ€ñ"), "latin2": []rune("ąčéž"), "gbk": []rune("中文你好"), "big5": []rune("中文你好"),
	"sjis": []rune("日本カタ"), "euckr": []rune("한국어"), "cp1251": []rune("Привет"), "cp932": []rune("日本カタ①"), "ujis": []rune("日本カタ"),
	"eucjpms": []rune("日本カタ①"), "gb2312": []rune("中文你好"), "koi8r": []rune("Привет"), "hebrew": []rune("שלום"), "greek": []rune("Ελλάδα"),
	"tis620": []rune("ไทย"), "latin5": []rune("ğşıÿ"), "cp1250": []rune("ąčéž€"), "cp1256": []rune("سلام€"), "cp850": []rune("éßñ½"), "gb18030": []rune("中文é😀"),
	"armscii8": []rune("Հայերեն"), "cp1257": []rune("ąčéž€"), "cp852": []rune("ąčéž"), "cp866": []rune("Привет"), "dec8": []rune("éßñŒ"), "geostd8": []rune("ქართ"),
	"hp8": []rune("éßñ"), "keybcs2": []rune("čéž"), "koi8u": []rune("єіПр"), "latin7": []rune("ąčéž"), "macce": []rune("ąčéž"), "macroman": []rune("éßñÿ"), "swe7": []rune("ÄÖÅ"),
}

// text makes random text of the characters that a character set has, with those that JSON escapes.
func text(charset string, limit int) func(*rand.Rand) string {
	alphabet := []rune(`abcXYZ019 "\/` + "\n\t\r\b\f\x00\x01\x1f\x7f<>&")
	if charset == "sjis" || charset == "cp932" { // where the backslash is another character too
		alphabet = []rune(`abcXYZ019 "/` + "\n\t\r\b\f\x00\x01\x1f<>&")
	}
	alphabet = append(alphabet, letters[charset]...)
	return func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(limit + 1) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", b.String())
	}
}

// opaqueLiteral makes a document of values that JSON has not.
func opaqueLiteral(r *rand.Rand) string {
	items := make([]string, 1+r.IntN(4))
	for i := range items {
		items[i] = []string{
			"CAST('" + randomDate(r) + "' AS DATE)", "CAST(" + timeLiteral(r) + " AS TIME(6))",
			fmt.Sprintf("CAST('%04d-01-02 03:04:05.%06d' AS DATETIME(6))", 1000+r.IntN(9000), r.IntN(1e6)),
			fmt.Sprintf("CAST(%s AS DECIMAL(20,10))", decimal(20, 10)(r)), fmt.Sprintf("CAST(X'%x' AS BINARY)", append(sparse(r, r.IntN(9)), 65)),
			"ST_GeomFromText('POINT(1 2)')", "1e300", "TRUE",
		}[r.IntN(8)]
	}
	return "JSON_ARRAY(" + strings.Join(items, ", ") + ")"
}

// jsonLiteral makes a document, one in twenty too large for the form with two-byte offsets.
func jsonLiteral(r *rand.Rand) string {
	var value func(depth int) string
	value = func(depth int) string {
		switch r.IntN(9 - depth) {
		case 0:
			return fmt.Sprint(r.Int64N(1 << r.IntN(60)))
		case 1:
			return strconv.FormatFloat(float64(r.IntN(1_000_000))/128, 'f', -1, 64)
		case 2:
			return []string{"true", "false", "null", "18446744073709551615", "-1e-7"}[r.IntN(5)]
		case 3, 4:
			return `"` + []string{`t\"é\u0000`, `\n\t\u0085\u2028`, `😀`, strings.Repeat("x", r.IntN(300))}[r.IntN(4)] + strconv.Itoa(r.IntN(1000)) + `"`
		case 5:
			return "-" + fmt.Sprint(r.IntN(70000))
		case 6:
			return "[" + strings.Join(times(r.IntN(5), func(int) string { return value(depth + 1) }), ", ") + "]"
		default:
			return "{" + strings.Join(times(r.IntN(5), func(i int) string { return fmt.Sprintf(`"k%d\u0000": %s`, i, value(depth+1)) }), ", ") + "}"
		}
	}
	text := value(0)
	if r.IntN(20) == 0 {
		text = `{"big": [` + strings.Join(times(3000, func(int) string { return value(4) }), ", ") + `]}`
	}
	return fmt.Sprintf("CONVERT(X'%x' USING utf8mb4)", text)
}

func times(n int, one func(i int) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}
