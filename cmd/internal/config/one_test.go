package config

import (
	"strings"
	"testing"
)

// TestLoadOne: a command about one destination does not mind what is wrong with another; what is wrong with the server it does.
func TestLoadOne(t *testing.T) {
	c := newConf(t)
	c.server[1] = "canal.destinations = shop,crm"
	c.write("crm/instance.properties", strings.Join(c.instance, "\n"))
	c.mustLoad()
	c.write("crm/instance.properties", strings.Join(c.instance, "\n")+"\ncanal.instance.gtidon = maybe\n")
	if _, _, err := c.load(); err == nil || !strings.Contains(err.Error(), "maybe") {
		t.Fatalf("all of them: %v", err)
	}
	one := func(name string) (*Node, error) {
		n, _, err := LoadOne(c.dir, func(string) (string, bool) { return "", false }, name)
		return n, err
	}
	if n, err := one("shop"); err != nil || len(n.Instances) != 1 || n.Instance("shop") == nil {
		t.Errorf("shop: %v, %v", n, err)
	}
	for _, name := range []string{"crm", "none", ""} {
		if _, err := one(name); err == nil || !strings.Contains(err.Error(), "maybe") {
			t.Errorf("%q: %v", name, err)
		}
	}
	c.server = append(c.server, "canal.port = x")
	_, _, _ = c.load() // writes it
	if _, err := one("shop"); err == nil || !strings.Contains(err.Error(), "canal.port") {
		t.Errorf("the server: %v", err)
	}
}
