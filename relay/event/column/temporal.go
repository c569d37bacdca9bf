package column

import "strconv"

// FractionSize is the number of bytes that hold f digits of a second.
func FractionSize(f int) int { return (f + 1) / 2 }

// AppendDate appends a DATE of three bytes, little-endian: 5 bits of day, 4 of
// month, 15 of year.
func AppendDate(dst, raw []byte) ([]byte, error) {
	if len(raw) != 3 {
		return dst, short("date", raw, 3)
	}
	v := uint32(Uint(raw))
	return AppendCalendar(dst, v>>9, v>>5&15, v&31), nil
}

// AppendTime appends a TIME of the format before MySQL 5.6: a signed number
// hhmmss in three bytes, little-endian.
func AppendTime(dst, raw []byte) ([]byte, error) {
	if len(raw) != 3 {
		return dst, short("time", raw, 3)
	}
	v := Int(raw)
	if v < 0 {
		dst = append(dst, '-')
		v = -v
	}
	return AppendClock(dst, uint32(v/10000), uint32(v/100%100), uint32(v%100)), nil
}

// AppendTime2 appends a TIME(f): 24 bits big-endian, offset by 2^23, of which
// 10 are the hour, 6 the minute and 6 the second; then the fraction, counted
// upwards for negative times too.
func AppendTime2(dst, raw []byte, f int) ([]byte, error) {
	if n := 3 + FractionSize(f); f > 6 || len(raw) != n {
		return dst, short("time", raw, n)
	}
	v := int32(raw[0])<<16 | int32(raw[1])<<8 | int32(raw[2])
	v -= 1 << 23
	fraction := uint32(UintBE(raw[3:]))
	if v < 0 {
		dst = append(dst, '-')
		if fraction != 0 {
			v++
			fraction = 1<<(8*FractionSize(f)) - fraction
		}
		v = -v
	}
	u := uint32(v)
	dst = AppendClock(dst, u>>12&0x3ff, u>>6&63, u&63)
	return appendFraction(dst, fraction, f), nil
}

// AppendDatetime appends a DATETIME of the format before MySQL 5.6: the number
// YYYYMMDDhhmmss in eight bytes, little-endian.
func AppendDatetime(dst, raw []byte) ([]byte, error) {
	if len(raw) != 8 {
		return dst, short("datetime", raw, 8)
	}
	v := Uint(raw)
	d, t := uint32(v/1000000), uint32(v%1000000)
	dst = AppendCalendar(dst, d/10000, d/100%100, d%100)
	return AppendClock(append(dst, ' '), t/10000, t/100%100, t%100), nil
}

// AppendDatetime2 appends a DATETIME(f): 40 bits big-endian, of which 1 is the
// sign, 17 are year·13+month, 5 the day, 5 the hour, 6 the minute and 6 the
// second; then the fraction.
func AppendDatetime2(dst, raw []byte, f int) ([]byte, error) {
	if n := 5 + FractionSize(f); f > 6 || len(raw) != n {
		return dst, short("datetime", raw, n)
	}
	day := uint32(raw[0]&0x7f)<<15 | uint32(raw[1])<<7 | uint32(raw[2])>>1
	clock := uint32(raw[2]&1)<<16 | uint32(raw[3])<<8 | uint32(raw[4])
	month := day >> 5
	dst = AppendCalendar(dst, month/13, month%13, day&31)
	dst = AppendClock(append(dst, ' '), clock>>12, clock>>6&63, clock&63)
	return appendFraction(dst, uint32(UintBE(raw[5:])), f), nil
}

// AppendTimestamp appends a TIMESTAMP of the format before MySQL 5.6: seconds
// since 1970 in four bytes, little-endian. Zero is the zero date.
func AppendTimestamp(dst, raw []byte, z *Zone) ([]byte, error) {
	if len(raw) != 4 {
		return dst, short("timestamp", raw, 4)
	}
	return appendInstant(dst, uint32(Uint(raw)), z), nil
}

// AppendTimestamp2 appends a TIMESTAMP(f): seconds since 1970 in four bytes,
// big-endian, then the fraction. Zero seconds are the zero date.
func AppendTimestamp2(dst, raw []byte, f int, z *Zone) ([]byte, error) {
	if n := 4 + FractionSize(f); f > 6 || len(raw) != n {
		return dst, short("timestamp", raw, n)
	}
	dst = appendInstant(dst, uint32(UintBE(raw[:4])), z)
	return appendFraction(dst, uint32(UintBE(raw[4:])), f), nil
}

func appendInstant(dst []byte, seconds uint32, z *Zone) []byte {
	if seconds == 0 {
		return append(dst, "0000-00-00 00:00:00"...)
	}
	local := int64(seconds) + int64(z.offset(seconds))
	days := local / 86400
	clock := local % 86400
	if clock < 0 {
		days--
		clock += 86400
	}
	y, m, d := civil(days)
	dst = AppendCalendar(dst, y, m, d)
	c := uint32(clock)
	return AppendClock(append(dst, ' '), c/3600, c/60%60, c%60)
}

// civil is the Gregorian date of a day counted from 1970. It counts in years
// that begin in March, so that the leap day is a year's last.
func civil(days int64) (year, month, day uint32) {
	n := uint32(days + 719468) // from 0000-03-01
	era := n / 146097
	n %= 146097
	y := (n - n/1460 + n/36524 - n/146096) / 365
	n -= 365*y + y/4 - y/100
	m := (5*n + 2) / 153
	day = n - (153*m+2)/5 + 1
	year = era*400 + y
	if month = m + 3; month > 12 {
		return year + 1, month - 12, day
	}
	return year, month, day
}

// AppendCalendar appends YYYY-MM-DD; no field is checked.
func AppendCalendar(dst []byte, year, month, day uint32) []byte {
	if year > 9999 {
		dst = strconv.AppendUint(dst, uint64(year), 10)
	} else {
		dst = append2(append2(dst, year/100), year%100)
	}
	dst = append2(append(dst, '-'), month)
	return append2(append(dst, '-'), day)
}

// AppendClock appends hh:mm:ss, with as many digits of hours as there are, but
// two at least.
func AppendClock(dst []byte, hour, minute, second uint32) []byte {
	if hour > 99 {
		dst = strconv.AppendUint(dst, uint64(hour), 10)
	} else {
		dst = append2(dst, hour)
	}
	dst = append2(append(dst, ':'), minute)
	return append2(append(dst, ':'), second)
}

// appendFraction appends f digits of a fraction that is stored with an even
// number of them.
func appendFraction(dst []byte, v uint32, f int) []byte {
	if f == 0 {
		return dst
	}
	if f&1 == 1 {
		v /= 10
	}
	return AppendPadded(append(dst, '.'), v, f)
}
