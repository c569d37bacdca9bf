package properties

import (
	"errors"
	"strings"
	"testing"
)

func testSource(t *testing.T, env map[string]string, texts ...string) *Source {
	t.Helper()
	s := &Source{Env: lookup(env), Used: map[string]bool{}}
	for i, text := range texts {
		f, err := NewFile([]string{"canal.properties", "instance.properties"}[i], []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s.Files = append(s.Files, f)
	}
	return s
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := env[k]; return v, ok }
}

func TestDirect(t *testing.T) {
	s := testSource(t, map[string]string{"a.env": " E ", "a.empty": ""}, "a.env=F\na.empty=F\na.file = F \na.mark=${a.file}\na.blank=", "a.file=I")
	for _, tc := range []struct{ key, want, where string }{
		{"a.env", "E", "environment"},
		{"a.empty", "", "environment"}, // present but empty still wins
		{"a.file", "F", "canal.properties:3"},
		{"a.mark", "${a.file}", "canal.properties:4"},
		{"a.blank", "", "canal.properties:5"},
		{"a.none", "", ""},
	} {
		if got := s.Direct(tc.key); got.Value != tc.want || got.Where != tc.where {
			t.Errorf("%s = %q (%s), want %q (%s)", tc.key, got.Value, got.Where, tc.want, tc.where)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	s := testSource(t, map[string]string{"p.env": "E", "p.blank.env": "  "},
		"p.env=F\np.blank.env=F\np.both=server\np.hidden=server\np.server=S\nvar=V\nurl=jdbc:h2:x\np.ends=${open",
		"p.both=instance\np.hidden= \np.x=<${var}>\np.y=${none:${var}}${none2:d:e}\np.z=${ var : q }\np.twice=${p.x}${p.x}\np.name=${canal.instance.destination:}/h2\np.n=${${pre}ix:n}\npre=pref\nprefix=P\np.brace=${none:x{1,2}y}\np.url=${url:z}\np.lost=[${lost}]")
	s.Fixed = map[string]string{"canal.instance.destination": "shop"}
	for _, tc := range []struct{ key, def, want, where string }{
		{"p.env", "d", "E", "environment"},
		{"p.blank.env", "d", "F", "canal.properties:2"}, // a blank one does not override
		{"p.both", "d", "instance", "instance.properties:1"},
		{"p.hidden", "d", "d", "instance.properties:2"}, // blank hides the server's, then falls to the default
		{"p.server", "d", "S", "canal.properties:5"},
		{"p.none", "${var}", "V", ""}, // a default is expanded too
		{"p.x", "", "<V>", "instance.properties:3"},
		{"p.y", "", "Vd:e", "instance.properties:4"}, // the first colon splits
		{"p.z", "", "V", "instance.properties:5"},
		{"p.twice", "", "<V><V>", "instance.properties:6"}, // twice is no cycle
		{"p.name", "", "shop/h2", "instance.properties:7"},
		{"p.n", "", "P", "instance.properties:8"},
		{"p.brace", "", "x{1,2}y", "instance.properties:11"},
		{"p.url", "", "jdbc:h2:x", "instance.properties:12"},
		{"p.lost", "", "[]", "instance.properties:13"}, // never left unresolved
		{"p.ends", "", "${open", "canal.properties:8"},
	} {
		got, err := s.Placeholder(tc.key, tc.def)
		if err != nil || got.Value != tc.want || got.Where != tc.where {
			t.Errorf("%s = %q (%s, %v), want %q (%s)", tc.key, got.Value, got.Where, err, tc.want, tc.where)
		}
	}
	if !s.Used["var"] || s.Used["p.x "] {
		t.Errorf("used = %v", s.Used)
	}
}

func TestPlaceholderCycles(t *testing.T) {
	s := testSource(t, nil, "a=${a}\nb=x${c:1}\nc=${d}\nd=${b}")
	for _, key := range []string{"a", "b", "c", "d"} {
		if got, err := s.Placeholder(key, ""); !errors.Is(err, ErrCycle) {
			t.Errorf("%s = %q, %v; want a cycle", key, got.Value, err)
		}
	}
}

func TestPlaceholderSize(t *testing.T) {
	text := "k0=" + strings.Repeat("x", 64)
	for i := 1; i < 30; i++ {
		text += "\nk" + string(rune('a'+i)) + "=${k" + map[bool]string{true: "0", false: string(rune('a' + i - 1))}[i == 1] + "}"
		text += strings.Repeat("${k"+map[bool]string{true: "0", false: string(rune('a' + i - 1))}[i == 1]+"}", 3)
	}
	s := testSource(t, nil, text)
	if _, err := s.Placeholder("kz", ""); err == nil {
		t.Error("a value of many gigabytes was built")
	}
}
