package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
)

// TestSampleConfiguration loads what deploy/conf ships, as it is and with every
// line that is commented out: each key is honoured, and none says anything but
// the default, but for what names servers, users and topics.
func TestSampleConfiguration(t *testing.T) {
	const sample = "../../../deploy/conf"
	env := map[string]string{"canal.register.ip": "192.0.2.1"} // whatever this host has
	node, findings, err := Load(sample, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if node.Instance("example") == nil {
		t.Fatal("the sample has no destination example")
	}
	for _, f := range findings {
		if _, set := env[f.Key]; f.Verdict != keys.Honoured && !set {
			t.Errorf("%s", f)
		}
	}
	ours := map[string]bool{}
	for _, name := range []string{"canal.properties", "example/instance.properties"} {
		text, err := os.ReadFile(filepath.Join(sample, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^#?((?:canal|kafka)\.\S+) = ?(.*)$`).FindAllStringSubmatch(string(text), -1) {
			k := keys.For(m[1])
			if k == nil || k.Verdict != keys.Honoured && !k.Takes(m[2]) {
				t.Errorf("%s: %s is not honoured", name, m[1])
				continue
			}
			ours[k.Name] = true
		}
	}
	for _, k := range keys.All() {
		if k.Verdict == keys.Honoured && strings.HasPrefix(k.Name, "canal.relay.") && !ours[k.Name] {
			t.Errorf("%s is not in the sample", k.Name)
		}
	}

	// Without these lines the configuration is the same.
	c := newConf(t)
	c.server = []string{"canal.serverMode = kafka", "canal.destinations = shop", "canal.auto.scan = true", "canal.zkServers = 127.0.0.1:2181", "kafka.bootstrap.servers = 127.0.0.1:9092"}
	c.instance = []string{"canal.instance.master.address = 127.0.0.1:3306", "canal.instance.dbUsername = canal", "canal.instance.dbPassword = canal", "canal.mq.topic = example",
		"canal.instance.binlog.format = ROW,STATEMENT,MIXED", "canal.instance.binlog.image = FULL,MINIMAL,NOBLOB", `canal.instance.filter.black.regex = mysql\\.slave_.*`}
	c.env = env
	plain := c.mustLoad()
	for _, n := range []*Node{plain, node} {
		n.Dir = ""
		i := &n.Instances[0]
		i.Name, i.MetaFile, i.Starter.Destination = "", "", ""
		i.Source.ServerID, i.Source.ReplicaUUID = 0, ""
	}
	if differ(plain, node) {
		t.Errorf("the sample sets something else than defaults: %s", cmp.Diff(plain.Instances[0].Source, node.Instances[0].Source))
	}
}

// TestComposeConfiguration loads the configuration of the compose set as its
// nodes do.
func TestComposeConfiguration(t *testing.T) {
	env := map[string]string{"TZ": "UTC", "canal.register.ip": "relay-1"}
	node, findings, err := Load("../../../deploy/compose/conf", func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if node.Identity != "relay-1:11111" {
		t.Errorf("identity %s", node.Identity)
	}
	for _, f := range findings {
		if f.Verdict != keys.Honoured {
			t.Errorf("%s", f)
		}
	}
}
