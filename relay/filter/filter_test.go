package filter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mustNew(t *testing.T, c Config) *Filter {
	t.Helper()
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSplit(t *testing.T) {
	tests := []struct {
		list string
		want []string
	}{
		{"", nil},
		{",", nil},
		{`s1\..*,s2.t1`, []string{`s1\..*`, `s2.t1`}},
		{"a.b, c.d", []string{"a.b", " c.d"}},
		{"a.b,,c.d", []string{"a.b", "c.d"}},
		{",a.b", []string{"a.b"}},
		{`test\.order_\d{1,2},test\.user_\d+`, []string{`test\.order_\d{1`, `2}`, `test\.user_\d+`}},
		{`a\(,b`, []string{`a\(`, "b"}},
	}
	for _, tt := range tests {
		if got := split(tt.list); !slices.Equal(got, tt.want) {
			t.Errorf("split(%q) = %q, want %q", tt.list, got, tt.want)
		}
	}
}

// A comma inside a pattern cuts it, as Canal 1.1.8 does (golden scenario 36); whoever writes one is told.
func TestTorn(t *testing.T) {
	for list, want := range map[string]string{
		``: "", `a\.b,c\.d{2}`: "", `a,b\.t_\d{1,2},c`: `b\.t_\d{1,2}`, `db\.(a,b)`: `db\.(a,b)`, `db\.t\,x,y`: `db\.t\,x`, `x,db\.[a,b]`: `db\.[a,b]`,
	} {
		if got := Torn(list); got != want {
			t.Errorf("Torn(%q) = %q, want %q", list, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	tests := []struct {
		white, black string
		yes, no      string // names separated by blanks
	}{
		{``, ``, "a.b mysql.user", ""},
		{`,`, `,`, "a.b", ""},
		{DefaultRegex, ``, "a.b A.B", ""},
		{DefaultRegex, `mysql\.slave_.*`, "mysql.user a.b", "mysql.slave_master_info MYSQL.SLAVE_x"},
		{`s1\..*,s2\..*`, ``, "s1.t1 s1.t2 s2.t2 S1.S2 S2.S1", "s12.t1 s3.t2"},
		{`s1\..*,s2.t1`, ``, "s1.t1 s1.t2 s2.t1", "s2.t2"},
		{`test\.order_\d{1,2},test\.user_\d+`, ``, "test.user_99", "test.order_7 test.order_123"},
		{`a.b, c.d`, ``, "a.b", "c.d"},
		{`a.b,,c.d`, ``, "c.d", "c.e"},
		{`zoo\.keep_.*,zoo.exact,zoo\.log_\d{1,2}`, `zoo\.keep_not.*`,
			"zoo.keep_one zoo.Exact", "zoo.keep_not zoo.other zoo.log_1 zoo.log_123 zoo.keep_not2"},
		{`^(?!mysql).*\..*`, ``, "test.user", "mysql.user"},
		{`db\.(a|b),(x)\.\2`, ``, "db.a x.x", "x.db"}, // groups count through the whole list
	}
	for _, tt := range tests {
		f := mustNew(t, Config{Regex: tt.white, BlackRegex: tt.black})
		for range 2 { // the second time from the cache
			for i, names := range []string{tt.no, tt.yes} {
				for _, name := range strings.Fields(names) {
					schema, table, _ := strings.Cut(name, ".")
					if f.Table(schema, table) != (i == 1) {
						t.Errorf("%q, %q on %s: got %v", tt.white, tt.black, name, i != 1)
					}
				}
			}
		}
		if f.Err() != nil {
			t.Error(f.Err())
		}
	}
}

func TestNewErrors(t *testing.T) {
	_, err := New(Config{Regex: `ok\.t,db\.a?+`})
	if err == nil || !strings.Contains(err.Error(), "canal.instance.filter.regex") || !strings.Contains(err.Error(), `"db\\.a?+"`) {
		t.Errorf("got %v", err)
	}
	_, err = New(Config{BlackRegex: `(?<=d)b`})
	if err == nil || !strings.Contains(err.Error(), "canal.instance.filter.black.regex") {
		t.Errorf("got %v", err)
	}
}

// A table whose pattern explodes stays captured, and the filter says why.
func TestTableLimit(t *testing.T) {
	f := mustNew(t, Config{Regex: `s\.(a+)+\1b(?=c)`})
	if !f.Table("s", strings.Repeat("a", 60)) || f.Err() == nil {
		t.Fatal(f.Err())
	}
}

func TestCacheIsBounded(t *testing.T) {
	f := mustNew(t, Config{Regex: `s\.t1.*`})
	for i := range maxCached + 10 {
		if f.Table("s", fmt.Sprint("t1", i)) != true {
			t.Fatal(i)
		}
	}
	if len(f.tables) > maxCached {
		t.Errorf("%d answers cached", len(f.tables))
	}
}

func TestColumn(t *testing.T) {
	f := mustNew(t, Config{
		Field:      "zoo.dove:ID/name, zoo.dugong : nothing ,zoo.bad,zoo.worse:a:b,zoo.twice:a,zoo.twice:b,:zoo.before:a,zoo.after:a::,zoo.empty: ,zoo.none:/,zoo.gap::a",
		BlackField: "zoo.drake:secret/T,zoo.dove:name,zoo.twice:b",
	})
	for name, want := range map[string]bool{
		"zoo.dove.id": true, "Zoo.Dove.NAME": true, "zoo.dove.secret": false,
		"zoo.dugong.id": false, "zoo.dugong.nothing": true,
		"zoo.drake.id": true, "zoo.drake.Secret": false, "zoo.drake.t": false,
		"zoo.bad.x": true, "zoo.worse.x": true, "zoo.other.x": true,
		"zoo.twice.a": false, "zoo.twice.b": true,
		"zoo.before.x": true, "zoo.after.a": true, "zoo.after.x": false, "zoo.empty.x": false, "zoo.none.x": true, "zoo.gap.x": true,
	} {
		p := strings.Split(name, ".")
		if f.Column(p[0], p[1], p[2]) != want {
			t.Errorf("%s: got %v", name, !want)
		}
	}
	if !mustNew(t, DefaultConfig()).Column("a", "b", "c") {
		t.Error("without field filters every column is captured")
	}
}

func BenchmarkTable(b *testing.B) {
	f, _ := New(Config{Regex: `zoo\..*,farm\..*`})
	for b.Loop() {
		f.Table("zoo", "lemur")
	}
}
