package column

import (
	"bufio"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestFloatTable(t *testing.T) {
	for _, c := range []struct {
		v             float64
		float, double string // empty: not checked
	}{
		{1, "1.0", "1.0"},
		{0, "0.0", "0.0"},
		{math.Copysign(0, -1), "-0.0", "-0.0"},
		{0.1, "0.1", "0.1"},
		{1.1, "1.1", "1.1"},
		{9999999, "9999999.0", "9999999.0"},
		{1e7, "1.0E7", "1.0E7"},
		{0.001, "0.001", "0.001"},
		{0.00099, "9.9E-4", "9.9E-4"},
		{0.0001, "", "1.0E-4"},
		{12345678.1234, "", "1.23456781234E7"},
		{123456789, "1.23456792E8", "1.23456789E8"},
		{123456789.123, "", "1.23456789123E8"},
		{1e10, "1.0E10", "1.0E10"},
		{1e21, "1.0E21", "1.0E21"},
		{math.MaxFloat64, "", "1.7976931348623157E308"},
		{math.MaxFloat32, "3.4028235E38", ""},
		{0x1p-126, "1.17549435E-38", ""},
		{0x1p-1022, "", "2.2250738585072014E-308"},
		{math.SmallestNonzeroFloat32, "1.4E-45", ""},
		{math.SmallestNonzeroFloat64, "", "4.9E-324"},
		{33554432, "3.3554432E7", "3.3554432E7"},
		{9007199254740993, "", "9.007199254740992E15"},
		{0.002, "", "0.002"},
		{2e23, "", "1.9999999999999998E23"},
		{99999.99, "99999.99", "99999.99"},
		{0.01, "0.01", "0.01"},
		{12345678, "1.2345678E7", "1.2345678E7"},
		{-1.5, "-1.5", "-1.5"},
		{math.Inf(-1), "-Infinity", "-Infinity"},
		{math.NaN(), "NaN", "NaN"},
		{float64(math.Float32frombits(0x4f083ce4)), "2.2856919E9", ""},
		{math.Float64frombits(0x43b92225825f3c18), "", "1.81105124203011072E18"},
	} {
		if got := string(AppendFloat(nil, float32(c.v))); c.float != "" && got != c.float {
			t.Errorf("float %g is %s, want %s", c.v, got, c.float)
		}
		if got := string(AppendDouble(nil, c.v)); c.double != "" && got != c.double {
			t.Errorf("double %g is %s, want %s", c.v, got, c.double)
		}
	}
}

// TestFloatJava compares with texts that a JDK printed, by the fast and by the
// exact way.
func TestFloatJava(t *testing.T) {
	f, err := os.Open("testdata/java.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word := strings.Fields(lines.Text())
		if word[0] == "#" {
			continue
		}
		n++
		bits, err := strconv.ParseUint(word[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		v, sig := math.Float64frombits(bits), 53
		got := AppendDouble(nil, v)
		if word[0] == "f" {
			f := math.Float32frombits(uint32(bits))
			v, sig = float64(f), 24
			got = AppendFloat(nil, f)
		}
		if string(got) != word[2] {
			t.Errorf("%s %s is %s, want %s", word[0], word[1], got, word[2])
		}
		if got := exactly(v, sig); v != 0 && got != strings.TrimPrefix(word[2], "-") {
			t.Errorf("%s %s is exactly %s, want %s", word[0], word[1], got, word[2])
		}
	}
	if n < 1000 {
		t.Errorf("only %d values", n)
	}
}

func exactly(v float64, sig int) string {
	var d decimal
	d.exact(math.Abs(v), sig)
	return string(d.appendTo(nil))
}

// TestFloatShortest compares the fast way, where it is taken, with the exact one.
func TestFloatShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 40_000
	if testing.Short() {
		n = 4_000
	}
	fast := 0
	for range n {
		fast += shortestIsExact(t, math.Float64frombits(r.Uint64()), 53)
		fast += shortestIsExact(t, float64(math.Float32frombits(r.Uint32())), 24)
		fast += shortestIsExact(t, float64(r.IntN(1e9))/math.Pow10(r.IntN(12)), 53)
		fast += shortestIsExact(t, float64(float32(r.IntN(1e8))/float32(math.Pow10(r.IntN(9)))), 24)
		fast += shortestIsExact(t, math.Ldexp(float64(r.IntN(16)+1), -r.IntN(1070)), 53)
	}
	if fast < n {
		t.Errorf("the fast way was taken %d times only", fast)
	}
}

func FuzzFloat(f *testing.F) {
	f.Add(uint64(0x43b92225825f3c18))
	f.Fuzz(func(t *testing.T, bits uint64) {
		shortestIsExact(t, math.Float64frombits(bits), 53)
		shortestIsExact(t, float64(math.Float32frombits(uint32(bits))), 24)
		text := AppendDouble(nil, math.Float64frombits(bits))
		if back, err := strconv.ParseFloat(string(text), 64); err != nil || back == back && math.Float64bits(back) != bits {
			t.Errorf("%x prints %s, which is %x", bits, text, math.Float64bits(back))
		}
	})
}

func shortestIsExact(t *testing.T, v float64, sig int) int {
	t.Helper()
	v = math.Abs(v)
	var d decimal
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) || !d.shortest(v, sig) {
		return 0
	}
	if got, want := string(d.appendTo(nil)), exactly(v, sig); got != want {
		t.Errorf("%x: shortest %s, exact %s", math.Float64bits(v), got, want)
	}
	return 1
}

func BenchmarkDouble(b *testing.B) {
	var dst []byte
	for name, v := range map[string]float64{"price": 1234.56, "whole": 42, "long": 0.1234567890123456, "huge": 1.2345e200} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendDouble(dst[:0], v)
			}
		})
	}
}
