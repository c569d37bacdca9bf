//go:build stack

package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-mysql-org/go-mysql/replication"
)

func shown(s *string) string {
	if s == nil {
		return "NULL"
	}
	return fmt.Sprintf("%.300q", *s)
}

// String is the type, shortened.
func (t *valueType) String() string { return t.ddl[:min(len(t.ddl), 40)] }

// same compares a text of ours with a selected one.
func (t *valueType) same(ours, selected *string) bool { return sameText(ours, selected, t.equal) }

func sameText(ours, selected *string, equal func(a, b string) bool) bool {
	if ours == nil || selected == nil {
		return ours == selected
	}
	return *ours == *selected || equal != nil && equal(*ours, *selected)
}

// inMySQLStyle is what to SELECT to compare with the style `mysql`, %s being the column, and how to compare.
func (t *valueType) inMySQLStyle() (show string, equal func(ours, selected string) bool) {
	switch base, _, _ := strings.Cut(t.ddl, "("); {
	case base == "ENUM", base == "SET", base == "JSON", base == "DOUBLE", strings.HasSuffix(t.ddl, "ZEROFILL"), t.ddl == "FLOAT(9,2)":
		return "%s", nil
	case base == "BINARY" || t.bytes:
		return "HEX(%s)", sameBase64
	}
	if t.kind != "" {
		return t.sel, nil
	}
	return t.sel, t.equal
}

// sameCharacters compares texts in the style `canal`: what is a code without character, and a question mark in SELECT, is
// U+FFFD as in Java, and the second byte of the code stays when it is ASCII.
func sameCharacters(ours, selected string) bool {
	for selected != "" {
		a, n := utf8.DecodeRuneInString(ours)
		b, m := utf8.DecodeRuneInString(selected)
		ours, selected = ours[n:], selected[m:]
		switch {
		case a == b:
		case a == utf8.RuneError && n > 1 && b == '?':
			if ours != "" && ours[0] < utf8.RuneSelf && (selected == "" || selected[0] != ours[0] || !sameCharacters(ours, selected)) {
				ours = ours[1:]
			}
		default:
			return false
		}
	}
	return ours == ""
}

// sameBase64 compares base64 with the hexadecimal form.
func sameBase64(ours, selected string) bool {
	raw, err := base64.StdEncoding.DecodeString(ours)
	return err == nil && strings.EqualFold(hex.EncodeToString(raw), selected)
}

// compareSelected compares each message's row with what SELECT saw before and after the statement, as far as the message
// has columns; that it has the right ones is seen against go-mysql.
func compareSelected(t *testing.T, changes []valueChange, ours []messageRow, style int) {
	t.Helper()
	if len(ours) != len(changes) {
		t.Errorf("%d rows changed, tail has %d", len(changes), len(ours))
	}
	for i := range min(len(ours), len(changes)) {
		want, got := &changes[i], ours[i]
		if got.kind != want.kind || got.table != strings.Trim(want.name, "`") {
			t.Fatalf("change %d: tail has %s of %s, want %s of %s (%s)", i, got.kind, got.table, want.kind, want.name, want.sql)
		}
		if key := want.keyIn(got.data); !slices.Equal(got.key, key) {
			t.Errorf("change %d of %s: the key is %q, want %q (%s)", i, want.name, got.key, key, want.sql)
		}
		now := want.after[style]
		if now == nil {
			now = want.before[style]
		}
		for c, column := range want.columns {
			equal := column.equal
			if style == mysqlStyle {
				_, equal = column.inMySQLStyle()
			}
			if text, ok := got.data[column.name]; ok && !sameText(text, now[c], equal) {
				t.Errorf("change %d, %s, %s.%s %s: tail has %s, SELECT %s (%s)", i, got.kind, want.name, column.name, column, shown(text), shown(now[c]), want.sql)
			}
			if text, ok := got.old[column.name]; ok && !sameText(text, want.before[style][c], equal) {
				t.Errorf("change %d, old value, %s.%s %s: tail has %s, SELECT %s (%s)", i, want.name, column.name, column, shown(text), shown(want.before[style][c]), want.sql)
			}
		}
	}
}

// keyIn are the names of the key's columns, in table order, that are in a row.
func (s *valueShape) keyIn(row map[string]*string) (names []string) {
	for _, c := range s.columns {
		if _, ok := row[c.name]; ok && slices.Contains(s.key, c.name) {
			names = append(names, c.name)
		}
	}
	return names
}

// image is a row as go-mysql decodes it. Columns that are not in it are not present.
type image struct {
	values  []any
	present []bool
}

type decodedChange struct{ before, after *image }

// compareDecoded compares with go-mysql's own decoder: the same columns are there, old values are those that changed,
// and values are the same where go-mysql's can be compared.
func compareDecoded(t *testing.T, changes []valueChange, decoded []decodedChange, ours []messageRow) {
	t.Helper()
	if len(decoded) != len(ours) || len(changes) != len(ours) {
		t.Fatalf("%d rows changed, go-mysql has %d, tail %d", len(changes), len(decoded), len(ours))
	}
	compared := 0
	for i, d := range decoded {
		now, shape := d.after, changes[i].valueShape
		if now == nil {
			now = d.before
		}
		if len(now.present) != len(shape.columns) {
			t.Fatalf("change %d of %s: go-mysql has %d columns, the table %d", i, shape.name, len(now.present), len(shape.columns))
		}
		compared += compareImage(t, i, shape, ours[i].data, now)
		if d.before == nil || d.after == nil {
			if ours[i].old != nil {
				t.Errorf("change %d, %s, has old values", i, ours[i].kind)
			}
			continue
		}
		full := map[string]*string{} // the before image, as far as the message tells
		for c, column := range shape.columns {
			before, changed := ours[i].old[column.name]
			after, present := ours[i].data[column.name]
			switch {
			case changed && (!present || !d.before.present[c]):
				t.Errorf("change %d, %s: has an old value, but there are not two", i, column.name)
			case changed && shown(before) == shown(after):
				t.Errorf("change %d, %s: %s has an old value and has not changed", i, column.name, column)
			case changed:
				full[column.name] = before
			case present && d.before.present[c]:
				full[column.name] = after
			}
		}
		for c := range shape.columns { // present before only: no message has it
			if d.before.present[c] && !d.after.present[c] {
				d.before.present[c] = false
			}
		}
		compared += compareImage(t, i, shape, full, d.before)
	}
	if compared < len(ours)*4 {
		t.Errorf("%d values compared only", compared)
	}
}

func compareImage(t *testing.T, i int, shape *valueShape, ours map[string]*string, want *image) (compared int) {
	t.Helper()
	for c, column := range shape.columns {
		text, ok := ours[column.name]
		if ok != want.present[c] {
			t.Errorf("change %d, %s.%s %s: tail has it: %v, go-mysql: %v", i, shape.name, column.name, column, ok, want.present[c])
		}
		if !ok || column.incomparable {
			continue
		}
		compared++
		if !column.sameDecoded(text, want.values[c]) {
			t.Errorf("change %d, %s.%s %s: tail has %s, go-mysql %v", i, shape.name, column.name, column, shown(text), want.values[c])
		}
	}
	return compared
}

// decode reads the changes of the tables whose names begin so with go-mysql.
func (w *world) decode(path string, zone *time.Location, prefix string) []decodedChange {
	w.Helper()
	parser := replication.NewBinlogParser()
	parser.SetFlavor(w.server)
	parser.SetTimestampStringLocation(zone)
	parser.SetRowsEventDecodeFunc(func(e *replication.RowsEvent, data []byte) error {
		at, err := e.DecodeHeader(data)
		if err == nil && strings.HasPrefix(string(e.Table.Table), prefix) {
			err = e.DecodeData(at, data)
		}
		return err
	})
	var all []decodedChange
	err := parser.ParseFile(path, 4, func(e *replication.BinlogEvent) error {
		payload, ok := e.Event.(*replication.TransactionPayloadEvent)
		if !ok {
			all = append(all, w.decoded(e, prefix)...)
			return nil
		}
		for _, inner := range payload.Events {
			all = append(all, w.decoded(inner, prefix)...)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// decoded are the changes of one event.
func (w *world) decoded(e *replication.BinlogEvent, prefix string) (all []decodedChange) {
	ev, ok := e.Event.(*replication.RowsEvent)
	if !ok || string(ev.Table.Schema) != w.name || !strings.HasPrefix(string(ev.Table.Table), prefix) {
		return nil
	}
	images := make([]*image, len(ev.Rows))
	for i, row := range ev.Rows {
		images[i] = &image{row, slices.Repeat([]bool{true}, len(row))}
		for _, c := range ev.SkippedColumns[i] {
			images[i].present[c] = false
		}
	}
	for i := 0; i < len(images); i++ {
		switch ev.Type() {
		case replication.EnumRowsEventTypeInsert:
			all = append(all, decodedChange{after: images[i]})
		case replication.EnumRowsEventTypeDelete:
			all = append(all, decodedChange{before: images[i]})
		default:
			all = append(all, decodedChange{images[i], images[i+1]})
			i++
		}
	}
	return all
}

func (t *valueType) sameDecoded(ours *string, decoded any) bool {
	switch {
	case decoded == nil || ours == nil:
		return decoded == nil && ours == nil
	case t.direct != nil:
		return t.direct(*ours, decoded)
	}
	if b, ok := decoded.([]byte); ok {
		return *ours == string(b)
	}
	return *ours == fmt.Sprint(decoded)
}

// compareCompat compares with what canal.relay.compat.decimal=true makes of the same binlog: only decimals lose their
// all-zero tail groups.
func compareCompat(t *testing.T, types []valueType, plain, compat []messageRow) {
	t.Helper()
	if len(plain) != len(compat) {
		t.Fatalf("%d rows, with compat.decimal %d", len(plain), len(compat))
	}
	for i := range plain {
		for _, m := range [][2]map[string]*string{{plain[i].data, compat[i].data}, {plain[i].old, compat[i].old}} {
			if len(m[0]) != len(m[1]) {
				t.Errorf("change %d: %d values, with compat.decimal %d", i, len(m[0]), len(m[1]))
			}
			for name, text := range m[0] {
				c, _ := strconv.Atoi(name[1:])
				want := text
				var precision, scale int
				if n, _ := fmt.Sscanf(types[c].ddl, "DECIMAL(%d,%d)", &precision, &scale); n == 2 && text != nil {
					cut := withoutZeroTail(*text, scale)
					want = &cut
				}
				if got := m[1][name]; shown(got) != shown(want) && !(types[c].ddl == "JSON" && types[c].same(got, want)) {
					t.Errorf("change %d, %s with compat.decimal: tail has %s, want %s", i, &types[c], shown(got), shown(want))
				}
			}
		}
	}
}

// withoutZeroTail is what Canal makes of a decimal: digits behind the last full group of nine are left out when they are
// all zero.
func withoutZeroTail(text string, scale int) string {
	r := scale % 9
	if r == 0 || strings.Trim(text[len(text)-r:], "0") != "" {
		return text
	}
	if text = text[:len(text)-r]; strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text
}

// timestampIn compares a TIMESTAMP's text with its UNIX_TIMESTAMP.
func timestampIn(zone *time.Location) func(ours, selected string) bool {
	return func(ours, selected string) bool {
		whole, fraction, _ := strings.Cut(selected, ".")
		seconds, err := strconv.ParseInt(whole, 10, 64)
		want := "0000-00-00 00:00:00"
		if seconds != 0 {
			want = time.Unix(seconds, 0).In(zone).Format(time.DateTime)
		}
		if fraction != "" {
			want += "." + fraction
		}
		return err == nil && ours == want
	}
}

func parsedFloats(bits int) func(a, b string) bool {
	return func(a, b string) bool {
		x, err := strconv.ParseFloat(a, bits)
		y, err2 := strconv.ParseFloat(b, bits)
		return err == nil && err2 == nil && x == y
	}
}

// sameHex compares bytes carried as code points with the hexadecimal form.
func sameHex(ours, selected string) bool {
	raw := make([]byte, 0, len(ours))
	for _, c := range ours {
		if c > 0xff {
			return false
		}
		raw = append(raw, byte(c))
	}
	return strings.EqualFold(hex.EncodeToString(raw), selected)
}

// sameJSON compares two texts of a document, but for the order of keys, the form of numbers and that of opaque values.
func sameJSON(ours, selected string) bool {
	if ours == "" { // as Canal has a NOT NULL document that was not given
		return selected == "null"
	}
	parse := func(text string) (v any, err error) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	a, err := parse(ours)
	b, err2 := parse(selected)
	return err == nil && err2 == nil && sameTree(a, b)
}

func sameTree(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k, v := range a {
			if other, ok := m[k]; !ok || !sameTree(v, other) {
				return false
			}
		}
		return true
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, sameTree)
	case json.Number:
		n, ok := b.(json.Number)
		return ok && (a == n || strings.ContainsAny(string(a+n), ".eE") && parsedFloats(64)(string(a), string(n)))
	case string:
		s, ok := b.(string)
		return ok && (a == s || a == opaque(s))
	}
	return a == b
}

// opaque is Canal's form of an opaque value that MySQL prints in its own: a date with a time, bytes as text or else as
// code points.
func opaque(selected string) string {
	switch {
	case selected == "00:00:00.000000":
		return "00:00:00"
	case selected == "0000-00-00":
		return "0000-00-00 00:00:00"
	case strings.HasPrefix(selected, "base64:"):
		raw, _ := base64.StdEncoding.DecodeString(selected[strings.LastIndexByte(selected, ':')+1:])
		if utf8.Valid(raw) {
			return string(raw)
		}
		runes := make([]rune, len(raw))
		for i, b := range raw {
			runes[i] = rune(b)
		}
		return string(runes)
	}
	return selected + " 00:00:00.000000"
}

// unsignedOf compares what go-mysql reads as a signed number, since it may not know the sign.
func unsignedOf(bits int) func(string, any) bool {
	return func(ours string, decoded any) bool {
		text := fmt.Sprint(decoded)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n < 0 {
			return ours == strconv.FormatUint(uint64(n)<<(64-bits)>>(64-bits), 10)
		}
		return ours == text
	}
}

func floatDecoded(bits int) func(string, any) bool {
	return func(ours string, decoded any) bool {
		x, err := strconv.ParseFloat(ours, bits)
		switch v := decoded.(type) {
		case float32:
			return err == nil && float32(x) == v
		case float64:
			return err == nil && x == v
		}
		return false
	}
}

// zeroFraction forgives go-mysql that it leaves out a fraction of zeros.
func zeroFraction(ours string, decoded any) bool {
	text := fmt.Sprint(decoded)
	head, fraction, _ := strings.Cut(ours, ".")
	return ours == text || head == text && strings.Trim(fraction, "0") == ""
}

// latin1Decoded compares bytes carried as code points.
func latin1Decoded(ours string, decoded any) bool {
	switch v := decoded.(type) {
	case string:
		return sameHex(ours, hex.EncodeToString([]byte(v)))
	case []byte:
		return sameHex(ours, hex.EncodeToString(v))
	}
	return false
}
