package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/youmark/pkcs8"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay"
	"github.com/canal-relay/canal-relay/relay/event/charset"
	"software.sslmate.com/src/go-pkcs12"
)

// conf is a configuration directory under construction.
type conf struct {
	t        *testing.T
	dir      string
	server   []string
	instance []string
	env      map[string]string
}

// newConf is the least that can run: one destination, shop.
func newConf(t *testing.T) *conf {
	return &conf{
		t:        t,
		dir:      filepath.Join(t.TempDir(), "conf"),
		server:   []string{"canal.serverMode = kafka", "canal.destinations = shop", "canal.register.ip = 192.0.2.1", "kafka.bootstrap.servers = 127.0.0.1:9092"},
		instance: []string{"canal.instance.master.address = 127.0.0.1:3306", "canal.mq.topic = shop", "canal.instance.dbPassword = hush"},
		env:      map[string]string{"TZ": "UTC"},
	}
}

func (c *conf) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conf) load() (*Node, []Finding, error) {
	c.t.Helper()
	c.write("canal.properties", strings.Join(c.server, "\n")+"\n")
	if c.instance != nil {
		c.write("shop/instance.properties", strings.Join(c.instance, "\n")+"\n")
	}
	return Load(c.dir, func(k string) (string, bool) { v, ok := c.env[k]; return v, ok })
}

func (c *conf) mustLoad() *Node {
	c.t.Helper()
	n, _, err := c.load()
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// problems loads and gives the lines of the error, without the directory.
func (c *conf) problems() []string {
	c.t.Helper()
	_, _, err := c.load()
	if err == nil {
		return nil
	}
	var p Problems
	if !errors.As(err, &p) {
		c.t.Fatalf("not Problems: %v", err)
	}
	return strings.Split(strings.ReplaceAll(err.Error(), c.dir+string(filepath.Separator), ""), "\n")
}

// differ compares what two configurations say.
func differ(a, b *Node) bool {
	return !cmp.Equal(a, b,
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(x, y *charset.Set) bool { return x == y }),
		cmp.Comparer(func(x, y Settings) bool { return true }), // what has been read, used or not
		cmp.Comparer(func(x, y *route.Router) bool { return x.Fingerprint() == y.Fingerprint() }),
		cmp.Comparer(func(x, y *tls.Config) bool {
			if x == nil || y == nil {
				return x == y
			}
			return len(x.Certificates) == len(y.Certificates) && x.InsecureSkipVerify == y.InsecureSkipVerify &&
				x.MinVersion == y.MinVersion && x.MaxVersion == y.MaxVersion && x.ServerName == y.ServerName && x.RootCAs.Equal(y.RootCAs)
		}),
	)
}

func TestDefaults(t *testing.T) {
	c := newConf(t)
	n := c.mustLoad()
	if n.Identity != "192.0.2.1:11111" || n.HTTP != ":11112" || n.Cluster != "canal-relay" || n.ZooKeeper != "" || n.LogJSON || n.Pprof {
		t.Errorf("%+v", n)
	}
	if len(n.Instances) != 1 || n.Instance("shop") != &n.Instances[0] || n.Instance("other") != nil {
		t.Fatalf("instances: %+v", n.Instances)
	}
	i := n.Instances[0]

	// The defaults are those of the packages.
	k := kafka.DefaultConfig()
	k.Brokers, k.Topics = []string{"127.0.0.1:9092"}, map[string]int32{"shop": 1}
	if d := cmp.Diff(k, i.Kafka); d != "" {
		t.Errorf("kafka: %s", d)
	}
	if err := i.Kafka.Validate(); err != nil {
		t.Error(err)
	}
	h := ha.DefaultConfig()
	h.SessionTimeout = 0
	if i.HA != h {
		t.Errorf("ha: %+v", i.HA)
	}
	if err := i.HA.Validate(); err != nil {
		t.Error(err)
	}
	s := mqstarter.DefaultConfig()
	s.Destination, s.Router, s.Routing, s.DeadLetters = "shop", i.Starter.Router, i.Starter.Routing, "canal-relay-dead-letter"
	if d := cmp.Diff(s, i.Starter, cmp.Comparer(func(x, y *route.Router) bool { return x == y }), cmp.Exporter(func(reflect.Type) bool { return true }),
		cmp.Comparer(func(x, y *charset.Set) bool { return x == y })); d != "" {
		t.Errorf("starter: %s", d)
	}
	if err := i.Starter.Validate(); err != nil {
		t.Error(err)
	}
	if i.Relay.Memory != relay.DefaultMemory || i.Relay.StatementDML != relay.StatementEmit || i.Filter.Regex != `.*\..*` || !i.Route.DatabaseHash {
		t.Errorf("%+v", i)
	}
	if err := i.Source.Validate(); err != nil {
		t.Error(err)
	}
	if i.Source.User != "retl" || i.Source.Timeout != 30*time.Second || i.Source.Fallback != time.Minute || i.TakeoverDelay != 2*time.Second || !i.Structures {
		t.Errorf("%+v", i.Source)
	}
	if want := filepath.Join(c.dir, "shop", "meta.dat"); i.MetaFile != want {
		t.Errorf("meta file %s, want %s", i.MetaFile, want)
	}
	if i.Style.Zone == nil || i.Style.Charset != charset.UTF8MB4 || i.Style.Decimal {
		t.Errorf("style: %+v", i.Style)
	}
}

func TestReaderIDs(t *testing.T) {
	c := newConf(t)
	owner := c.mustLoad().Instances[0]
	if again := c.mustLoad().Instances[0]; again.Source.ServerID != owner.Source.ServerID || again.Source.ReplicaUUID != owner.Source.ReplicaUUID {
		t.Error("two nodes would not be known by the same id")
	}
	tail, other := owner.ForTail(), owner.ForTail()
	ids := map[uint32]bool{owner.Source.ServerID: true, tail.Source.ServerID: true, other.Source.ServerID: true}
	uuids := map[string]bool{owner.Source.ReplicaUUID: true, tail.Source.ReplicaUUID: true, other.Source.ReplicaUUID: true}
	if len(ids) != 3 || len(uuids) != 3 {
		t.Errorf("ids %v, uuids %v", ids, uuids)
	}
	c.server = append(c.server, "canal.relay.cluster = second")
	if second := c.mustLoad().Instances[0]; uuids[second.Source.ReplicaUUID] || ids[second.Source.ServerID] {
		t.Error("two clusters are known by the same id")
	}
	c.instance = append(c.instance, "canal.instance.mysql.slaveId = 4294967295")
	set := c.mustLoad().Instances[0]
	if set.Source.ServerID != 4294967295 || set.ForTail().Source.ServerID == set.Source.ServerID {
		t.Errorf("server id %d", set.Source.ServerID)
	}
	for u := range uuids {
		if len(u) != 36 || strings.Count(u, "-") != 4 {
			t.Errorf("uuid %q", u)
		}
	}
}

// samples sets every honoured key to something that changes what is loaded.
var samples = map[string][]string{
	"canal.ip":                          {"canal.register.ip=", "canal.ip=198.51.100.7"},
	"canal.register.ip":                 {"canal.register.ip=198.51.100.7"},
	"canal.port":                        {"canal.port=11119"},
	"canal.metrics.pull.port":           {"canal.metrics.pull.port=-1"},
	"canal.zkServers":                   {"canal.zkServers=zk1:2181,zk2:2181;zk3/root"},
	"canal.zookeeper.flush.period":      {"canal.zkServers=zk", "canal.zookeeper.flush.period=70"},
	"canal.serverMode":                  {"canal.serverMode=tcp"},
	"canal.destinations":                {"canal.destinations=shop,second"},
	"canal.destinations.expr":           {"canal.destinations.expr=shop{1-3}"},
	"canal.auto.scan":                   {"canal.destinations=shop,gone", "canal.auto.scan=true"},
	"canal.auto.scan.interval":          {"canal.auto.scan=true", "canal.auto.scan.interval=7"},
	"canal.admin.manager":               {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089"},
	"canal.admin.port":                  {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089", "canal.admin.port=11210"},
	"canal.admin.user":                  {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089", "canal.admin.user=admin"},
	"canal.admin.passwd":                {"canal.admin.manager=admin:8089", "canal.admin.passwd=4ACF"},
	"canal.admin.register.auto":         {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089", "canal.admin.register.auto=true"},
	"canal.admin.register.cluster":      {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089", "canal.admin.register.cluster=east"},
	"canal.admin.register.name":         {"canal.admin.passwd=4ACF", "canal.admin.manager=admin:8089", "canal.admin.register.name=node-1"},
	"canal.instance.global.lazy":        {"canal.instance.global.lazy=true"},
	"canal.instance.*.lazy":             {"canal.instance.global.lazy=true", "canal.instance.shop.lazy=false"},
	"canal.instance.global.mode":        {"canal.instance.global.mode=manager"},
	"canal.instance.*.mode":             {"canal.instance.shop.mode=manager"},
	"canal.auto.reset.latest.pos.mode":  {"canal.auto.reset.latest.pos.mode=true"},
	"canal.instance.global.spring.xml":  {"canal.instance.global.spring.xml=classpath:spring/memory-instance.xml"},
	"canal.instance.*.spring.xml":       {"canal.instance.shop.spring.xml=classpath:spring/group-instance.xml"},
	"canal.mq.flatMessage":              {"canal.mq.flatMessage=false"},
	"canal.mq.canalBatchSize":           {"canal.mq.flatMessage=false", "canal.mq.canalBatchSize=100"},
	"canal.mq.database.hash":            {"canal.mq.database.hash=false"},
	"canal.mq.topic":                    {"canal.mq.topic=other"},
	"canal.mq.dynamicTopic":             {`canal.mq.dynamicTopic=a\\..*`},
	"canal.mq.partition":                {"canal.mq.partition=3"},
	"canal.mq.partitionsNum":            {"canal.mq.partitionsNum=3"},
	"canal.mq.partitionHash":            {`canal.mq.partitionHash=.*\\..*:$pk$`},
	"canal.mq.dynamicTopicPartitionNum": {"canal.mq.dynamicTopicPartitionNum=shop:4"},
	"canal.mq.servers":                  {"canal.mq.servers=k1:9092"},
	"canal.mq.acks":                     {"canal.mq.acks=1"},
	"canal.mq.compressionType":          {"canal.mq.compressionType=lz4"},
	"canal.mq.batchSize":                {"canal.mq.batchSize=65536"},
	"canal.mq.lingerMs":                 {"canal.mq.lingerMs=7"},
	"canal.mq.maxRequestSize":           {"canal.mq.maxRequestSize=2097152"},
	"canal.mq.bufferMemory":             {"canal.mq.bufferMemory=67108864"},
	"kafka.bootstrap.servers":           {"kafka.bootstrap.servers=PLAINTEXT://k1:9092,k2:9092"},
	"kafka.acks":                        {"kafka.acks=0"},
	"kafka.compression.type":            {"kafka.compression.type=zstd"},
	"kafka.batch.size":                  {"kafka.batch.size=1048576"},
	"kafka.linger.ms":                   {"kafka.linger.ms=20"},
	"kafka.max.request.size":            {"kafka.max.request.size=4194304"},
	"kafka.buffer.memory":               {"kafka.buffer.memory=64MiB"},
	"kafka.client.id":                   {"kafka.client.id=me"},
	"kafka.security.protocol":           {"kafka.security.protocol=SSL"},
	"kafka.sasl.mechanism":              {"kafka.security.protocol=SASL_PLAINTEXT", jaasLine, "kafka.sasl.mechanism=PLAIN"},
	"kafka.sasl.jaas.config":            {"kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=PLAIN", jaasLine},
	"kafka.sasl.kerberos.service.name":  {"kafka.security.protocol=SASL_PLAINTEXT", krb5Line, "kafka.kerberos.krb5.file=krb5.conf", "kafka.sasl.kerberos.service.name=broker"},
	"kafka.sasl.oauthbearer.token.endpoint.url": {"kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=OAUTHBEARER",
		`kafka.sasl.jaas.config=x.OAuthBearerLoginModule required clientId="a" clientSecret="b";`, "kafka.sasl.oauthbearer.token.endpoint.url=https://idp/token"},
	"kafka.kerberos.enable":                    {krb5Line, "kafka.kerberos.krb5.file=krb5.conf", "kafka.kerberos.enable=true"},
	"kafka.kerberos.krb5.file":                 {"kafka.security.protocol=SASL_PLAINTEXT", krb5Line, "kafka.sasl.kerberos.service.name=kafka", "kafka.kerberos.krb5.file=krb5.conf"},
	"kafka.kerberos.jaas.file":                 {"kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=PLAIN", "kafka.kerberos.jaas.file=jaas.conf"},
	"canal.mq.kafka.kerberos.enable":           {krb5Line, "kafka.kerberos.krb5.file=krb5.conf", "canal.mq.kafka.kerberos.enable=true"},
	"canal.mq.kafka.kerberos.krb5.file":        {krb5Line, "kafka.kerberos.enable=true", "canal.mq.kafka.kerberos.krb5.file=krb5.conf"},
	"canal.mq.kafka.kerberos.jaas.file":        {"kafka.security.protocol=SASL_PLAINTEXT", "kafka.sasl.mechanism=PLAIN", "canal.mq.kafka.kerberos.jaas.file=jaas.conf"},
	"kafka.request.timeout.ms":                 {"kafka.request.timeout.ms=20000"},
	"kafka.socket.connection.setup.timeout.ms": {"kafka.socket.connection.setup.timeout.ms=9000"},
	"kafka.connections.max.idle.ms":            {"kafka.connections.max.idle.ms=60000"},
	"kafka.metadata.max.age.ms":                {"kafka.metadata.max.age.ms=60000"},
	"kafka.retry.backoff.ms":                   {"kafka.retry.backoff.ms=100"},
	"kafka.retry.backoff.max.ms":               {"kafka.retry.backoff.max.ms=5000"},
	"kafka.compression.gzip.level":             {"kafka.compression.type=gzip", "kafka.compression.gzip.level=9"},
	"kafka.compression.lz4.level":              {"kafka.compression.type=lz4", "kafka.compression.lz4.level=9"},
	"kafka.compression.zstd.level":             {"kafka.compression.type=zstd", "kafka.compression.zstd.level=9"},
	"kafka.ssl.truststore.type":                {"kafka.security.protocol=SSL", "kafka.ssl.truststore.location=ca.pem", "kafka.ssl.truststore.type=PEM"},
	"kafka.ssl.truststore.location":            {"kafka.security.protocol=SSL", "kafka.ssl.truststore.type=PEM", "kafka.ssl.truststore.location=ca.pem"},
	"kafka.ssl.truststore.certificates":        {"kafka.security.protocol=SSL", "kafka.ssl.truststore.type=PEM", "kafka.ssl.truststore.certificates=x"},
	"kafka.ssl.keystore.type":                  {"kafka.security.protocol=SSL", "kafka.ssl.keystore.location=client.pem", "kafka.ssl.keystore.type=PEM"},
	"kafka.ssl.keystore.location":              {"kafka.security.protocol=SSL", "kafka.ssl.keystore.type=PEM", "kafka.ssl.keystore.location=client.pem"},
	"kafka.ssl.keystore.certificate.chain": {"kafka.security.protocol=SSL", "kafka.ssl.keystore.type=PEM",
		"kafka.ssl.keystore.certificate.chain=x"},
	"kafka.ssl.keystore.key": {"kafka.security.protocol=SSL", "kafka.ssl.keystore.type=PEM", "kafka.ssl.keystore.location=ca.pem",
		"kafka.ssl.keystore.key=KEY"},
	"kafka.ssl.key.password": {"kafka.security.protocol=SSL", "kafka.ssl.keystore.type=PEM", "kafka.ssl.keystore.location=sealed.pem",
		"kafka.ssl.key.password=hush"},
	"kafka.ssl.enabled.protocols":                 {"kafka.security.protocol=SSL", "kafka.ssl.enabled.protocols=TLSv1.3"},
	"canal.instance.enableDruid":                  {"canal.instance.enableDruid=true"},
	"canal.instance.pwdPublicKey":                 {"canal.instance.enableDruid=true", "canal.instance.pwdPublicKey=!"},
	"kafka.ssl.endpoint.identification.algorithm": {"kafka.security.protocol=SSL", "kafka.ssl.endpoint.identification.algorithm="},
	"canal.file.data.dir":                         {"canal.file.data.dir=/var/lib/canal"},
	"canal.file.flush.period":                     {"canal.file.flush.period=70"},
	"canal.instance.mysql.slaveId":                {"canal.instance.mysql.slaveId=77"},
	"canal.instance.gtidon":                       {"canal.instance.gtidon=true"},
	"canal.instance.fallbackIntervalInSeconds":    {"canal.instance.fallbackIntervalInSeconds=5"},
	"canal.instance.network.soTimeout":            {"canal.instance.network.soTimeout=5"},
	"canal.instance.connectionCharset":            {"canal.instance.connectionCharset=GBK"},
	"canal.instance.binlog.format":                {"canal.instance.binlog.format=ROW,MIXED"},
	"canal.instance.binlog.image":                 {"canal.instance.binlog.image=FULL"},
	"canal.instance.filter.regex":                 {`canal.instance.filter.regex=shop\\..*`},
	"canal.instance.filter.black.regex":           {`canal.instance.filter.black.regex=mysql\\..*`},
	"canal.instance.filter.field":                 {"canal.instance.filter.field=a.b:c"},
	"canal.instance.filter.black.field":           {"canal.instance.filter.black.field=a.b:c"},
	"canal.instance.filter.query.dcl":             {"canal.instance.filter.query.dcl=true"},
	"canal.instance.filter.query.dml":             {"canal.instance.filter.query.dml=on"},
	"canal.instance.filter.query.ddl":             {"canal.instance.filter.query.ddl=1"},
	"canal.instance.filter.transaction.entry":     {"canal.mq.flatMessage=false", "canal.instance.filter.transaction.entry=true"},
	"canal.instance.memory.rawEntry":              {"canal.mq.flatMessage=false", "canal.instance.memory.rawEntry=false"},
	"canal.instance.filter.druid.ddl":             {"canal.instance.filter.druid.ddl=false"},
	"canal.instance.filter.rows":                  {"canal.instance.filter.rows=yes"},
	"canal.instance.filter.dml.insert":            {"canal.instance.filter.dml.insert=true"},
	"canal.instance.filter.dml.update":            {"canal.instance.filter.dml.update=true"},
	"canal.instance.filter.dml.delete":            {"canal.instance.filter.dml.delete=true"},
	"canal.instance.tsdb.enable":                  {"canal.instance.tsdb.enable=false"},
	"canal.instance.tsdb.url":                     {"canal.instance.tsdb.url=jdbc:mysql://db:3307/tsdb?useUnicode=true"},
	"canal.instance.tsdb.dbUsername":              {"canal.instance.tsdb.url=jdbc:mysql://db/tsdb", "canal.instance.tsdb.dbUsername=store"},
	"canal.instance.tsdb.dbPassword":              {"canal.instance.tsdb.url=jdbc:mysql://db/tsdb", "canal.instance.tsdb.dbPassword=x"},
	"canal.instance.tsdb.snapshot.interval":       {"canal.instance.tsdb.snapshot.interval=1"},
	"canal.instance.tsdb.snapshot.expire":         {"canal.instance.tsdb.snapshot.expire=24"},
	"canal.relay.schema.store":                    {"canal.relay.schema.store=kafka"},
	"canal.relay.schema.topic":                    {"canal.relay.schema.topic=layouts"},
	"canal.instance.master.address":               {"canal.instance.master.address=[::1]:3307"},
	"canal.instance.master.journal.name":          {"canal.instance.master.journal.name=binlog.000002"},
	"canal.instance.master.position":              {"canal.instance.master.journal.name=binlog.000002", "canal.instance.master.position=44"},
	"canal.instance.master.timestamp":             {"canal.instance.master.timestamp=1700000000000"},
	"canal.instance.master.gtid":                  {"canal.instance.gtidon=true", "canal.instance.master.gtid=3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"},
	"canal.instance.dbUsername":                   {"canal.instance.dbUsername=canal"},
	"canal.instance.dbPassword":                   {"canal.instance.dbPassword=other"},
	"canal.relay.cluster":                         {"canal.relay.cluster=east"},
	"canal.relay.session.timeout":                 {"canal.zkServers=zk", "canal.relay.session.timeout=9s"},
	"canal.relay.takeover.delay":                  {"canal.relay.takeover.delay=0"},
	"canal.relay.delivery":                        {"canal.relay.delivery=exactly-once"},
	"canal.relay.position.topic":                  {"canal.relay.delivery=exactly-once", "canal.relay.position.topic=places"},
	"canal.relay.transaction.max.time":            {"canal.relay.delivery=exactly-once", "canal.relay.transaction.max.time=100ms"},
	"canal.relay.transaction.max.rows":            {"canal.relay.delivery=exactly-once", "canal.relay.transaction.max.rows=500"},
	"canal.relay.transaction.max.bytes":           {"canal.relay.delivery=exactly-once", "canal.relay.transaction.max.bytes=1MiB"},
	"canal.relay.drain.timeout":                   {"canal.relay.drain.timeout=1500ms"},
	"canal.relay.memory":                          {"canal.relay.memory=8MiB"},
	"canal.relay.headers":                         {"canal.relay.headers=false"},
	"canal.relay.topic.create":                    {"canal.relay.topic.create=never"},
	"canal.relay.topic.partitions":                {"canal.relay.topic.create=relay", "canal.relay.topic.partitions=6"},
	"canal.relay.topic.replication":               {"canal.relay.topic.replication=3"},
	"canal.relay.oversize":                        {"canal.relay.oversize=key-only"},
	"canal.relay.deadletter.topic":                {"canal.relay.oversize=dead-letter", "canal.relay.deadletter.topic=lost"},
	"canal.relay.statement.dml":                   {"canal.relay.statement.dml=stop"},
	"canal.relay.values":                          {"canal.relay.values=mysql"},
	"canal.relay.time.zone":                       {"canal.relay.time.zone=Asia/Shanghai"},
	"canal.relay.compat.decimal":                  {"canal.relay.compat.decimal=true"},
	"canal.relay.http.bind":                       {"canal.relay.http.bind=127.0.0.1"},
	"canal.relay.http.user":                       {"canal.relay.http.password=x", "canal.relay.http.user=ops"},
	"canal.relay.http.password":                   {"canal.relay.http.user=ops", "canal.relay.http.password=x"},
	"canal.relay.http.pprof":                      {"canal.relay.http.pprof=true"},
	"canal.relay.log.format":                      {"canal.relay.log.format=json"},
	"canal.instance.get.ddl.isolation":            {"canal.instance.get.ddl.isolation=true"},
	"canal.instance.filter.table.error":           {"canal.instance.filter.table.error=true"},
	"canal.relay.record.key":                      {"canal.relay.record.key=pk"},
	"canal.relay.partitions.from.topic":           {"canal.mq.partitionHash=shop", "canal.relay.partitions.from.topic=true"},
	"canal.relay.pk.update":                       {"canal.relay.pk.update=split"},
	"canal.relay.heartbeat.interval":              {"canal.relay.heartbeat.interval=30s"},
	"canal.relay.read.rate":                       {"canal.relay.read.rate=10MiB"},
	"canal.relay.alarm.webhook":                   {"canal.relay.alarm.webhook=https://example.org/hook"},
	"canal.relay.secret.*.file":                   {"canal.relay.secret.canal.instance.dbPassword.file=secret.txt"},
}

const krb5Line = `kafka.sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="k" principal="p";`

const jaasLine = `kafka.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`

// TestEveryHonouredKeyCounts sets each honoured key, after the keys that it
// needs: with it the configuration must be another one, or be refused.
func TestEveryHonouredKeyCounts(t *testing.T) {
	cert, key := certificate(t)
	store := pkcs12Store(t, cert, key)
	for _, k := range keys.All() {
		if k.Verdict != keys.Honoured {
			continue
		}
		lines := samples[k.Name]
		if len(lines) == 0 {
			t.Errorf("%s is honoured, and this test has no value for it", k.Name)
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			outcome := func(lines []string) (*Node, string) {
				c := newConf(t)
				c.dir = filepath.Join(c.t.TempDir(), "conf")
				c.write("secret.txt", "from a file\n")
				c.write("ca.pem", cert)
				c.write("sealed.pem", cert+sealed(t, key))
				c.write("krb5.conf", "")
				c.write("jaas.conf", `KafkaClient { x.PlainLoginModule required username="u" password="p"; };`)
				c.write("client.pem", cert+key)
				c.write("client.p12", string(store))
				for _, line := range lines {
					line = strings.Replace(line, "=KEY", "="+strings.ReplaceAll(key, "\n", "\\n"), 1)
					key, _, _ := strings.Cut(line, "=")
					if key == "canal.instance.master.address" || strings.HasPrefix(key, "canal.mq.topic") || key == "canal.instance.dbPassword" {
						c.instance = append(c.instance, line)
					} else {
						c.server = append(c.server, line)
					}
				}
				n, _, err := c.load()
				if err != nil {
					return nil, strings.ReplaceAll(err.Error(), c.dir, "")
				}
				n.Dir, n.Instances[0].MetaFile = "", strings.TrimPrefix(n.Instances[0].MetaFile, c.dir)
				return n, ""
			}
			before, beforeErr := outcome(lines[:len(lines)-1])
			after, afterErr := outcome(lines)
			if beforeErr == afterErr && (before == nil || !differ(before, after)) {
				t.Errorf("%s changes nothing", lines[len(lines)-1])
			}
		})
	}
	for name := range maps.Keys(samples) {
		if k := keys.For(name); !slices.ContainsFunc(keys.All(), func(k keys.Key) bool { return k.Name == name && k.Verdict == keys.Honoured }) {
			t.Errorf("%s has a value here and is not honoured (%v)", name, k)
		}
	}
}

// TestRefusedKeys sets each refused key to something else than its default,
// and to its default.
func TestRefusedKeys(t *testing.T) {
	for _, k := range keys.All() {
		if k.Verdict != keys.Refused {
			continue
		}
		name := strings.ReplaceAll(k.Name, "*", "some")
		value := "something"
		if k.Name == "canal.instance.tsdb.url" {
			value = "jdbc:mysql://127.0.0.1/canal_tsdb"
		}
		c := newConf(t)
		c.server = append(c.server, name+" = "+value)
		want := "canal.properties:5: " + name + ": "
		got := c.problems()
		if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], k.Note) {
			t.Errorf("%s = %s: %q", name, value, got)
		}
		if k.Kind == keys.Password && strings.Contains(strings.Join(got, ""), value+`"`) {
			t.Errorf("%s is shown: %q", name, got)
		}
		c = newConf(t)
		c.server = append(c.server, name+" = "+k.Default)
		if got := c.problems(); got != nil {
			t.Errorf("%s = %s: %q", name, k.Default, got)
		}
		if k.Scope != keys.ScopeInstance {
			continue
		}
		// In the environment it counts for every destination; in the instance's
		// file it replaces canal.properties.
		c = newConf(t)
		c.env[name] = value
		if got := c.problems(); !strings.Contains(k.Name, "*") && (len(got) != 1 || !strings.HasPrefix(got[0], "environment: "+name)) {
			t.Errorf("%s in the environment: %q", name, got)
		}
		c = newConf(t)
		c.server = append(c.server, name+" = "+value)
		c.instance = append(c.instance, name+" = "+k.Default)
		if got := c.problems(); got != nil {
			t.Errorf("%s is refused although the instance replaces it: %q", name, got)
		}
	}
}

// sealed encrypts a key with the password hush.
func sealed(t *testing.T, key string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(key))
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	der, err := pkcs8.MarshalPrivateKey(private, []byte("hush"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}))
}

// certificate makes a certificate and its key in PEM form.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// pkcs12Store is the same in one file with the password changeit.
func pkcs12Store(t *testing.T, cert, key string) []byte {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	store, err := pkcs12.Modern.Encode(pair.PrivateKey, pair.Leaf, nil, "changeit")
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestPackets: what Canal makes of the keys that decide the form of protobuf records, and whether they tell of
// transactions.
func TestPackets(t *testing.T) {
	tests := []struct {
		name               string
		server, instance   []string
		raw, sent, watched bool // the packet's form; boundaries are sent; the relay tells of them
	}{
		{"as shipped", []string{"canal.instance.filter.transaction.entry = false"}, nil, true, true, true},
		{"no filter named", nil, nil, true, true, true},
		{"filter", []string{"canal.instance.filter.transaction.entry = true"}, nil, true, true, true},
		{"rebuilt", []string{"canal.instance.filter.transaction.entry = false"}, []string{"canal.instance.memory.rawEntry = false"}, false, true, true},
		{"rebuilt, no filter named", nil, []string{"canal.instance.memory.rawEntry = false"}, false, false, true},
		{"rebuilt, filter of the instance", nil, []string{"canal.instance.memory.rawEntry = false", "canal.instance.filter.transaction.entry = false"}, false, false, true},
		{"topics", []string{"canal.instance.filter.transaction.entry = false"}, []string{`canal.mq.dynamicTopic = a\\..*`}, false, false, false},
		{"partitions", nil, []string{`canal.mq.partitionHash = .*\\..*:$pk$`}, false, false, false},
	}
	for _, tt := range tests {
		c := newConf(t)
		c.server = append(append(c.server, "canal.mq.flatMessage = false"), tt.server...)
		c.instance = append(c.instance, tt.instance...)
		n, _, err := c.load()
		if err != nil {
			t.Fatal(err)
		}
		i := &n.Instances[0]
		p := i.Starter.Packets
		if p == nil || p.Form.Raw != tt.raw || p.Boundaries != tt.sent || p.Bytes != 50<<10 || i.Relay.Boundaries != tt.watched || !i.Relay.Clocks {
			t.Errorf("%s: %+v, relay %v", tt.name, p, i.Relay.Boundaries)
		}
	}
}

// TestTakeoverDelay: in exactly-once brokers refuse what an old owner still sends, so that nobody has to wait for it.
func TestTakeoverDelay(t *testing.T) {
	for _, tt := range []struct {
		keys []string
		want time.Duration
	}{
		{nil, 2 * time.Second},
		{[]string{"canal.relay.delivery = exactly-once"}, 0},
		{[]string{"canal.relay.delivery = exactly-once", "canal.relay.takeover.delay = 3s"}, 3 * time.Second},
		{[]string{"canal.relay.takeover.delay = 0s"}, 0},
	} {
		c := newConf(t)
		c.server = append(c.server, tt.keys...)
		if got := c.mustLoad().Instances[0].TakeoverDelay; got != tt.want {
			t.Errorf("%q: %v, want %v", tt.keys, got, tt.want)
		}
	}
}
