package column

import "math"

// MariaDB's format of times with fractions before it took over MySQL's
// (mysql56_temporal_format=OFF, and columns of older tables): one number, most
// significant byte first, in units of the last digit (field.cc and
// compat56.cc in its sql).

// hiresSizes are the bytes of a TIME(f), DATETIME(f) and TIMESTAMP(f).
var hiresSizes = [7]struct{ time, datetime, timestamp int }{
	{3, 8, 4}, {4, 6, 5}, {4, 6, 5}, {5, 7, 6}, {5, 7, 6}, {5, 7, 7}, {6, 8, 7},
}

// HiresTimeSize, HiresDatetimeSize and HiresTimestampSize are the bytes of such
// columns with f digits of fraction, 1 to 6.
func HiresTimeSize(f int) int { return hiresSizes[f].time }

// HiresDatetimeSize is as HiresTimeSize.
func HiresDatetimeSize(f int) int { return hiresSizes[f].datetime }

// HiresTimestampSize is as HiresTimeSize.
func HiresTimestampSize(f int) int { return hiresSizes[f].timestamp }

// AppendHiresTime appends a TIME(f), which is offset so that the smallest one,
// -838:59:59.9…, is above zero.
func AppendHiresTime(dst, raw []byte, f int) ([]byte, error) {
	if n := HiresTimeSize(f); len(raw) != n {
		return dst, short("time", raw, n)
	}
	const hours = 839
	v := int64(UintBE(raw)) - hours*3600*int64(pow10[f])
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	seconds := uint32(v / int64(pow10[f]))
	dst = AppendClock(dst, seconds/3600, seconds/60%60, seconds%60)
	return AppendPadded(append(dst, '.'), uint32(v%int64(pow10[f])), f), nil
}

// AppendHiresDatetime appends a DATETIME(f): seconds of years with 13 months of
// 32 days.
func AppendHiresDatetime(dst, raw []byte, f int) ([]byte, error) {
	if n := HiresDatetimeSize(f); len(raw) != n {
		return dst, short("datetime", raw, n)
	}
	v := UintBE(raw)
	fraction := uint32(v % pow10[f])
	v /= pow10[f]
	seconds, days := uint32(v%86400), v/86400
	if days > math.MaxUint32 {
		return dst, short("datetime", raw, len(raw))
	}
	d := uint32(days)
	dst = AppendCalendar(dst, d/32/13, d/32%13, d%32)
	dst = AppendClock(append(dst, ' '), seconds/3600, seconds/60%60, seconds%60)
	return AppendPadded(append(dst, '.'), fraction, f), nil
}

// AppendHiresTimestamp appends a TIMESTAMP(f): four bytes of seconds since
// 1970, then the fraction. Zero seconds are the zero date.
func AppendHiresTimestamp(dst, raw []byte, f int, z *Zone) ([]byte, error) {
	if n := HiresTimestampSize(f); len(raw) != n {
		return dst, short("timestamp", raw, n)
	}
	dst = appendInstant(dst, uint32(UintBE(raw[:4])), z)
	return AppendPadded(append(dst, '.'), uint32(UintBE(raw[4:])), f), nil
}
