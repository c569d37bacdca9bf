package column

import (
	"math"
	"testing"
)

// What SELECT shows of these, where it does not cut FLOAT to six digits.
func TestAppendShortest(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", -1.5: "-1.5", 100: "100", 1e14: "100000000000000", 1e15: "1e15", 123456789012345680: "1.2345678901234568e17",
		1e-15: "0.000000000000001", 1e-16: "1e-16", 0.1: "0.1", math.MaxFloat64: "1.7976931348623157e308", 5e-324: "5e-324",
		1109605446094833.1: "1109605446094833.1", -1109605446094833.1: "-1109605446094833.1", 1109605446094833: "1.109605446094833e15", 11096054460948332: "1.1096054460948332e16",
		123456789.125: "123456789.125", -1.5e-20: "-1.5e-20",
	} {
		if got := string(AppendShortest([]byte("x"), v, 64)); got != "x"+want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float32]string{16777216: "16777216", 0.1: "0.1", 3.4028235e38: "3.4028235e38", 1.17549435e-38: "1.1754944e-38"} {
		if got := string(AppendShortest(nil, float64(v), 32)); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if got := string(AppendShortest(nil, math.Copysign(0, -1), 64)); got != "-0" {
		t.Error(got)
	}
}
