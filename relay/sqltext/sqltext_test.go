package sqltext

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/go-mysql-org/go-mysql/replication"
)

func TestVariables(t *testing.T) {
	user := func(name string, null bool, kind byte, v []byte) []byte {
		b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(name))), name...)
		if null {
			return append(b, 1)
		}
		b = binary.LittleEndian.AppendUint32(append(b, 0, kind), 45)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	number := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, tt := range []struct {
		kind replication.EventType
		body []byte
		want string
	}{
		{replication.USER_VAR_EVENT, user("v", false, 0, []byte("it's ü")), "SET @v := 'it's ü'"},
		{replication.USER_VAR_EVENT, user("n", true, 0, nil), "SET @n := NULL"},
		{replication.USER_VAR_EVENT, user("i", false, 2, number(math.MaxUint64)), "SET @i := -1"},
		{replication.USER_VAR_EVENT, user("r", false, 1, number(math.Float64bits(1.5))), "SET @r := 1.5"},
		{replication.USER_VAR_EVENT, user("d", false, 4, []byte{4, 2, 0x8c, 0x22}), "SET @d := 12.34"},
		{replication.USER_VAR_EVENT, []byte{9, 0, 0, 0, 'v'}, ""},
		{replication.USER_VAR_EVENT, nil, ""},
		{replication.RAND_EVENT, append(number(1), number(2)...), "SET SESSION rand_seed1 = 1 , rand_seed2 = 2"},
		{replication.RAND_EVENT, number(1), ""},
	} {
		if got := Variable(tt.kind, tt.body); got != tt.want {
			t.Errorf("%s %x: %q, want %q", tt.kind, tt.body, got, tt.want)
		}
	}
}

// TestStatusVars reads recorded status variables, and does not run past their
// end.
func TestStatusVars(t *testing.T) {
	b := []byte{0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 0, 6, 3, 's', 't', 'd', 4, 28, 0, 28, 0, 255, 0, 200, 1}
	if v := ReadVars(b); v.SQLMode != 4 || v.Client != 28 {
		t.Errorf("%+v", v)
	}
	for n := range b {
		ReadVars(b[:n])
	}
	if got := (Vars{Client: 28}).Text([]byte("CREATE TABLE \xd6\xd0")); got != "CREATE TABLE 中" {
		t.Errorf("gbk: %q", got)
	}
}

// Whatever the bytes: no panic, and texts bounded by them.
func FuzzTexts(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0, 0, 4, 255, 0, 45, 0, 255, 0}, []byte("SELECT 1"), byte(replication.USER_VAR_EVENT))
	f.Add([]byte("\x01\x00\x00\x00a\x00\x00\xff\x00\x00\x00\x01\x00\x00\x00b"), []byte{0xe9}, byte(replication.RAND_EVENT))
	f.Fuzz(func(t *testing.T, status, raw []byte, kind byte) {
		sql, database := LoadQuery(status)
		total := len(sql) + len(database) + len(Variable(replication.EventType(kind), status)) + len(CutNUL(string(raw)))
		v := ReadVars(status)
		total += len(v.Charset()) + len(v.Text(raw))
		if total > 16*(len(status)+len(raw))+1024 {
			t.Errorf("%d bytes of text from %d and %d", total, len(status), len(raw))
		}
	})
}
