package properties

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
)

// List cuts a text at separators; blank pieces are dropped.
func List(text, separators string) []string {
	var out []string
	for _, s := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		if s = Trim(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1000}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}}

// Size reads a number of bytes with or without a unit.
func Size(v string) (int, error) {
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

// Names reads prefix{low-high} as the names that it stands for.
func Names(expr string) ([]string, error) {
	prefix, rest, ok := strings.Cut(expr, "{")
	body, _, closed := strings.Cut(rest, "}")
	from, to, dash := strings.Cut(body, "-")
	low, lowErr := strconv.Atoi(Trim(from))
	high, highErr := strconv.Atoi(Trim(to))
	if !ok || !closed || !dash || lowErr != nil || highErr != nil || low < 0 || high < low || high-low >= 10000 {
		return nil, fmt.Errorf("write it as name{1-3}")
	}
	var out []string
	for i := low; i <= high; i++ {
		out = append(out, prefix+strconv.Itoa(i))
	}
	return out, nil
}

// CheckAddress wants host:port.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	n, numErr := strconv.ParseUint(port, 10, 16)
	if err != nil || numErr != nil || host == "" || n == 0 || strings.ContainsAny(host, " /") {
		return fmt.Errorf("%q is not an address: write host:port, an IPv6 address in brackets", address)
	}
	return nil
}

// IsNameRune reports whether a letter may stand in a name of a topic or a cluster.
func IsNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_'
}
