package charset

import "strings"

// Set is a character set. Sets are immutable; one name has one Set.
type Set struct {
	name   string
	utf8   bool
	decode func(dst, src []byte) []byte
	shown  func(dst, src []byte) []byte // where it differs from decode
}

// Name is the server's name of the set: utf8mb4, latin1, binary.
func (s *Set) Name() string { return s.name }

// UTF8 says that well-formed bytes of the set are their own UTF-8 text.
func (s *Set) UTF8() bool { return s.utf8 }

// Append appends src as UTF-8. What is no character of the set becomes U+FFFD,
// as in Java; of a code without a character whose last byte is ASCII, that byte
// stays, as in Java too.
func (s *Set) Append(dst, src []byte) []byte { return s.decode(dst, src) }

// AppendShown appends src as a server shows it to a utf8mb4 client: a code that
// has no character becomes one question mark. What the server would send
// without conversion, and that is not UTF-8, becomes U+FFFD.
func (s *Set) AppendShown(dst, src []byte) []byte {
	if s.shown != nil {
		return s.shown(dst, src)
	}
	return s.decode(dst, src)
}

// UTF8MB4 is the set of text that nothing else is known of.
var UTF8MB4 = &Set{name: "utf8mb4", utf8: true, decode: appendUTF8}

// Binary carries bytes as code points of the same number.
var Binary = &Set{name: "binary", decode: appendLatin1}

var sets = func() map[string]*Set {
	m := map[string]*Set{
		"utf8mb4": UTF8MB4,
		"utf8mb3": {name: "utf8mb3", utf8: true, decode: appendUTF8},
		"ascii":   {name: "ascii", utf8: true, decode: appendUTF8, shown: appendASCII},
		"binary":  Binary,
		"utf16":   {name: "utf16", decode: appendUTF16},
		"ucs2":    {name: "ucs2", decode: appendUTF16},
		"utf16le": {name: "utf16le", decode: appendUTF16LE},
		"utf32":   {name: "utf32", decode: appendUTF32},
	}
	for name, high := range singleByte {
		t := newTable(high)
		m[name] = &Set{name: name, decode: t.append}
		if name != "tis620" { // where servers show U+FFFD, too
			m[name].shown = t.appendShown
		}
	}
	for name, e := range multiByte {
		m[name] = &Set{name: name, decode: e.append, shown: e.appendShown}
	}
	return m
}()

// aliases are names that Java or older servers use, without their dashes and
// underlines.
var aliases = map[string]string{
	"utf8": "utf8mb4", "utf8mb4": "utf8mb4", "iso88591": "binary", "windows1252": "latin1", "cp1252": "latin1", "usascii": "ascii",
	"utf16be": "utf16", "utf32be": "utf32", "iso88592": "latin2", "iso88597": "greek", "iso88598": "hebrew", "iso88599": "latin5",
	"iso885913": "latin7", "windows1250": "cp1250", "windows1251": "cp1251", "windows1256": "cp1256", "windows1257": "cp1257",
	"ibm850": "cp850", "ibm852": "cp852", "ibm866": "cp866", "shiftjis": "sjis", "windows31j": "cp932", "ms932": "cp932",
	"eucjp": "ujis", "ms936": "gbk", "euccn": "gb2312", "koi8r": "koi8r", "koi8u": "koi8u",
}

// ByName finds a set by the server's name or, for connectionCharset, by Java's.
// It is nil for a name that is neither.
func ByName(name string) *Set {
	lower := strings.ToLower(name)
	if s := sets[lower]; s != nil {
		return s
	}
	return sets[aliases[strings.NewReplacer("-", "", "_", "").Replace(lower)]]
}

// low are the sets of the collations 0 to 99, the same on both servers.
var low = strings.Split("- big5 latin2 dec8 cp850 latin1 hp8 koi8r latin1 latin2 swe7 ascii ujis sjis cp1251 latin1 hebrew - tis620 euckr "+
	"latin7 latin2 koi8u cp1251 gb2312 greek cp1250 latin2 gbk cp1257 latin5 latin1 armscii8 utf8mb3 cp1250 ucs2 cp866 keybcs2 macce macroman "+
	"cp852 latin7 latin7 macce cp1250 utf8mb4 utf8mb4 latin1 latin1 latin1 cp1251 cp1251 cp1251 macroman utf16 utf16 utf16le cp1256 cp1257 cp1257 "+
	"utf32 utf32 utf16le binary armscii8 ascii cp1250 cp1256 cp866 dec8 greek hebrew hp8 keybcs2 koi8r koi8u utf8mb3 latin2 latin5 latin7 "+
	"cp850 cp852 swe7 utf8mb3 big5 euckr gb2312 gbk sjis tis620 ucs2 ujis geostd8 geostd8 latin1 cp932 cp932 eucjpms eucjpms cp1250", " ")

// ranges are the sets of the collations from 100 to 1023.
var ranges = []struct {
	first, last uint64
	name        string
}{
	{101, 124, "utf16"}, {128, 151, "ucs2"}, {159, 159, "ucs2"}, {160, 183, "utf32"}, {192, 223, "utf8mb3"}, {224, 247, "utf8mb4"},
	{248, 250, "gb18030"}, {255, 323, "utf8mb4"}, {576, 578, "utf8mb3"}, {608, 610, "utf8mb4"}, {640, 642, "ucs2"}, {672, 674, "utf16"},
	{736, 738, "utf32"},
}

// ByCollation finds the set of a collation by its number in MySQL 9 or MariaDB
// 10.11: the first thousand, MariaDB's NO PAD twins 1,024 above them, and its
// uca1400 collations, 256 a set from 2,048 on. It is nil for any other number.
func ByCollation(id uint64) *Set {
	if id >= 2048 {
		if i := (id - 2048) / 256; i < 5 {
			return sets[[...]string{"utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"}[i]]
		}
		return nil
	}
	id %= 1024
	if id < uint64(len(low)) {
		return sets[low[id]]
	}
	for _, r := range ranges {
		if r.first <= id && id <= r.last {
			return sets[r.name]
		}
	}
	return nil
}
