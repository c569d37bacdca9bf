package event

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"

	"github.com/canal-relay/canal-relay/relay/schema"
)

// anyTable makes a table that fits a table map, whatever its columns are called.
func anyTable(m *replication.TableMapEvent) *schema.Table {
	t := &schema.Table{Schema: string(m.Schema), Name: string(m.Table)}
	unsigned := m.UnsignedMap()
	for i := range m.ColumnType {
		c := schema.Column{Name: fmt.Sprint("c", i), Unsigned: unsigned[i]}
		if names := m.ColumnNameString(); names != nil {
			c.Name = names[i]
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// TestRowsAgainstGoMySQL decodes the golden binlogs twice.
func TestRowsAgainstGoMySQL(t *testing.T) {
	files, _ := filepath.Glob("testdata/golden/*/*.binlog")
	rows, values := 0, 0
	var it RowIter
	for _, file := range files {
		if strings.Contains(file, "40-partial") || strings.Contains(file, "49-mariadb") {
			continue
		}
		for _, e := range rowEvents(t, file, true) {
			l, err := NewLayout(anyTable(e.event.Table), e.event.Table)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if err := e.change(l).Locate(&it); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			images := make([][]Field, 0, it.Len())
			for i := range it.Len() {
				if e.kind == Update {
					images = append(images, it.Old(i))
				} else if it.Old(i) != nil {
					t.Errorf("%s: an old image of a %s", file, e.kind)
				}
				images = append(images, it.Row(i))
			}
			if len(images) != len(e.event.Rows) {
				t.Fatalf("%s: %d images, want %d", file, len(images), len(e.event.Rows))
			}
			rows += len(images)
			for i, fields := range images {
				for col, f := range fields {
					skipped := slices.Contains(e.event.SkippedColumns[i], col)
					want := e.event.Rows[i][col]
					if f.Present() == skipped || f.Present() && f.Null() != (want == nil) {
						t.Fatalf("%s: present %v NULL %v, want %v", file, f.Present(), f.Null(), want)
					}
					if f.Present() && !f.Null() {
						values++
						compareValue(t, file, &l.Columns[col], it.Bytes(f), want)
					}
				}
			}
		}
	}
	t.Logf("%d images, %d values", rows, values)
	if values < 5000 {
		t.Errorf("only %d values compared", values)
	}
}

// compareValue compares our text with go-mysql's value, where it has one that
// is comparable: it decodes no character sets, has its own JSON, drops zero
// fractions of TIME and misreads old negative TIMEs.
func compareValue(t *testing.T, file string, col *Column, raw []byte, want any) {
	t.Helper()
	got, err := AppendText(nil, col, raw, Style{})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	g := string(got)
	var w string
	switch v := want.(type) {
	case float32:
		f, err := strconv.ParseFloat(g, 32)
		if err != nil || math.Float32bits(float32(f)) != math.Float32bits(v) {
			t.Errorf("%s: float %s, want %v", file, g, v)
		}
		return
	case float64:
		f, err := strconv.ParseFloat(g, 64)
		if err != nil || math.Float64bits(f) != math.Float64bits(v) {
			t.Errorf("%s: double %s, want %v", file, g, v)
		}
		return
	case int64:
		w = fmt.Sprint(v)
		if col.kind == setKind || col.kind == bitKind {
			w = fmt.Sprint(uint64(v))
		}
	case []byte:
		if col.kind == vectorKind {
			return
		}
		g, w = string(raw), string(v)
	case string:
		w = v
		switch {
		case col.kind == textKind || col.kind == binaryKind:
			g = string(raw)
		case col.kind == jsonKind || col.kind == timeKind:
			return
		case col.kind == time2Kind && col.Meta > 0 && !strings.Contains(w, "."):
			w += "." + strings.Repeat("0", int(col.Meta))
		}
	default:
		w = fmt.Sprint(v)
		if col.kind == yearKind && w == "0" {
			w = "0000"
		}
	}
	if g != w {
		t.Errorf("%s: %s %d/%d is %q, want %q", file, col.Name, col.Wire, col.Meta, g, w)
	}
}

// wide is a layout with every kind of width, for broken images.
func wide(t testing.TB) *Layout {
	t.Helper()
	m := &replication.TableMapEvent{Schema: []byte("zoo"), Table: []byte("ant"), ColumnCount: 9,
		ColumnType: []byte{3, 15, 246, 8, 252, 15, 18, 245, 254},
		ColumnMeta: []uint16{0, 20, 10<<8 | 2, 0, 2, 400, 6, 4, 247<<8 | 2}}
	l, err := NewLayout(anyTable(m), m)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBrokenImages(t *testing.T) {
	l := wide(t)
	all := []byte{0xff, 0x01}
	row := append([]byte{0, 0}, make([]byte, 4+1+5+8+2+2+8+4+2)...)
	if n, err := l.CountRows(false, all, nil, append(slices.Clone(row), row...)); n != 2 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	for cut := 1; cut < len(row); cut++ {
		if _, err := l.CountRows(false, all, nil, append(slices.Clone(row), row[:cut]...)); !errors.Is(err, ErrImage) {
			t.Fatalf("image cut at %d: %v", cut, err)
		}
	}
	long := slices.Clone(row)
	long[6] = 200 // the VARCHAR of 20 bytes
	_, err := l.CountRows(false, all, nil, append(slices.Clone(row), long...))
	if err == nil || !strings.Contains(err.Error(), "table zoo.ant column c1 row 2") {
		t.Errorf("error %v", err)
	}
	if _, err := l.CountRows(false, []byte{0, 0}, nil, []byte{1}); !errors.Is(err, ErrImage) {
		t.Errorf("no columns: %v", err)
	}
	if _, err := l.CountRows(true, all, []byte{1}, row); !errors.Is(err, ErrImage) {
		t.Errorf("short bitmap: %v", err)
	}
	if n, err := l.CountRows(true, all, all, append(slices.Clone(row), row...)); n != 1 || err != nil {
		t.Errorf("%d updates, %v", n, err)
	}
	if _, err := l.CountRows(true, all, all, row); !errors.Is(err, ErrImage) {
		t.Errorf("an update without its after image: %v", err)
	}
}

// Whatever the bytes, both walks agree, stay inside and end.
func FuzzRows(f *testing.F) {
	l := wide(f)
	f.Add([]byte{0xff, 0x01, 0xff, 0x01}, make([]byte, 76), true)
	f.Add([]byte{0x21, 0x00, 0x03, 0x00}, []byte{0, 1, 0, 0, 0, 1, 'x'}, false)
	f.Fuzz(func(t *testing.T, bitmaps, image []byte, update bool) {
		if len(bitmaps) < 4 {
			return
		}
		c := &Change{Kind: Insert, Layout: l, Present: bitmaps[:2], PresentAfter: bitmaps[2:4], Image: image}
		if update {
			c.Kind = Update
		}
		n, err := l.CountRows(update, c.Present, c.PresentAfter, image)
		var it RowIter
		if lerr := c.Locate(&it); (err == nil) != (lerr == nil) {
			t.Fatalf("CountRows %v, Locate %v", err, lerr)
		} else if err != nil {
			return
		}
		if it.Len() != n || n > len(image) {
			t.Fatalf("%d rows, located %d", n, it.Len())
		}
		total := 0
		for i := range n {
			for col, field := range append(slices.Clone(it.Old(i)), it.Row(i)...) {
				raw := it.Bytes(field)
				total += len(raw)
				if field.Present() && !field.Null() {
					_, _ = AppendText(nil, &l.Columns[col%9], raw, Style{})
				}
			}
		}
		if total > len(image) {
			t.Fatalf("values of %d bytes in an image of %d", total, len(image))
		}
	})
}

// bench is a change of many rows of twelve columns, as in design §14.
func bench(t testing.TB, rows int) *Change {
	t.Helper()
	m := &replication.TableMapEvent{Schema: []byte("zoo"), Table: []byte("ant"), ColumnCount: 12,
		ColumnType: []byte{8, 3, 3, 1, 2, 15, 15, 15, 246, 246, 18, 17},
		ColumnMeta: []uint16{0, 0, 0, 0, 0, 128, 255, 400, 10<<8 | 2, 20<<8 | 4, 0, 3}, DefaultCharset: []uint64{255}}
	l, err := NewLayout(anyTable(m), m)
	if err != nil {
		t.Fatal(err)
	}
	c := &Change{Kind: Insert, Layout: l, Present: []byte{0xff, 0x0f}}
	for i := range rows {
		c.Image = append(c.Image, 0, 0, byte(i), byte(i>>8), 1, 0, 0, 0, 0, 0, 7, 1, 0, 0, 255, 255, 255, 255, 5, 0x12, 0x34)
		c.Image = append(append(c.Image, 16), "customer-0000017"...)
		c.Image = append(append(c.Image, 32), "some street 12, 12345 some city."...)
		c.Image = append(append(c.Image, 40, 0), "a short remark about nothing in general "...)
		c.Image = append(c.Image, 0x80, 0, 5, 1, 0x32)
		c.Image = append(c.Image, 0x80, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x04, 0xd2)
		c.Image = append(c.Image, 0x99, 0xb1, 0xdd, 0x63, 0x54)
		c.Image = append(c.Image, 0x65, 0x53, 0xf1, 0x00, 0x04, 0xce)
	}
	return c
}

func TestNoAllocation(t *testing.T) {
	c := bench(t, 20)
	var it RowIter
	dst := make([]byte, 0, 1<<16)
	style, _ := NewStyle(nil, false, "")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Layout.CountRows(false, c.Present, nil, c.Image); err != nil {
			t.Fatal(err)
		}
		if err := c.Locate(&it); err != nil {
			t.Fatal(err)
		}
		dst = appendAll(dst[:0], c, &it, style)
	}); n != 0 {
		t.Errorf("%v allocations a change", n)
	}
}

func appendAll(dst []byte, c *Change, it *RowIter, s Style) []byte {
	for row := range it.Len() {
		for i, f := range it.Row(row) {
			dst, _ = AppendText(dst, &c.Layout.Columns[i], it.Bytes(f), s)
		}
	}
	return dst
}

func BenchmarkCountRows(b *testing.B) {
	c := bench(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := c.Layout.CountRows(false, c.Present, nil, c.Image); n != 100 || err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/row")
}

// BenchmarkRow finds and writes the texts of rows of twelve columns.
func BenchmarkRow(b *testing.B) {
	c := bench(b, 100)
	var it RowIter
	var dst []byte
	style, _ := NewStyle(mustLoad(b, "Asia/Shanghai"), false, "")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Locate(&it); err != nil {
			b.Fatal(err)
		}
		dst = appendAll(dst[:0], c, &it, style)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/row")
}
