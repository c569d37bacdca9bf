package route

import (
	"testing"
	"unicode/utf16"
)

func TestHash(t *testing.T) {
	for text, want := range map[string]int32{
		"": 0, "1": 49, "2": 50, "7": 55, "42": 1662, "100": 48625, "1001": 1507424, "-1": 1444, "id": 3355, "db": 3198,
		"test": 3556498, "shop": 3529462, "SHOP": 2544374, "mydb": 3366698, "user": 3599307, "orders": -1008770331,
		"order_item": 756092260, "bob": 97717, "é": 233, "中文": 646394, "😀": 1772899, "2017-01-01 00:00:00": 344404284,
		"polygenelubricants": -1 << 31,
	} {
		if got := Hash(text); got != want {
			t.Errorf("Hash(%q) = %d, want %d", text, got, want)
		}
		if got := Hash([]byte(text)); got != want {
			t.Errorf("Hash of bytes %q = %d, want %d", text, got, want)
		}
	}
}

func FuzzHash(f *testing.F) {
	f.Add("a中😀\xff")
	f.Fuzz(func(t *testing.T, text string) {
		var want int32
		for _, u := range utf16.Encode([]rune(text)) {
			want = 31*want + int32(u)
		}
		if got := Hash(text); got != want {
			t.Errorf("Hash(%q) = %d, want %d", text, got, want)
		}
	})
}

func TestPartition(t *testing.T) {
	for _, tt := range []struct{ h, n, want int32 }{
		{0, 3, 0}, {7, 3, 1}, {-7, 3, 1}, {-1 << 31, 3, 2}, {-1 << 31, 1, 0}, {-1 << 31, 5, 3}, {1<<31 - 1, 10, 7},
	} {
		if got := Partition(tt.h, tt.n); got != tt.want {
			t.Errorf("Partition(%d, %d) = %d, want %d", tt.h, tt.n, got, tt.want)
		}
	}
}

func TestHashDoesNotAllocate(t *testing.T) {
	text := []byte("2017-01-01 中文 😀")
	if n := testing.AllocsPerRun(100, func() { Hash(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
