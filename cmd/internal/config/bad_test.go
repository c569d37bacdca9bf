package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
)

// TestBadInput adds lines to canal.properties (from line 5) or to the
// instance's file (from line 4). Each problem must be told with its place.
func TestBadInput(t *testing.T) {
	for _, tc := range []struct {
		name             string
		server, instance []string
		want             []string
	}{
		{"manager without Canal Admin", []string{"canal.instance.global.mode = manager", "canal.instance.shop.mode = db"}, nil, []string{
			"canal.properties:5: canal.instance.global.mode: manager takes the configuration from Canal Admin: name it in canal.admin.manager, or set spring",
			`canal.properties:6: canal.instance.shop.mode: "db": choose spring or manager`}},
		{"Canal Admin without its password", []string{"canal.admin.manager = 127.0.0.1:8089"}, nil, []string{
			"canal.properties: canal.admin.passwd: Canal Admin asks for it: set the hash of its password as Canal has it"}},
		{"no scan period", []string{"canal.auto.scan = true", "canal.auto.scan.interval = 0"}, nil, []string{
			"canal.properties:6: canal.auto.scan.interval: 0 is no period: choose 1 or more seconds, or canal.auto.scan=false"}},
		{"server mode", []string{"canal.serverMode = rocketMQ"}, nil, []string{
			`canal.properties:5: canal.serverMode: "rocketMQ": it must be kafka`}},
		{"the last of several counts", []string{"canal.port = x", "canal.port = 11111", "canal.port = y"}, nil, []string{
			`canal.properties:7: canal.port: "y" is not a whole number from 1 to 65535`}},
		{"unknown key of ours", []string{"canal.relay.memroy = 1"}, []string{"canal.relay.x.y = 2"}, []string{
			`shop/instance.properties:4: canal.relay.x.y: there is no such key`,
			`canal.properties:5: canal.relay.memroy: there is no such key: did you mean canal.relay.memory?`}},
		{"process key in an instance", nil, []string{"canal.relay.cluster = east"}, []string{
			`shop/instance.properties:4: canal.relay.cluster: it is one for the whole process: move it to canal.properties`}},
		{"protobuf", []string{"canal.mq.flatMessage = json", "canal.mq.canalBatchSize = 0"}, []string{"canal.instance.memory.rawEntry = x"}, []string{
			`canal.properties:6: canal.mq.canalBatchSize: "0" is not a whole number from 1 to 1048576`,
			`shop/instance.properties:4: canal.instance.memory.rawEntry: "x" is neither true nor false`,
			`canal.properties:5: canal.mq.flatMessage: "json" is neither true nor false`}},
		{"words", nil, []string{"canal.instance.gtidon = maybe", "canal.relay.statement.dml = drop"}, []string{
			`shop/instance.properties:4: canal.instance.gtidon: "maybe" is neither true nor false`,
			`shop/instance.properties:5: canal.relay.statement.dml: "drop": choose emit or stop`}},
		{"addresses", []string{"kafka.bootstrap.servers = one,two:x", "canal.zkServers = a:b"}, []string{"canal.instance.master.address = db"}, []string{
			`canal.properties:6: canal.zkServers: "a:b" is not an address: write host:port, an IPv6 address in brackets`,
			`shop/instance.properties:4: canal.instance.master.address: "db" is not an address: write host:port, an IPv6 address in brackets`,
			`canal.properties:5: kafka.bootstrap.servers: "one" is not an address: write host:port, an IPv6 address in brackets`,
			`canal.properties:5: kafka.bootstrap.servers: "two:x" is not an address: write host:port, an IPv6 address in brackets`}},
		{"no ZooKeeper server", []string{"canal.zkServers = /root"}, nil, []string{
			`canal.properties:5: canal.zkServers: read the server list "/root": it names no server: write host:port,…, or leave it blank for a node without ZooKeeper`}},
		{"missing", []string{"kafka.bootstrap.servers ="}, []string{"canal.instance.master.address=", "canal.mq.topic="}, []string{
			`shop/instance.properties:4: canal.instance.master.address: it is missing: set the source as host:port`,
			`shop/instance.properties:5: canal.mq.topic: it is missing: name a topic, or set canal.mq.dynamicTopic`,
			`canal.properties:5: kafka.bootstrap.servers: it is missing: name some brokers as host:port,…`}},
		{"numbers", nil, []string{"canal.mq.partition = -1", "canal.mq.partitionsNum = 0", "canal.relay.memory = 12 parsecs", "canal.relay.drain.timeout = 5"}, []string{
			`shop/instance.properties:6: canal.relay.memory: "12 parsecs" is not a size: write bytes, or a number with KiB, MiB or GiB`,
			`shop/instance.properties:4: canal.mq.partition: "-1" is not a whole number from 0 to 2147483647`,
			`shop/instance.properties:5: canal.mq.partitionsNum: "0" is not a whole number from 1 to 2147483647`,
			`shop/instance.properties:7: canal.relay.drain.timeout: "5" is not a duration: write a number with its unit, as 500ms or 5s`}},
		{"time zone", nil, []string{"canal.relay.time.zone = Mars/Olympus"}, []string{
			`shop/instance.properties:4: canal.relay.time.zone: "Mars/Olympus" is not a time zone: write a name as Asia/Shanghai or UTC`}},
		{"charset", nil, []string{"canal.instance.connectionCharset = klingon"}, []string{
			`shop/instance.properties:4: canal.instance.connectionCharset: character set "klingon" is not known: name one of the source or of Java, as UTF-8`}},
		{"session", []string{"canal.relay.session.timeout = 3s"}, nil, []string{
			`canal.properties:5: canal.relay.session.timeout: the exit limit is 0s: a third of the session timeout (3s) must be more than grace (500ms) and margin (500ms)`}},
		{"contradictions", []string{"kafka.max.request.size = 64MiB", "canal.relay.topic.create = relay", "canal.relay.http.user = ops"}, nil, []string{
			`canal.properties:7: canal.relay.http.user: it goes with canal.relay.http.password: set both or none`,
			`canal.properties: kafka.buffer.memory: 33554432 bytes cannot hold a record of kafka.max.request.size, 67108864`,
			`shop/instance.properties: canal.relay.topic.partitions: it is missing: with canal.relay.topic.create=relay set how many partitions a topic gets`}},
		{"older name", []string{"canal.mq.acks = some"}, nil, []string{
			`canal.properties:5: kafka.acks: "some": choose all, -1, 1 or 0`}},
		{"topic name", nil, []string{"canal.mq.topic = a b"}, []string{
			`shop/instance.properties:4: canal.mq.topic: "a b" cannot be a topic's name: use letters, digits, dots, dashes and underscores`}},
		{"destinations", []string{"canal.destinations = shop,../etc,shop,\\ue000"}, nil, []string{
			`canal.properties:5: canal.destinations: "../etc" cannot be the name of a directory and of a ZooKeeper node`,
			`canal.properties:5: canal.destinations: "shop" is named twice`,
			`canal.properties:5: canal.destinations: "\ue000" cannot be the name of a directory and of a ZooKeeper node`}},
		{"expression", []string{"canal.destinations.expr = shop{3-1}"}, nil, []string{
			`canal.properties:5: canal.destinations.expr: "shop{3-1}": write it as name{1-3}`,
			`canal.properties:5: canal.destinations.expr: no destination is named and none was found: list their names, or set canal.auto.scan=true and make a directory with an instance.properties for each`}},
		{"cycle", nil, []string{"canal.mq.topic = ${a}", "a = ${canal.mq.topic}"}, []string{
			`shop/instance.properties:4: canal.mq.topic: the placeholders lead back to themselves: canal.mq.topic → a → canal.mq.topic`,
			`shop/instance.properties:4: canal.mq.topic: it is missing: name a topic, or set canal.mq.dynamicTopic`}},
		{"secret", nil, []string{"canal.relay.secret.canal.instance.dbPassword.file = nowhere", "canal.relay.secret.canal.port.file = x"}, []string{
			`shop/instance.properties:4: canal.relay.secret.canal.instance.dbPassword.file: open nowhere: no such file or directory: make the file readable for this user, or remove the key`,
			`shop/instance.properties:5: canal.relay.secret.canal.port.file: canal.port is not a secret that can stand in a file: choose canal.admin.passwd, canal.instance.dbPassword, canal.instance.master.clientCertificateKeyStorePassword, canal.instance.master.trustCertificateKeyStorePassword, canal.instance.standby.clientCertificateKeyStorePassword, canal.instance.standby.trustCertificateKeyStorePassword, canal.instance.tsdb.dbPassword, canal.relay.alarm.webhook, canal.relay.http.password, canal.relay.zookeeper.auth, kafka.sasl.jaas.config, kafka.sasl.oauthbearer.client.credentials.client.secret, kafka.ssl.key.password, kafka.ssl.keystore.key, kafka.ssl.keystore.password, kafka.ssl.truststore.password`}},
		{"key store", []string{"kafka.security.protocol = SSL", "kafka.ssl.truststore.location = x.jks"}, nil, []string{
			`canal.properties:6: kafka.ssl.truststore.location: open x.jks: no such file or directory: make the file readable for this user`}},
		{"TLS to the source", nil, []string{"canal.instance.master.sslMode = SOME", "canal.instance.master.tlsVersions = TLSv1.1", "canal.instance.master.trustCertificateKeyStoreUrl = file:nowhere"}, []string{
			`shop/instance.properties:4: canal.instance.master.sslMode: "SOME": choose DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY`,
			`shop/instance.properties:5: canal.instance.master.tlsVersions: nothing newer than TLS 1.1 is allowed: add TLSv1.2 or TLSv1.3`}},
		{"ZooKeeper", []string{"canal.relay.zookeeper.auth = relay", "canal.relay.zookeeper.tls.key = k.pem"}, nil, []string{
			`canal.properties: canal.relay.zookeeper.tls.ca: it holds no certificate in PEM form: name the file of the authorities that the servers' certificates are checked by, or system`,
			`canal.properties:6: canal.relay.zookeeper.tls.key: it goes with canal.relay.zookeeper.tls.certificate: set both or none`,
			`canal.properties:5: canal.relay.zookeeper.auth: write it as user:password`}},
		{"ZooKeeper, nothing in the file", []string{"canal.relay.secret.canal.relay.zookeeper.auth.file = /dev/null"}, nil, []string{
			`canal.properties: canal.relay.zookeeper.auth: write it as user:password`}},
		{"ZooKeeper, no such file", []string{"canal.relay.secret.canal.relay.zookeeper.auth.file = nowhere"}, nil, []string{
			`canal.properties:5: canal.relay.secret.canal.relay.zookeeper.auth.file: open nowhere: no such file or directory: make the file readable for this user, or remove the key`}},
		{"login", []string{"kafka.security.protocol = SASL_SSL", "kafka.sasl.mechanism = SCRAM-SHA-256", "kafka.sasl.jaas.config = x.ScramLoginModule required username=\"u\";"}, nil, []string{
			`canal.properties:7: kafka.sasl.jaas.config: it lacks username="…" or password="…"`}},
		{"options", []string{"canal.relay.alarm.webhook = hush"}, []string{"canal.relay.record.key = shop.orders:id,shop.items", "canal.relay.read.rate = 1000", "canal.relay.heartbeat.interval = 1ms"}, []string{
			`canal.properties:5: canal.relay.alarm.webhook: it is not the URL of a web server: write http://… or https://…`,
			`shop/instance.properties:4: canal.relay.record.key: rule "shop.items": there are no columns behind the table: write schema.table:col1^col2 or schema.table:$pk$, or pk for every table`,
			`shop/instance.properties:5: canal.relay.read.rate: 1000 bytes a second are too few: choose at least 64 KiB, or 0 for no limit`,
			`shop/instance.properties:6: canal.relay.heartbeat.interval: 1ms is too short: choose 1s or more, or 0 for none`}},
		{"keys with protobuf", []string{"canal.mq.flatMessage = false"}, []string{"canal.relay.record.key = pk"}, []string{
			`shop/instance.properties:4: canal.relay.record.key: a protobuf record holds changes of many rows: it goes with canal.mq.flatMessage=true only`}},
		{"GTID set", nil, []string{"canal.instance.gtidon = true", "canal.instance.master.gtid = not a set"}, []string{
			`shop/instance.properties:5: canal.instance.master.gtid: `}},
		{"patterns", nil, []string{`canal.instance.filter.regex = a\\.(b`, `canal.instance.filter.black.regex = [`, `canal.mq.dynamicTopic = x:db\\.t\\d{1,2}`, `canal.mq.partitionHash = (:id`, `canal.mq.dynamicTopicPartitionNum = *:0`}, []string{
			`shop/instance.properties:4: canal.instance.filter.regex: `,
			`shop/instance.properties:5: canal.instance.filter.black.regex: `,
			`shop/instance.properties:6: canal.mq.dynamicTopic: `,
			`shop/instance.properties:7: canal.mq.partitionHash: `,
			`shop/instance.properties:8: canal.mq.dynamicTopicPartitionNum: `}},
		{"syntax", nil, []string{`canal.mq.topic = \u12`}, []string{
			`shop/instance.properties:4: \u is not followed by four hexadecimal digits: write \uXXXX, or \\u for the text itself`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newConf(t)
			c.server = append(c.server, tc.server...)
			c.instance = append(c.instance, tc.instance...)
			got := c.problems()
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], c.dir+string(filepath.Separator), "")
				// What another package says about a pattern or a set is its own affair.
				if i < len(tc.want) && strings.HasSuffix(tc.want[i], ": ") && strings.HasPrefix(got[i], tc.want[i]) && len(got[i]) > len(tc.want[i])+10 {
					got[i] = tc.want[i]
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	c := newConf(t)
	c.server = append(c.server, "kafka.acks = all")
	c.env["canal.mq.topic"] = "from-env"
	c.env["canal.port"] = "12000"
	c.env["kafka.acks"] = "1"
	c.env["kafka.linger.ms"] = "9" // not in the file: as in Canal, it does not count
	n := c.mustLoad()
	i := n.Instances[0]
	if i.Route.Topic != "from-env" || n.Identity != "192.0.2.1:12000" || i.Kafka.Acks != "1" || i.Kafka.Linger != time.Millisecond {
		t.Errorf("%+v %+v", n, i.Kafka)
	}
	c.env["TZ"] = "Nowhere/At all"
	if got := c.problems(); len(got) != 1 || !strings.HasPrefix(got[0], `environment: TZ: "Nowhere/At all" is not a time zone`) {
		t.Errorf("%q", got)
	}
	for _, tz := range []string{"", ":UTC", "Asia/Shanghai", "/etc/localtime"} {
		c.env["TZ"] = tz
		c.mustLoad()
	}
}

func TestNoFile(t *testing.T) {
	_, findings, err := Load(filepath.Join(t.TempDir(), "none"), os.LookupEnv)
	if err == nil || findings != nil || !strings.Contains(err.Error(), "canal.properties: ") || !strings.Contains(err.Error(), "--conf") {
		t.Errorf("%v, %v", findings, err)
	}
}

func TestDestinations(t *testing.T) {
	instance := "canal.instance.master.address = 127.0.0.1:3306\ncanal.mq.topic = t\n"
	names := func(c *conf) (out []string, missing []string) {
		t.Helper()
		n, findings, err := c.load()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range n.Instances {
			out = append(out, i.Name)
		}
		for _, f := range findings {
			if f.Key == "" {
				missing = append(missing, f.Destination)
				if !strings.Contains(f.String(), f.Destination+"/instance.properties: no such file") {
					t.Errorf("%s", f)
				}
			}
		}
		return out, missing
	}
	c := newConf(t)
	c.write("extra/instance.properties", instance)
	c.write("spring/instance.properties", instance)
	c.write("..2026/instance.properties", instance)
	c.write("empty/other.properties", instance)

	// Only what is listed, blanks around names do not count.
	c.server = append(c.server, "canal.destinations = shop , extra,,")
	if got, _ := names(c); !slices.Equal(got, []string{"shop", "extra"}) {
		t.Errorf("listed: %v", got)
	}
	// Listed without a file: run from canal.properties, and said.
	c.server = append(c.server, "canal.destinations = shop,lost", "canal.instance.master.address = 127.0.0.1:3306", "canal.mq.topic = t")
	if got, missing := names(c); !slices.Equal(got, []string{"shop", "lost"}) || !slices.Equal(missing, []string{"lost"}) {
		t.Errorf("without a file: %v, %v", got, missing)
	}
	// With auto.scan it is not run, and directories are.
	c.server = append(c.server, "canal.auto.scan = true")
	if got, missing := names(c); !slices.Equal(got, []string{"shop", "extra"}) || !slices.Equal(missing, []string{"lost"}) {
		t.Errorf("auto.scan: %v, %v", got, missing)
	}
	c.server = append(c.server, "canal.destinations = ")
	if got, _ := names(c); !slices.Equal(got, []string{"extra", "shop"}) {
		t.Errorf("auto.scan alone: %v", got)
	}
	c.server = append(c.server, "canal.destinations.expr = shop{1-2}", "canal.auto.scan = false")
	if got, missing := names(c); !slices.Equal(got, []string{"shop1", "shop2"}) || len(missing) != 2 {
		t.Errorf("expression: %v, %v", got, missing)
	}
	c.server = append(c.server, "canal.destinations.expr =", "canal.destinations = lost", "canal.auto.scan = true")
	for _, d := range []string{"shop", "extra"} {
		if err := os.Remove(filepath.Join(c.dir, d, "instance.properties")); err != nil {
			t.Fatal(err)
		}
	}
	c.instance = nil
	if got := c.problems(); len(got) != 1 || !strings.Contains(got[0], "no destination is left to run") {
		t.Errorf("none left: %q", got)
	}
}

// TestVariablesThatLookLikeKeys: what somebody meant to set is told.
func TestVariablesThatLookLikeKeys(t *testing.T) {
	c := newConf(t)
	c.env["CANAL_MQ_TOPIC"], c.env["canal_mq_partition"], c.env["CANAL.SERVERMODE"] = "other", "3", "tcp"
	c.env["CANAL_PORT"] = "tcp://10.0.0.1:11111" // of a Kubernetes service
	c.env["kafka.acks"], c.env["kafka.linger.ms"], c.env["kafka.client.id"] = "1", "7", "x"
	c.server = append(c.server, "canal.mq.acks = all", "kafka.linger.ms = 1")
	_, findings, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range findings {
		if f.Where == "environment" {
			found[f.Key] = string(f.Verdict) + ": " + f.Note
		}
	}
	for key, want := range map[string]string{
		"CANAL_MQ_TOPIC":     "unknown: it is not read: the name of a variable is that of the key, canal.mq.topic",
		"canal_mq_partition": "unknown: it is not read: the name of a variable is that of the key, canal.mq.partition,",
		"CANAL.SERVERMODE":   "unknown: it is not read: the name of a variable is that of the key, canal.serverMode",
		"kafka.acks":         "honoured", // its older name stands in the file
		"kafka.linger.ms":    "honoured",
		"kafka.client.id":    "unknown: it is not read: as in Canal",
	} {
		if !strings.HasPrefix(found[key], want) {
			t.Errorf("%s: %q, want %q", key, found[key], want)
		}
		delete(found, key)
	}
	if len(found) > 0 {
		t.Errorf("told, too: %v", found)
	}
}

func TestFindings(t *testing.T) {
	c := newConf(t)
	c.env["canal.port"] = "11111"
	c.env["canal.zookeeper.flush.period"] = "500"
	c.server = append(c.server, "canal.port = 1", "canal.user = admin", "rocketmq.namesrv.addr = x", "kafka.foo = 1", "canal.foo.bar = 1", "canal.prot = 1",
		"my.host = 127.0.0.1", "canal.mq.flatMessage = true", "canal.mq.canalGetTimeout = 50")
	c.instance = append(c.instance, "canal.instance.master.address = ${my.host}:3306", "canal.serverMode = kafka", "canal.mq.topic = t\xc3\xa9", "canal.mq.topic=t")
	_, findings, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, strings.TrimPrefix(f.String(), c.dir+string(filepath.Separator)))
	}
	for _, want := range []string{
		"canal.properties:5: canal.port: ignored: the environment has it too, and wins unless blank",
		"environment: canal.port: honoured: port part of",
		"environment: canal.zookeeper.flush.period: honoured: time between",
		"canal.properties:6: canal.user: ignored: there is no TCP server",
		"canal.properties:7: rocketmq.namesrv.addr: ignored: belongs to another queue than Kafka",
		"canal.properties:8: kafka.foo: unknown: no setting here is its equal",
		"canal.properties:9: canal.foo.bar: unknown: neither Canal nor canal-relay has such a key",
		"canal.properties:10: canal.prot: unknown: neither Canal nor canal-relay has such a key: did you mean canal.port?",
		"canal.properties:11: my.host: honoured: a placeholder asks for it",
		"canal.properties:12: canal.mq.flatMessage: honoured: true: JSON",
		"canal.properties:13: canal.mq.canalGetTimeout: ignored: tunes the inside of Canal",
		"shop/instance.properties:1: canal.instance.master.address: ignored: set again in line 4, which counts",
		"shop/instance.properties:5: canal.serverMode: ignored: it is read from canal.properties only",
		"shop/instance.properties:6: canal.mq.topic: ignored: set again in line 7, which counts",
	} {
		if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
			t.Errorf("no finding %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	c.instance = append(c.instance, "canal.instance.dbUsername = t\xc3\xa9")
	_, findings, err = c.load()
	if err != nil || !slices.ContainsFunc(findings, func(f Finding) bool { return strings.Contains(f.Note, `write them as \uXXXX`) }) {
		t.Errorf("UTF-8 in a file is not noticed: %v", err)
	}
}

// TestGroupAndMemory covers what the persistence XML decides.
func TestGroupAndMemory(t *testing.T) {
	c := newConf(t)
	c.server = append(c.server, "canal.instance.global.spring.xml = classpath:spring/memory-instance.xml")
	if c.mustLoad().Instances[0].Structures {
		t.Error("memory-instance.xml: structures are on")
	}
	c.instance = append(c.instance, "canal.instance.tsdb.enable = true")
	if !c.mustLoad().Instances[0].Structures {
		t.Error("tsdb.enable=true does not outdo memory-instance.xml")
	}
	c.server = append(c.server, "canal.instance.global.spring.xml = classpath:spring/group-instance.xml")
	if got := c.problems(); len(got) != 1 || !strings.HasPrefix(got[0], "canal.properties:6: canal.instance.global.spring.xml: group mode") {
		t.Errorf("%q", got)
	}
}

func TestDataDir(t *testing.T) {
	for value, want := range map[string]string{
		"${canal.conf.dir}": "{conf}/shop/meta.dat", "../conf/": "{conf}/shop/meta.dat", "/data": "/data/shop/meta.dat",
		"../data": "{base}/data/shop/meta.dat", "meta": "{base}/bin/meta/shop/meta.dat",
	} {
		c := newConf(t)
		c.server = append(c.server, "canal.conf.dir = ../conf", "canal.file.data.dir = "+value)
		want = strings.NewReplacer("{conf}", c.dir, "{base}", filepath.Dir(c.dir)).Replace(want)
		if got := c.mustLoad().Instances[0].MetaFile; got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	s := Secret("hush")
	b, err := json.Marshal(map[string]any{"a": s, "b": struct{ P Secret }{s}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "node", Node{HTTPPassword: s})
	all := fmt.Sprintf("%s %v %+v %#v %q %x %d %s", s, s, struct{ P Secret }{s}, s, s, s, s, []Secret{s}) + string(b) + log.String()
	if strings.Contains(all, "hush") || strings.Contains(all, "68757368") {
		t.Errorf("shown: %s", all)
	}
	if s.Reveal() != "hush" {
		t.Error("lost")
	}
}

// TestSecretsAreNotShown puts secrets everywhere and looks for them in what
// Load tells.
func TestSecretsAreNotShown(t *testing.T) {
	c := newConf(t)
	for _, k := range keys.All() {
		if k.Kind == keys.Password && !strings.Contains(k.Name, "*") {
			c.server = append(c.server, k.Name+" = swordfish")
		}
	}
	c.server = append(c.server, "kafka.security.protocol = SASL_SSL", "kafka.sasl.mechanism = PLAIN", "kafka.ssl.keystore.type = PEM", "kafka.ssl.keystore.certificate.chain = x")
	_, findings, err := c.load()
	if err == nil {
		t.Fatal("such a configuration was taken")
	}
	if text := fmt.Sprint(err, findings); strings.Contains(text, "swordfish") {
		t.Errorf("shown: %s", text)
	}
}

// TestPrintedInstance prints a destination in every way.
func TestPrintedInstance(t *testing.T) {
	c := newConf(t)
	n := c.mustLoad()
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "node", n, "instance", n.Instances[0])
	text := fmt.Sprintf("%v %+v %#v %s", *n, *n, n.Instances[0], n.Instances) + string(b) + log.String()
	if strings.Contains(text, "hush") || !strings.Contains(text, "shop") {
		t.Errorf("%s", text)
	}
}

func TestSecretFile(t *testing.T) {
	c := newConf(t)
	c.write("db.secret", "s3cret \n")
	c.instance = append(c.instance, "canal.relay.secret.canal.instance.dbPassword.file = db.secret")
	if got := c.mustLoad().Instances[0].Source.Password; got != "s3cret " {
		t.Errorf("password %q", got)
	}
}
