package config

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenConfigurations loads the configuration of every recorded scenario
// as the golden tests write it.
func TestGoldenConfigurations(t *testing.T) {
	const corpus = "../../canal-relay/testdata/golden"
	scenarios, err := filepath.Glob(corpus + "/*/conf.properties")
	if err != nil || len(scenarios) < 50 {
		t.Fatalf("%d scenarios in %s (%v)", len(scenarios), corpus, err)
	}
	for _, path := range scenarios {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			c := newConf(t)
			c.server = append(c.server, "canal.relay.compat.decimal = true")
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for s := bufio.NewScanner(f); s.Scan(); {
				file, line, _ := strings.Cut(s.Text(), ":")
				switch {
				case strings.HasPrefix(line, "canal.mq.flatMessage"):
				case file == "canal.properties":
					c.server = append(c.server, line)
				case file == "instance.properties":
					c.instance = append(c.instance, line)
				}
			}
			_, findings, err := c.load()
			if err != nil {
				t.Error(err)
			}
			for _, f := range findings {
				if f.Verdict == "unknown" {
					t.Errorf("%s", f)
				}
			}
		})
	}
}
