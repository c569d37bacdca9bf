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

// run is a run of codes that a server reads differently from x/text: code+i is
// the character first+i. Three-byte codes 8F xx yy stand without their 8F and
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
		if src[0] < utf8.RuneSelf {
			dst = append(dst, src[0])
			src = src[1:]
			continue
		}
		n := m.size(src)
		if n > len(src) {
			return append(dst, replacement...)
		}
		dst = slices.Grow(dst, 16)
		r := m.char(src[:n], dst[len(dst):cap(dst)])
		if r == utf8.RuneError && src[n-1] < utf8.RuneSelf {
			n = 1 // what follows may be a character of its own
		}
		dst = utf8.AppendRune(dst, r)
		src = src[n:]
	}
	return dst
}

// char is the character of a code, or U+FFFD. The scratch has room for one.
func (m *multi) char(code, scratch []byte) rune {
	if r := m.corrected(code); r != utf8.RuneError {
		return r
	}
	n, _, err := m.base.Transform(scratch, code, true)
	if r, size := utf8.DecodeRune(scratch[:n]); err == nil && size == n {
		return r
	}
	return utf8.RuneError
}

func (m *multi) corrected(code []byte) rune {
	var c uint16
	switch len(code) {
	case 2:
		c = uint16(code[0])<<8 | uint16(code[1])
	case 3:
		c = uint16(code[1]&0x7f)<<8 | uint16(code[2])
	default:
		return utf8.RuneError
	}
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].code > c }) - 1
	if i >= 0 && c-m.runs[i].code < m.runs[i].n {
		return rune(m.runs[i].first + c - m.runs[i].code)
	}
	return utf8.RuneError
}
