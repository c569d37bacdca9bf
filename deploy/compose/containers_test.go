package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// service is what these tests read of a service in docker-compose.yml.
type service struct {
	Image string
	Build *struct {
		Context    string
		Dockerfile string
	}
	Environment map[string]string
	Volumes     []string
	DependsOn   yaml.Node `yaml:"depends_on"`
	ReadOnly    bool      `yaml:"read_only"`
	Healthcheck *struct{ Test []string }
	Ports       []string
}

type composition struct {
	Services map[string]service
	Volumes  map[string]yaml.Node
}

func TestComposeNamesThingsThatExist(t *testing.T) {
	c := readCompose(t)
	for name, s := range c.Services {
		if s.Build != nil {
			mustExist(t, name, filepath.Join("..", s.Build.Context, s.Build.Dockerfile))
		} else if _, tag, ok := strings.Cut(s.Image, ":"); !ok || tag == "latest" {
			t.Errorf("%s: image %q has no version", name, s.Image)
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if strings.HasPrefix(source, ".") {
				mustExist(t, name, filepath.Join("..", source))
			} else if _, ok := c.Volumes[source]; !ok {
				t.Errorf("%s: volume %q is not declared", name, source)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to the network, with passwords that everybody knows", name, p)
			}
		}
		for on, waits := range dependencies(t, s.DependsOn) {
			other, ok := c.Services[on]
			if !ok {
				t.Errorf("%s depends on %s, which is not there", name, on)
			}
			if waits && other.Healthcheck == nil {
				t.Errorf("%s waits for %s to be healthy, which has no health check", name, on)
			}
		}
	}
}

// Two nodes with one configuration and different names: what the set is for.
func TestComposeRunsTwoNodes(t *testing.T) {
	c := readCompose(t)
	a, b := c.Services["relay-1"], c.Services["relay-2"]
	const identity = "canal.register.ip"
	if a.Environment[identity] == "" || a.Environment[identity] == b.Environment[identity] {
		t.Errorf("%s is %q and %q, want two names", identity, a.Environment[identity], b.Environment[identity])
	}
	for _, s := range []service{a, b} {
		if !s.ReadOnly {
			t.Error("a relay node can write to its root file system")
		}
		if got := strings.Join(s.Volumes, " "); got != "./compose/conf:/etc/canal-relay:ro" {
			t.Errorf("a relay node mounts %q", got)
		}
	}
	server := string(read(t, "conf/canal.properties"))
	instance := string(read(t, "conf/example/instance.properties"))
	for service, text := range map[string]string{
		"zookeeper": "canal.zkServers = zookeeper:", "kafka": "kafka.bootstrap.servers = kafka:", "mysql": "canal.instance.master.address = mysql:",
	} {
		if _, ok := c.Services[service]; !ok {
			t.Errorf("no service %s", service)
		}
		if !strings.Contains(server+instance, text) {
			t.Errorf("the configuration does not say %q", text)
		}
	}
	partitions := "canal.mq.partitionsNum = " + c.Services["kafka"].Environment["KAFKA_NUM_PARTITIONS"] + "\n"
	if !strings.Contains(instance, partitions) {
		t.Errorf("topics get another number of partitions than the relay counts on: no %q", partitions)
	}
}

func TestPrometheusAsksTheNodes(t *testing.T) {
	var conf struct {
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Job    string `yaml:"job_name"`
			Static []struct{ Targets []string }
		} `yaml:"scrape_configs"`
	}
	text := strings.ReplaceAll(string(read(t, "../prometheus/prometheus.yml")), "static_configs:", "static:")
	if err := yaml.Unmarshal([]byte(text), &conf); err != nil {
		t.Fatal(err)
	}
	for _, f := range conf.RuleFiles {
		mustExist(t, "prometheus.yml", filepath.Join("../prometheus", f))
	}
	asked := map[string]bool{}
	for _, target := range conf.Scrape[0].Static[0].Targets {
		asked[target] = true
	}
	for name, s := range readCompose(t).Services {
		if s.Build != nil && !asked[name+":11112"] {
			t.Errorf("Prometheus does not ask %s", name)
		}
	}
}

func TestGrafanaIsProvisioned(t *testing.T) {
	var sources struct {
		Datasources []struct{ UID, Type, URL string }
	}
	unmarshal(t, "../grafana/provisioning/datasources/prometheus.yml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" {
		t.Errorf("data sources: %+v", sources.Datasources)
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	unmarshal(t, "../grafana/provisioning/dashboards/canal-relay.yml", &dashboards)
	path := dashboards.Providers[0].Options.Path
	mounts := strings.Join(readCompose(t).Services["grafana"].Volumes, "\n")
	if !strings.Contains(mounts, "./grafana/dashboards:"+path+":ro") {
		t.Errorf("the dashboards are looked for in %s and mounted by\n%s", path, mounts)
	}
}

// The image holds what `make build` makes, by the Go release of go.mod, and
// does not run as root.
func TestDockerfile(t *testing.T) {
	text := string(read(t, "../Dockerfile"))
	goVersion := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(read(t, "../../go.mod")))[1]
	build, final, ok := strings.Cut(text, "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not empty at its start")
	}
	for _, want := range []string{"golang:" + goVersion + "-", " make build "} {
		if !strings.Contains(build, want) {
			t.Errorf("the build stage does not say %q", want)
		}
	}
	for _, want := range []string{"\nUSER 65532:65532\n", "\nEXPOSE 11112\n", "/src/bin/canal-relay ", "/etc/ssl/certs/ca-certificates.crt "} {
		if !strings.Contains(final, want) {
			t.Errorf("the last stage does not say %q", want)
		}
	}
	makefile := string(read(t, "../../Makefile"))
	for _, want := range []string{"CGO_ENABLED=0 go build", "bin/canal-relay\n", "-X main.version=$(VERSION)"} {
		if !strings.Contains(makefile, want) {
			t.Errorf("the Makefile does not say %q: is the binary still static, and where the Dockerfile takes it from?", want)
		}
	}
}

func readCompose(t *testing.T) composition {
	t.Helper()
	var c composition
	unmarshal(t, "../docker-compose.yml", &c)
	return c
}

// dependencies maps the names in depends_on, whichever way it is written, to
// whether health is waited for.
func dependencies(t *testing.T, n yaml.Node) map[string]bool {
	t.Helper()
	on := map[string]bool{}
	if n.Kind == yaml.SequenceNode {
		for _, name := range n.Content {
			on[name.Value] = false
		}
		return on
	}
	var conditions map[string]struct{ Condition string }
	if err := n.Decode(&conditions); n.Kind != 0 && err != nil {
		t.Fatal(err)
	}
	for name, c := range conditions {
		on[name] = c.Condition == "service_healthy"
	}
	return on
}

func unmarshal(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func mustExist(t *testing.T, who, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s: %v", who, err)
	}
}
