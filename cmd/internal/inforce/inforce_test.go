package inforce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/exit"
)

// conf writes a configuration with one destination, shop.
func conf(t *testing.T, server, instance string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "canal.properties"), "canal.serverMode = kafka\ncanal.destinations = shop\ncanal.register.ip = 192.0.2.1\nkafka.bootstrap.servers = k:9092\n"+server)
	put(t, filepath.Join(dir, "shop", "instance.properties"), "canal.instance.master.address = db:3306\n"+instance)
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs the command; the lines that it prints are by destination and key, their
// blanks squeezed.
func run(t *testing.T, env map[string]string, args ...string) (out string, err error) {
	t.Helper()
	var b bytes.Buffer
	cmd := Command(func(name string) (string, bool) { v, ok := env[name]; return v, ok }, &b)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return strings.ReplaceAll(b.String(), "\t", " "), err
}

func lines(out, dir string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(out, dir+string(filepath.Separator), "")) {
		if f := strings.Fields(line); len(f) > 3 {
			found[f[0]+" "+f[1]] = strings.Join(f[2:], " ")
		}
	}
	return found
}

// TestWhereValuesComeFrom is field case CF-06: one key in every place where it can
// stand, by both of Canal's readers.
func TestWhereValuesComeFrom(t *testing.T) {
	dir := conf(t, `canal.port = 11111
canal.metrics.pull.port =
canal.mq.topic = global
canal.mq.partition = 1
canal.instance.filter.regex = a\\..*
canal.instance.filter.black.regex = b\\..*
canal.zookeeper.flush.period = 100
kafka.acks = all
kafka.linger.ms = 2
canal.mq.lingerMs = 7
kafka.ssl.endpoint.identification.algorithm =
place = over ${canal.instance.destination}
`, `canal.mq.topic = own
canal.instance.filter.regex =
canal.instance.filter.black.regex = ${place}
canal.relay.delivery = exactly-once
canal.relay.memory = 8MiB
`)
	env := map[string]string{"canal.port": "", "canal.mq.partition": " ", "canal.zookeeper.flush.period": "300", "kafka.acks": "-1", "kafka.client.id": "nobody", "canal.relay.memory": "16MiB",
		"TZ": "Asia/Shanghai"}
	out, err := run(t, env, "--conf", dir)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(out, dir)
	for key, want := range map[string]string{
		"- canal.port":                                  "11111 default (blank in environment)", // the direct reader lets a blank win
		"- canal.metrics.pull.port":                     "11112 default (blank in canal.properties:6)",
		"- canal.register.ip":                           "192.0.2.1 canal.properties:3",
		"- kafka.acks":                                  "-1 environment",
		"- kafka.client.id":                             "canal-relay default", // the environment adds none
		"- kafka.linger.ms":                             "7 canal.properties:14",
		"- canal.mq.lingerMs":                           "7 canal.properties:14",
		"- kafka.ssl.endpoint.identification.algorithm": "- canal.properties:15",
		"shop canal.mq.topic":                           "own shop/instance.properties:2",
		"shop canal.mq.partition":                       "1 canal.properties:8", // the placeholder reader does not
		"shop canal.instance.filter.regex":              `.*\..* default (blank in shop/instance.properties:3)`,
		"shop canal.instance.filter.black.regex":        "over shop shop/instance.properties:4",
		"shop canal.zookeeper.flush.period":             "300 environment",
		"shop canal.relay.memory":                       "16MiB environment",
		"shop canal.relay.takeover.delay":               "0s default",
		"shop canal.relay.position.topic":               "canal-relay-positions default",
		"shop canal.relay.schema.store":                 "file default",
		"shop canal.relay.time.zone":                    "Asia/Shanghai default",
		"shop canal.instance.dbPassword":                "*** default",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if _, shown := got["- canal.mq.servers"]; shown {
		t.Error("an older name that is not set is shown")
	}

	out, err = run(t, env, "--conf", dir, "--destination", "shop", "--set", "--json", "canal.mq.topic", "canal.mq.partitionHash")
	var all []config.Value
	if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != 1 || all[0].Key != "canal.mq.topic" || all[0].From != config.FromFile || all[0].Destination != "shop" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSecretsAreMasked plants a secret wherever one can stand.
func TestSecretsAreMasked(t *testing.T) {
	dir := conf(t, `canal.admin.passwd = Pl4nted-admin
kafka.sasl.jaas.config = x.PlainLoginModule required username="u" password="Pl4nted-jaas";
kafka.ssl.truststore.password = Pl4nted-trust
canal.relay.http.user = ops
canal.relay.http.password = Pl4nted-http
canal.relay.zookeeper.auth = relay:Pl4nted-zk
canal.relay.alarm.webhook = http://hook/Pl4nted-path
db.password = Pl4nted-place
`, `canal.instance.dbPassword = ${db.password}
canal.relay.secret.canal.instance.tsdb.dbPassword.file = tsdb.txt
canal.instance.tsdb.url = jdbc:mysql://root:Pl4nted-url@h:3306/canal?password=Pl4nted-parameter&useSSL=false
canal.mq.topic = t
`)
	put(t, filepath.Join(dir, "tsdb.txt"), "Pl4nted-file\n")
	for _, args := range [][]string{{"--conf", dir}, {"--conf", dir, "--json"}, {"--conf", dir, "--set"}} {
		out, err := run(t, nil, args...)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "Pl4nted") {
			t.Errorf("%v shows a secret:\n%s", args, out)
		}
	}
	out, _ := run(t, nil, "--conf", dir)
	got := lines(out, dir)
	if v := got["shop canal.instance.tsdb.dbPassword"]; v != "*** secret file: tsdb.txt" {
		t.Errorf("a secret of a file: %q", v)
	}
	if v := got["shop canal.instance.tsdb.url"]; v != "jdbc:mysql://root:***@h:3306/canal?password=***&useSSL=false shop/instance.properties:4" {
		t.Errorf("a URL: %q", v)
	}
}

// TestBadConfiguration: what is wrong is said, and the values are there to find it by.
func TestBadConfiguration(t *testing.T) {
	dir := conf(t, "canal.port = x\n", "canal.mq.topic = t\n")
	out, err := run(t, nil, "--conf", dir, "canal.port")
	var coded *exit.Error
	if !errors.As(err, &coded) || coded.Code != exit.CodeUsage || !strings.Contains(err.Error(), "canal.port") || !strings.Contains(out, "canal.properties:5") {
		t.Errorf("%v\n%s", err, out)
	}
	dir = conf(t, "", "canal.mq.topic = t\n")
	for _, args := range [][]string{{"--destination", "nope"}, {"canal.mq.tpic"}, {"--conf", "nowhere"}} {
		if _, err := run(t, nil, append([]string{"--conf", dir}, args...)...); !errors.As(err, &coded) || coded.Code != exit.CodeUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestConsole: with Canal Admin, the precedence is another one.
func TestConsole(t *testing.T) {
	answers := map[string]string{
		"server_polling":        "canal.serverMode = kafka\ncanal.destinations = shop\nkafka.bootstrap.servers = k:9092\ncanal.mq.partition = 3\nkafka.acks = 1\n",
		"instance_polling/shop": "canal.instance.master.address = db:3306\ncanal.mq.topic = t\ncanal.mq.partition = 5\n",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(answers[strings.TrimPrefix(r.URL.Path, "/api/v1/config/")])
		fmt.Fprintf(w, `{"code":20000,"data":{"content":%s}}`, text)
	}))
	defer s.Close()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "canal.properties"), "canal.register.ip = 192.0.2.1\ncanal.admin.manager = "+s.URL+"\ncanal.admin.passwd = 4ACF\nkafka.acks = all\n")
	out, err := run(t, nil, "--conf", dir)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(out, dir)
	for key, want := range map[string]string{
		"- kafka.acks":            "all canal.properties:4",
		"- canal.serverMode":      "kafka admin: canal.properties:1",
		"shop canal.mq.topic":     "t admin: shop:2",
		"shop canal.mq.partition": "3 admin: canal.properties:4", // the server's outdoes the destination's
		"- canal.admin.passwd":    "*** canal.properties:3",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
}
