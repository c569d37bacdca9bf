package charset

import (
	"slices"
	"sort"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/transform"
)

// table is a character set of one byte a character.
type table [256]rune

// newTable takes the characters of the upper 128 codes, or of all 256.
func newTable(chars string) *table {
	t := new(table)
	i := 0
	if utf8.RuneCountInString(chars) == 128 {
		for ; i < 128; i++ {
			t[i] = rune(i)
		}
	}
	for _, r := range chars {
		t[i] = r
		i++
	}
	return t
}

func (t *table) append(dst, src []byte) []byte {
	for _, b := range src {
		dst = utf8.AppendRune(dst, t[b])
	}
	return dst
}

func (t *table) appendShown(dst, src []byte) []byte {
	for _, b := range src {
		if r := t[b]; r != utf8.RuneError {
			dst = utf8.AppendRune(dst, r)
		} else {
			dst = append(dst, '?')
		}
	}
	return dst
}

// appendASCII appends ASCII, with a question mark for any other byte.
func appendASCII(dst, src []byte) []byte {
	for _, b := range src {
		if b >= utf8.RuneSelf {
			b = '?'
		}
		dst = append(dst, b)
	}
	return dst
}

// run is a run of codes that a server reads differently from x/text: code+i is
// the character first+i, or none if first is 0. Three-byte codes 8F xx yy stand without their 8F and
// the top bit of xx.
type run struct{ code, n, first uint16 }

// multi is a character set of one to four bytes a character: x/text's table,
// corrected by the server's.
type multi struct {
	base transform.Transformer // holds no state
	size func(b []byte) int    // bytes of the character that begins here
	runs []run                 // by code
}

var multiByte = map[string]*multi{
	"big5":    {traditionalchinese.Big5.NewDecoder(), sizeTwo, big5Runs},
	"gbk":     {simplifiedchinese.GBK.NewDecoder(), sizeTwo, gbkRuns},
	"gb2312":  {simplifiedchinese.GBK.NewDecoder(), sizeTwo, gb2312Runs},
	"gb18030": {simplifiedchinese.GB18030.NewDecoder(), sizeGB18030, gb18030Runs},
	"euckr":   {korean.EUCKR.NewDecoder(), sizeTwo, euckrRuns},
	"sjis":    {japanese.ShiftJIS.NewDecoder(), sizeShiftJIS, sjisRuns},
	"cp932":   {japanese.ShiftJIS.NewDecoder(), sizeShiftJIS, cp932Runs},
	"ujis":    {japanese.EUCJP.NewDecoder(), sizeEUC, ujisRuns},
	"eucjpms": {japanese.EUCJP.NewDecoder(), sizeEUC, eucjpmsRuns},
}

func sizeTwo([]byte) int { return 2 }

func sizeShiftJIS(b []byte) int {
	if b[0] >= 0xa0 && b[0] <= 0xdf {
		return 1
	}
	return 2
}

func sizeEUC(b []byte) int {
	if b[0] == 0x8f {
		return 3
	}
	return 2
}

func sizeGB18030(b []byte) int {
	if len(b) > 1 && b[1] >= '0' && b[1] <= '9' {
		return 4
	}
	return 2
}

func (m *multi) append(dst, src []byte) []byte {
	for len(src) > 0 {
		dst = slices.Grow(dst, 16)
		r, n := m.next(src, dst[len(dst):cap(dst)])
		if r == none && n == 2 && src[1] < utf8.RuneSelf {
			n = 1 // what follows may be a character of its own
		}
		dst = utf8.AppendRune(dst, r) // U+FFFD for none
		src = src[n:]
	}
	return dst
}

func (m *multi) appendShown(dst, src []byte) []byte {
	for len(src) > 0 {
		dst = slices.Grow(dst, 16)
		r, n := m.next(src, dst[len(dst):cap(dst)])
		if r == none {
			r = '?'
			if n == 2 && src[1] < 0x40 { // the second byte of no set's code
				n = 1
			}
		}
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
	return dst
}

// none is the character of a code that has none, or is cut.
const none rune = -1

// next is the first character of src and its size in bytes. The scratch has room for one character.
func (m *multi) next(src, scratch []byte) (rune, int) {
	if src[0] < utf8.RuneSelf {
		return rune(src[0]), 1
	}
	n := m.size(src)
	if n > len(src) {
		return none, len(src)
	}
	return m.char(src[:n], scratch), n
}

// char is the character of a code. The scratch has room for one.
func (m *multi) char(code, scratch []byte) rune {
	if r, ok := m.corrected(code); ok {
		return r
	}
	n, _, err := m.base.Transform(scratch, code, true)
	if r, size := utf8.DecodeRune(scratch[:n]); err == nil && size == n && r != utf8.RuneError {
		return r
	}
	return none
}

// corrected is the server's character, where it is not that of x/text.
func (m *multi) corrected(code []byte) (rune, bool) {
	var c uint16
	switch len(code) {
	case 2:
		c = uint16(code[0])<<8 | uint16(code[1])
	case 3:
		c = uint16(code[1]&0x7f)<<8 | uint16(code[2])
	default:
		switch string(code) {
		case "\x81\x35\xf4\x37": // as the standard had it before 2005
			return 0xe7c7, true
		case "\x84\x31\xa4\x37": // not one that has none
			return utf8.RuneError, true
		}
		return none, false
	}
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].code > c }) - 1
	if i < 0 || c-m.runs[i].code >= m.runs[i].n {
		return none, false
	}
	if m.runs[i].first == 0 {
		return none, true
	}
	return rune(m.runs[i].first + c - m.runs[i].code), true
}
