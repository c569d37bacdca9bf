package column

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pack makes the server's form of a decimal text with all its digits.
func pack(text string, precision, scale int) []byte {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if precision == scale { // the 0 before the point is not stored
		whole = ""
	}
	whole = strings.Repeat("0", precision-scale-len(whole)) + whole
	var b []byte
	group := func(s string) {
		v, _ := new(big.Int).SetString("0"+s, 10)
		b = append(b, v.FillBytes(make([]byte, decimalBytes[len(s)]))...)
	}
	r := len(whole) % 9
	group(whole[:r])
	for whole = whole[r:]; whole != ""; whole = whole[9:] {
		group(whole[:9])
	}
	for ; len(fraction) >= 9; fraction = fraction[9:] {
		group(fraction[:9])
	}
	group(fraction)
	b[0] ^= 0x80
	if digits != text {
		for i := range b {
			b[i] = ^b[i]
		}
	}
	return b
}

func TestDecimal(t *testing.T) {
	z := strings.Repeat("0", 27)
	for _, c := range []struct {
		precision, scale int
		full, cut        string
	}{
		{10, 2, "5.00", "5.0"}, {10, 2, "-5.00", "-5.0"}, {10, 2, "0.00", "0.0"}, {10, 2, "5.10", "5.10"}, {10, 2, "-0.01", "-0.01"},
		{10, 2, "100.00", "100.0"}, {10, 2, "0.05", "0.05"}, {10, 2, "1.50", "1.50"}, {10, 2, "-1.50", "-1.50"},
		{10, 0, "5", "5"}, {10, 0, "-5", "-5"}, {10, 0, "0", "0"}, {10, 0, "9999999999", "9999999999"},
		{2, 2, "0.50", "0.50"}, {2, 2, "-0.50", "-0.50"}, {2, 2, "0.00", "0.0"}, {2, 2, "0.99", "0.99"}, {2, 2, "0.10", "0.10"},
		{5, 2, "1.00", "1.0"}, {5, 2, "2.50", "2.50"}, {10, 4, "0.0500", "0.0500"}, {10, 4, "5.0000", "5.0"},
		{8, 3, "0.100", "0.100"}, {8, 3, "12.000", "12.0"}, {8, 3, "99999.999", "99999.999"}, {9, 9, "0.000000001", "0.000000001"},
		{18, 9, "5.000000000", "5.000000000"}, {18, 9, "0.000000000", "0.000000000"}, {18, 9, "-0.100000000", "-0.100000000"},
		{20, 10, "5.0000000000", "5.000000000"}, {20, 10, "0.0000000001", "0.0000000001"}, {20, 10, "100.1000000000", "100.100000000"},
		{20, 10, "-0.0000000010", "-0.000000001"}, {20, 10, "5.4567000000", "5.456700000"},
		{39, 11, "1.12345678900", "1.123456789"}, {39, 11, "12345678901234567890.12345678901", "12345678901234567890.12345678901"},
		{39, 11, "1000000000.50000000000", "1000000000.500000000"}, {39, 11, "0.00000000000", "0.000000000"},
		{65, 30, "0." + z + "000", "0." + z}, {65, 30, "1." + z + "000", "1." + z}, {65, 30, "-0." + z + "001", "-0." + z + "001"},
		{65, 30, "12345678901234567890123456789012345.123456789012345678901234567890", "12345678901234567890123456789012345.123456789012345678901234567890"},
	} {
		raw := pack(c.full, c.precision, c.scale)
		for cut, want := range map[bool]string{false: c.full, true: c.cut} {
			got, err := AppendDecimal([]byte("x"), raw, c.precision, c.scale, cut)
			if err != nil || string(got) != "x"+want {
				t.Errorf("decimal(%d,%d) %x cut %v is %s, %v, want %s", c.precision, c.scale, raw, cut, got, err, want)
			}
		}
	}
	for _, c := range []struct {
		raw              string
		precision, scale int
	}{{"80000001", 10, 2}, {"", 10, 2}, {"8000000164", 10, 2}, {"ffffffffff", 10, 2}, {"80", 70, 2}, {"80", 1, 2}, {"", 0, 0}} {
		if got, err := AppendDecimal(nil, unhex(t, c.raw), c.precision, c.scale, false); !errors.Is(err, ErrValue) {
			t.Errorf("%s as decimal(%d,%d): %s, %v", c.raw, c.precision, c.scale, got, err)
		}
	}
}

func TestDecimalRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		precision := 1 + r.IntN(65)
		scale := r.IntN(min(precision, 30) + 1)
		digits := make([]byte, precision)
		for i := range digits {
			digits[i] = '0' + byte(r.IntN(10))*byte(r.IntN(2))
		}
		whole := strings.TrimLeft(string(digits[:precision-scale]), "0")
		if whole == "" {
			whole = "0"
		}
		text := whole
		if scale > 0 {
			text += "." + string(digits[precision-scale:])
		}
		if r.IntN(2) == 0 && strings.Trim(text, "0.") != "" {
			text = "-" + text
		}
		got, err := AppendDecimal(nil, pack(text, precision, scale), precision, scale, false)
		if err != nil || string(got) != text {
			t.Fatalf("decimal(%d,%d) is %s, %v, want %s", precision, scale, got, err, text)
		}
	}
}

func TestIntegers(t *testing.T) {
	for raw, want := range map[string]string{
		"80": "-128 128", "ff": "-1 255", "7f": "127 127", "0080": "-32768 32768", "ffff7f": "8388607 8388607", "000080": "-8388608 8388608",
		"00000080": "-2147483648 2147483648", "ffffffffffffff7f": "9223372036854775807 9223372036854775807",
		"ffffffffffffffff": "-1 18446744073709551615", "0000000080": "-549755813888 549755813888",
	} {
		b := unhex(t, raw)
		if got := fmt.Sprint(Int(b), Uint(b)); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
	if got := UintBE(unhex(t, "01ff")); got != 511 {
		t.Errorf("bits are %d, want 511", got)
	}
	for v, want := range map[byte]string{0: "0000", 1: "1901", 123: "2023", 255: "2155"} {
		if got := string(AppendYear(nil, v)); got != want {
			t.Errorf("year %d is %s, want %s", v, got, want)
		}
	}
}

func TestTemporal(t *testing.T) {
	utc := NewZone(time.UTC)
	type decode func(raw []byte, f int) ([]byte, error)
	date := func(raw []byte, _ int) ([]byte, error) { return AppendDate(nil, raw) }
	clock := func(raw []byte, _ int) ([]byte, error) { return AppendTime(nil, raw) }
	clock2 := func(raw []byte, f int) ([]byte, error) { return AppendTime2(nil, raw, f) }
	day := func(raw []byte, _ int) ([]byte, error) { return AppendDatetime(nil, raw) }
	day2 := func(raw []byte, f int) ([]byte, error) { return AppendDatetime2(nil, raw, f) }
	stamp := func(raw []byte, _ int) ([]byte, error) { return AppendTimestamp(nil, raw, nil) }
	stamp2 := func(raw []byte, f int) ([]byte, error) { return AppendTimestamp2(nil, raw, f, utc) }
	for _, c := range []struct {
		decode decode
		f      int
		raw    string
		want   string
	}{
		{date, 0, "6ecf0f", "2023-11-14"}, {date, 0, "000000", "0000-00-00"}, {date, 0, "00d00f", "2024-00-00"}, {date, 0, "210200", "0001-01-01"},
		{clock2, 0, "80a2cc", "10:11:12"}, {clock2, 0, "7f5d34", "-10:11:12"}, {clock2, 0, "b46efb", "838:59:59"}, {clock2, 0, "864000", "100:00:00"},
		{clock2, 2, "7fffffff", "-00:00:00.01"}, {clock2, 3, "80108311d0", "01:02:03.456"}, {clock2, 6, "7ffffef85ee0", "-00:00:01.500000"},
		{clock2, 1, "80000000", "00:00:00.0"}, {clock2, 3, "8000000000", "00:00:00.000"}, {clock2, 4, "79d0000000", "-99:00:00.0000"},
		{clock2, 1, "7fffffce", "-00:00:00.5"}, {clock2, 2, "7fffff00", "-00:00:01.00"}, {clock2, 6, "7fffffffffff", "-00:00:00.000001"},
		{clock, 0, "40420f", "100:00:00"}, {clock, 0, "40e201", "12:34:56"}, {clock, 0, "ffffff", "-00:00:01"}, {clock, 0, "a7f57f", "838:59:59"},
		{day2, 0, "99b1dd6354", "2023-12-14 22:13:20"}, {day2, 0, "8000000000", "0000-00-00 00:00:00"}, {day2, 1, "99b1dd63540a", "2023-12-14 22:13:20.1"},
		{day2, 3, "99b1dd635404ce", "2023-12-14 22:13:20.123"}, {day2, 6, "99b1dd635401e240", "2023-12-14 22:13:20.123456"},
		{day2, 5, "99b1dd635401e240", "2023-12-14 22:13:20.12345"}, {day2, 0, "99b2000000", "2024-00-00 00:00:00"},
		{day, 0, "0000000000000000", "0000-00-00 00:00:00"},
		{stamp2, 0, "6553f100", "2023-11-14 22:13:20"}, {stamp2, 3, "6553f10004ce", "2023-11-14 22:13:20.123"}, {stamp2, 2, "0000000000", "0000-00-00 00:00:00.00"},
		{stamp2, 6, "7fffffff0f423f", "2038-01-19 03:14:07.999999"}, {stamp2, 0, "00000001", "1970-01-01 00:00:01"}, {stamp2, 0, "ffffffff", "2106-02-07 06:28:15"},
		{stamp, 0, "00f15365", "2023-11-14 22:13:20"}, {stamp, 0, "00000000", "0000-00-00 00:00:00"},
	} {
		got, err := c.decode(unhex(t, c.raw), c.f)
		if err != nil || string(got) != c.want {
			t.Errorf("%s(%d) is %s, %v, want %s", c.raw, c.f, got, err, c.want)
		}
		if _, err := c.decode(unhex(t, c.raw+"00"), c.f); !errors.Is(err, ErrValue) {
			t.Errorf("%s00(%d): error %v", c.raw, c.f, err)
		}
	}
}

func TestDatetimeOld(t *testing.T) {
	raw := make([]byte, 8)
	v := uint64(20240229123456)
	for i := range raw {
		raw[i] = byte(v >> (8 * i))
	}
	if got, err := AppendDatetime(nil, raw); err != nil || string(got) != "2024-02-29 12:34:56" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestZone compares with the time package around every change and at random.
func TestZone(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, name := range []string{"UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia"} {
		location, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := NewZone(location)
		seconds := []uint32{1, 86399, math.MaxInt32, math.MaxUint32}
		for _, from := range z.from {
			seconds = append(seconds, from-1, from, from+1)
		}
		for range 2000 {
			seconds = append(seconds, r.Uint32())
		}
		for _, s := range seconds {
			if s == 0 {
				continue
			}
			got := string(appendInstant(nil, s, z))
			if want := time.Unix(int64(s), 0).In(location).Format(time.DateTime); got != want {
				t.Fatalf("%s %d is %s, want %s", name, s, got, want)
			}
		}
	}
}

func TestSpecial(t *testing.T) {
	type decode func(dst, raw []byte) ([]byte, error)
	for _, c := range []struct {
		decode decode
		raw    string
		want   string
	}{
		{AppendUUID, "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-426614174000"},
		{AppendUUID, "", "00000000-0000-0000-0000-000000000000"},
		{AppendInet4, "c0000201", "192.0.2.1"}, {AppendInet4, "0a", "10.0.0.0"}, {AppendInet4, "", "0.0.0.0"},
		{AppendInet6, "20010db8000000000000ff0000428329", "2001:db8::ff00:42:8329"},
		{AppendInet6, "", "::"}, {AppendInet6, "00000000000000000000000000000001", "::1"},
		{AppendInet6, "00000000000000000000ffffc0000201", "::ffff:192.0.2.1"},
		{AppendInet6, "000000000000000000000000c0000201", "::192.0.2.1"},
		{AppendInet6, "fe80", "fe80::"}, {AppendInet6, "00010002000300040005000600070008", "1:2:3:4:5:6:7:8"},
		{AppendInet6, "0001000000000003000000000000ffff", "1:0:0:3::ffff"},
		{AppendVector, "0000803f00002040000040c0", "[1.00000e+00,2.50000e+00,-3.00000e+00]"}, {AppendVector, "", "[]"},
	} {
		got, err := c.decode(nil, unhex(t, c.raw))
		if err != nil || string(got) != c.want {
			t.Errorf("%s is %s, %v, want %s", c.raw, got, err, c.want)
		}
		if _, err := c.decode(nil, make([]byte, 17)); !errors.Is(err, ErrValue) {
			t.Errorf("%s: error %v of a value that is too long", c.want, err)
		}
	}
	if got := string(AppendLatin1(nil, []byte{0, 'a', 0x80, 0xff})); got != "\u0000a\u0080ÿ" {
		t.Errorf("%q", got)
	}
}

func TestNoAllocation(t *testing.T) {
	dst := make([]byte, 0, 256)
	z := NewZone(time.UTC)
	decimal := pack("12345678901234567890.12345678901", 39, 11)
	stamp, clock := unhex(t, "6553f10004ce"), unhex(t, "7ffffef85ee0")
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendDouble(dst[:0], 12.34)
		dst = AppendDouble(dst, 1.7976931348623157e308)
		dst = AppendFloat(dst, 1e-40)
		dst, _ = AppendDecimal(dst, decimal, 39, 11, false)
		dst, _ = AppendTimestamp2(dst, stamp, 3, z)
		dst, _ = AppendTime2(dst, clock, 6)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
