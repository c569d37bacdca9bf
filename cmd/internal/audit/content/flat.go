package content

import (
	"bytes"
	"errors"
	"hash/maphash"
)

// Flat counts the rows of a flat message and sums up what it says of them.
// Members id and ts are left out, which differ each time a change is sent, and
// so are gtid and those that tell of types: what is known of them depends on
// where in the binlog one began to read.
func Flat(value []byte) (rows int, sum uint64, err error) {
	var h maphash.Hash
	h.SetSeed(Seed)
	var data, old []byte
	err = Members(value, func(name, raw []byte) error {
		switch string(name) {
		case "id", "ts", "gtid", "mysqlType", "sqlType":
			return nil
		case "data", "old":
			if raw[0] == '[' {
				if name[0] == 'd' {
					data = raw
				} else {
					old = raw
				}
				return nil
			}
		}
		_, _ = h.Write(name)
		_ = h.WriteByte(0)
		_, _ = h.Write(raw)
		return nil
	})
	if data == nil || err != nil { // a statement
		return 1, h.Sum64(), err
	}
	common := h.Sum64()
	next := 1 // of old
	err = Elements(data, func(row []byte) error {
		rows++
		h.Reset()
		_, _ = h.Write(row)
		if old != nil {
			var before []byte
			if before, next, err = element(old, next); err != nil {
				return err
			}
			_ = h.WriteByte(0)
			_, _ = h.Write(before)
		}
		sum = Roll(sum, common^h.Sum64())
		return nil
	})
	return rows, sum, err
}

var errJSON = errors.New("the value is not a JSON object: a protobuf message, or not one of Canal's")

// Members calls f for each member of a JSON object, with its name and value as
// they stand there. It trusts that the text is JSON.
func Members(text []byte, f func(name, raw []byte) error) error {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' {
		return errJSON
	}
	for i := 1; ; {
		i = blanks(text, i)
		if i < len(text) && text[i] == '}' {
			return nil
		}
		end, err := skip(text, i)
		if err != nil || end-i < 2 || text[i] != '"' {
			return errJSON
		}
		name := text[i+1 : end-1]
		i = blanks(text, end)
		if i >= len(text) || text[i] != ':' {
			return errJSON
		}
		i = blanks(text, i+1)
		if end, err = skip(text, i); err != nil {
			return err
		}
		if err := f(name, text[i:end]); err != nil {
			return err
		}
		if i = blanks(text, end); i < len(text) && text[i] == ',' {
			i++
		}
	}
}

// Elements calls f for each element of a JSON array.
func Elements(text []byte, f func(raw []byte) error) error {
	for i := 1; ; {
		raw, next, err := element(text, i)
		if raw == nil || err != nil {
			return err
		}
		if err := f(raw); err != nil {
			return err
		}
		i = next
	}
}

// element is the one at or behind i in a JSON array, nil at its end, and where to
// look for the next.
func element(text []byte, i int) (raw []byte, next int, err error) {
	i = blanks(text, i)
	if i < len(text) && text[i] == ']' {
		return nil, i, nil
	}
	end, err := skip(text, i)
	if err != nil {
		return nil, i, err
	}
	raw = text[i:end]
	if i = blanks(text, end); i < len(text) && text[i] == ',' {
		i++
	}
	return raw, i, nil
}

func blanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that begins at start.
func skip(text []byte, start int) (int, error) {
	depth := 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i >= len(text) {
				return 0, errJSON
			}
			if depth == 0 {
				return i + 1, nil
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		case ',', ':', ' ', '\n', '\t', '\r':
		default:
			continue
		}
		if depth <= 0 { // behind a number or a word
			if i == start {
				break
			}
			return i, nil
		}
	}
	return 0, errJSON
}
