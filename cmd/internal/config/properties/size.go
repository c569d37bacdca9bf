package properties

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1000}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}}

// ParseSize reads a number of bytes, which may have a unit: KiB, MiB and GiB, or K, M
// and G, by 1024, KB, MB and GB by 1000.
func ParseSize(v string) (int, error) {
	digits, unit := strings.ToLower(v), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(digits, u.name); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil || n < 0:
		return 0, errors.New("not a size: write bytes, or a number with KiB, MiB or GiB")
	case n > math.MaxInt32*1024/unit:
		return 0, errors.New("more than fits: choose less than 2 TiB")
	}
	return int(n * unit), nil
}
