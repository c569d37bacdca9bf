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

// producer lists the properties of Kafka 4.4's producer, as org.apache.kafka.clients.producer.ProducerConfig prints them.
const producer = `
	acks batch.size bootstrap.resolve.timeout.ms bootstrap.servers buffer.memory client.dns.lookup client.id client.rack compression.gzip.level
	compression.lz4.level compression.type compression.zstd.level config.providers connections.max.idle.ms delivery.timeout.ms
	enable.idempotence enable.metrics.push interceptor.classes key.serializer linger.ms max.block.ms max.in.flight.requests.per.connection
	max.request.size metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms
	metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
	partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
	partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
	retry.backoff.ms sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
	sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
	sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
	sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
	sasl.login.retry.backoff.ms sasl.mechanism sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
	sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
	sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
	sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
	sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
	sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
	sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
	sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
	sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name
	sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url security.protocol security.providers send.buffer.bytes
	socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols
	ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain
	ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
	ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
	transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.serializer`

// TestKafkaProperties: each has a line that says what becomes of it, beside the last one, for what Kafka does not know either.
func TestKafkaProperties(t *testing.T) {
	all := strings.Fields(producer)
	if len(all) != 119 {
		t.Errorf("%d properties", len(all))
	}
	for _, name := range all {
		switch k := For("kafka." + name); {
		case k == nil || k.Verdict == Unknown:
			t.Errorf("%s is not in the table", name)
		case strings.HasPrefix(k.Note, "this setting") || strings.HasPrefix(k.Note, "this TLS setting"):
			t.Errorf("%s has no line of its own", name)
		}
	}
	for _, class := range []string{"DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "JwtBearerJwtRetriever"} {
		if k := For("kafka.sasl.oauthbearer.jwt.retriever.class"); k.Takes("org.apache.kafka.common.security.oauthbearer."+class) != (class != "JwtBearerJwtRetriever") {
			t.Error(class)
		}
	}
}
