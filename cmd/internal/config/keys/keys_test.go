package keys

import (
	"strings"
	"testing"
)

// TestTable holds the lines of the table to what readers of them expect.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		if seen[k.Name] {
			t.Errorf("%s has two lines", k.Name)
		}
		seen[k.Name] = true
		if k.Note == "" || k.Kind == "" || k.Scope == "" {
			t.Errorf("%s lacks a note, kind or scope", k.Name)
		}
		if strings.HasSuffix(k.Note, ".") {
			t.Errorf("%s: the note is no full sentence: %q", k.Name, k.Note)
		}
		switch k.Verdict {
		case Honoured, Ignored, Refused:
		case Unknown:
			if !strings.Contains(k.Name, "*") {
				t.Errorf("%s stands in the table as unknown", k.Name)
			}
		default:
			t.Errorf("%s: verdict %q", k.Name, k.Verdict)
		}
		if k.Verdict == Refused && (!k.Takes(k.Default) || !k.Takes("")) {
			t.Errorf("%s refuses its default", k.Name)
		}
		if k.Scope == ScopeProcess && !strings.HasPrefix(k.Name, "canal.relay.") {
			t.Errorf("%s is Canal's, and none of Canal's keys is read so", k.Name)
		}
		if secretName(k.Name) != (k.Kind == Password) {
			t.Errorf("%s: kind %s", k.Name, k.Kind)
		}
	}
}

// secretName tells from a name whether its value must not be shown.
func secretName(name string) bool {
	lower := strings.ToLower(name)
	for _, not := range []string{".file", "*"} {
		if strings.Contains(lower, not) {
			return false
		}
	}
	for _, word := range []string{"passw", "secret", "accesskey", "jaas.config", "keystore.key", "zookeeper.auth", "webhook"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

func TestFor(t *testing.T) {
	for name, want := range map[string]string{
		"canal.port":                                             "canal.port",
		"canal.instance.global.lazy":                             "canal.instance.global.lazy",
		"canal.instance.shop.lazy":                               "canal.instance.*.lazy",
		"canal.instance.shop.spring.xml":                         "canal.instance.*.spring.xml",
		"canal.instance.tsdb.spring.xml":                         "canal.instance.tsdb.spring.xml",
		"kafka.sasl.something":                                   "kafka.sasl.*",
		"kafka.anything":                                         "kafka.*",
		"kafka.":                                                 "",
		"canal.instance.master1.journal.name":                    "canal.instance.master1.*",
		"canal.relay.secret.a.b.file":                            "canal.relay.secret.*.file",
		"canal.relay.secret..file":                               "",
		"canal.instance.*.lazy":                                  "canal.instance.*.lazy",
		"canal.instance.master.trustCertificateKeyStorePassword": "canal.instance.master.trustCertificateKeyStorePassword",
		"canal.relay.none":                                       "",
		"":                                                       "",
	} {
		got := ""
		if k := For(name); k != nil {
			got = k.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"canal.zkServer":                  "canal.zkServers",
		"canal.instance.filter.regexp":    "canal.instance.filter.regex",
		"canal.relay.sesion.timeout":      "canal.relay.session.timeout",
		"canal.instance.master.adress":    "canal.instance.master.address",
		"entirely.different":              "",
		"x":                               "",
		"canal.instance.filter.blak.rege": "canal.instance.filter.black.regex",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestNoDefaultSecret: no door has a key that everybody knows. (The one of the
// source is Canal's; it opens somebody else's door, and only if it was made so.)
func TestNoDefaultSecret(t *testing.T) {
	for _, k := range All() {
		if k.Kind == Password && k.Default != "" && k.Name != "canal.instance.dbPassword" {
			t.Errorf("%s has a default", k.Name)
		}
	}
}
