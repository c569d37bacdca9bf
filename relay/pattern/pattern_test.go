package pattern

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{`s1\..*`, []string{"s1.t1", "S1.S2"}, []string{"s12.t1", "s3.t2"}},
		{`f.*t`, []string{"fooooot"}, nil},
		{`foo|foot`, []string{"foo"}, []string{"foot"}},
		{`foot|foo`, []string{"foo", "foot"}, nil},
		{`(foo|foot)`, []string{"foot"}, nil},
		{`otter2.otter_stability1|otter1.otter_stability1|retl.retl_mark|retl.retl_buffer|retl.xdual`,
			[]string{"otter1.otter_stability1", "retl.xdual"}, []string{"xretl.retl_mark", "otter2.otter_stability1x"}},
		{`test\.order_\d{1,2}`, []string{"test.order_5", "test.order_42"}, []string{"test.order_123", "test.order_"}},
		{`test\.t_\d{2,}`, []string{"test.t_12", "test.t_123"}, []string{"test.t_1"}},
		{` c.d`, nil, []string{"c.d"}},
		{`A\.B`, []string{"a.b"}, nil},
		{`[A-Z]+\.t`, []string{"abc.t"}, nil},
		{`[^a-z]+\.t`, []string{"123.t"}, []string{"ABC.t"}},
		{`[0-Z]+`, []string{"12:@"}, []string{"a", "A"}},
		{`.*\..*`, []string{"mysql.user", "a.b\nc"}, []string{"nodot"}},
		{`.*`, []string{"nodot"}, nil},
		{`mysql\.slave_.*`, []string{"mysql.slave_master_info"}, []string{"mysql.user"}},
		{`^(?!mysql).*\..*`, []string{"test.user"}, []string{"mysql.user"}},
		{`(?!mysql\.).*\..*`, []string{"mysql2.user"}, []string{"mysql.user"}},
		{`(?=a).*`, []string{"ab"}, []string{"ba"}},
		{`db\.(a,b)`, []string{"db.a,b"}, []string{"db.a"}},
		{`db\.[a,b]`, []string{"db.a", "db.b"}, nil},
		{`db\.t\,x`, []string{"db.t,x"}, nil},
		{`test\.t$`, []string{"test.t"}, nil},
		{`test\.t`, nil, []string{"test.t\n"}},
		{`test.t`, nil, []string{"test.t."}},
		{`test`, nil, []string{"test.abc"}},
		{`test.*`, []string{"test.abc", "testing.x"}, nil},
		{`test..*`, []string{"test.abc"}, nil},
		{`db\.t1|db\.t1_bak`, nil, []string{"db.t1_bak"}},
		{`db\.(t1|t1_bak)`, []string{"db.t1_bak"}, nil},
		{`db\.t.*|xx`, []string{"db.tabc"}, nil},
		{`a|ab|abc`, nil, []string{"abc"}},
		{`abc|ab|a`, []string{"abc"}, nil},
		{`a*|ab`, nil, []string{"ab"}},
		{`test\.i.lan`, []string{"test.İLAN"}, []string{"test.ilan"}},
		{`test\.用户.*`, []string{"test.用户表"}, nil},
		{`test\.\w+`, []string{"test.用户"}, []string{"test.a-b"}},
		{`db\.t_[0-9]{2}`, []string{"db.t_07"}, nil},
		{`(?i)DB\.T`, []string{"db.t"}, nil},
		{`(?-i)DB\.T`, nil, []string{"db.t", "DB.T"}},
		{`db\.(?:x|y)`, []string{"db.y"}, nil},
		{`(db)\.\1`, []string{"db.db"}, []string{"db.da"}},
		{`db\.t+?`, []string{"db.ttt"}, nil},
		{`db\.[[:alpha:]]+`, []string{"db.abc", "db.é"}, []string{"db.a1"}},
		{`db\.[[:^alpha:]]+`, []string{"db.12"}, []string{"db.a1"}},
		{`db\.\p{Alpha}+`, nil, []string{"db.abc"}},
		{`db\.\Qa.b\E`, nil, []string{"db.a.b"}},
		{`db1|db2`, []string{"db1", "db2"}, nil},
		{`db|db1`, []string{"db"}, []string{"db1"}},
		{`\btest\b.x`, []string{"test.x"}, []string{"testy.x"}},
		{`a\Bb`, []string{"ab"}, nil},
		{`\D\S\W`, []string{"ab-"}, []string{"1b-", "a -", "abé"}},
		{`[\W_]x`, []string{"-x", "_x"}, []string{"ax"}},
		{`[^\Wa]x`, []string{"bx"}, []string{"-x", "ax"}},
		{`[\]\-\[^]+`, []string{"]-[^"}, []string{"a", `\`}},
		{`[]-]+`, []string{"]-"}, nil},
		{`\x41\101\cA\e\t`, []string{"aa\x01\x1b\t"}, nil},
		{`{a}x{,2}`, []string{"{a}x{,2}"}, nil},
		{`a(?#comment)b`, []string{"ab"}, nil},
		{`a{1,2000}`, []string{"aaa"}, nil},
		{`(?m)a$.^b`, []string{"a\nb"}, nil},
		{`(?-s)a.b`, []string{"axb"}, []string{"a\nb"}},
		{`*.t`, []string{"xt"}, []string{"x.t"}}, // the ^ before it is what repeats
		{`\Aa\Z`, []string{"a"}, nil},
	}
	for _, tt := range tests {
		p, err := Compile(tt.pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", tt.pattern, err)
			continue
		}
		for i, names := range [][]string{tt.no, tt.yes} {
			for _, name := range names {
				if got, err := p.Match(name); err != nil || got != (i == 1) {
					t.Errorf("%q on %q: got %v, %v", tt.pattern, name, got, err)
				}
			}
		}
	}
}

// A list is one expression: the longest piece is tried first, whatever its place.
func TestCompileList(t *testing.T) {
	p, err := Compile(strings.Split(`u\..*,uvw\..*,uv\..*,a\.x,a\.xyz,a\.xy,abc\.x,abc\.xyz,abc\.xy,ab\.x,ab\.xyz,ab\.xy`, ",")...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"u.abc": true, "ab.x": true, "ab.xyz1": false, "abc.xyz": true, "uv.xyz": true, "a.xyz": true, "a.xyz1": false, "v.x": false,
	} {
		if got, _ := p.Match(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, bad := range []string{
		`a|*`, `a?+`, `a**`, `a{1}{2}`, `db\.(?<n>x)`, `(?P<n>x)`, `(?<=d)b\.t`, `(?i:x)`, `(?x)a`,
		`(a`, `a)`, `[a`, `[z-a]`, `[a-\d]`, `\1`, `(a)\2`, `a{3,1}`, `(?#x`, `(?i`,
	} {
		_, err := Compile(`ok\.t`, bad)
		if err == nil {
			t.Errorf("Compile(%q) accepted", bad)
		} else if strings.Contains(err.Error(), "ok") && !strings.Contains(err.Error(), "together") {
			t.Errorf("Compile(%q): %v does not name the piece", bad, err)
		}
	}
	if _, err := Compile(); err == nil {
		t.Error("no pieces accepted")
	}
	if p, err := Compile(`a\`); err != nil {
		t.Errorf("a trailing backslash escapes the $ that follows: %v", err)
	} else if ok, _ := p.Match("a$"); !ok {
		t.Error(`a\ does not match a$`)
	}
}

// A pattern that explodes ends in an error, not in a hang.
func TestMatchLimit(t *testing.T) {
	p, err := Compile(`(a+)+\1b(?=c)`)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := p.Match(strings.Repeat("a", 60)); ok || err == nil || !strings.Contains(err.Error(), "simplify") {
		t.Fatalf("got %v, %v", ok, err)
	}
}

func TestIsPattern(t *testing.T) {
	for s, want := range map[string]bool{"test.user": false, "test": false, `a\.b`: true, "a|b": true, "a$": true, "用户": false} {
		if IsPattern(s) != want {
			t.Errorf("IsPattern(%q) = %v", s, !want)
		}
	}
}

// Whatever is compiled for RE2 means the same to the backtracking engine.
func FuzzEngines(f *testing.F) {
	f.Add(`a|ab|(c+?)\w{1,2}`, "abc")
	f.Add(`[^\Wa-z\]]*\.$`, "x.y")
	f.Add(`(a|b)*?(?:ab)+[[:^digit:]]`, "abab_")
	f.Fuzz(func(t *testing.T, source, name string) {
		if !utf8.ValidString(source) || !utf8.ValidString(name) || len(source) > 40 || len(name) > 40 {
			t.Skip()
		}
		p, err := Compile(source)
		if err != nil || p.linear == nil {
			t.Skip()
		}
		deep, err := regexp2.Compile(p.linear.String(), regexp2.None)
		if err != nil {
			t.Skip() // an empty loop or the like that only RE2 takes
		}
		deep.MatchTimeout = matchLimit
		got, _ := p.Match(name)
		want, err := (&Pattern{source: p.source, deep: deep}).Match(name)
		if err == nil && got != want {
			t.Errorf("%q on %q: RE2 %v, backtracking %v", source, name, got, want)
		}
	})
}
