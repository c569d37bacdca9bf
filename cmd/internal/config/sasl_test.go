package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
)

// TestKerberos reads what Canal's guide has for Kerberos: the switch and two
// files below ../conf, which is our directory.
func TestKerberos(t *testing.T) {
	c := newConf(t)
	c.write("kerberos/krb5.conf", "[libdefaults]\n")
	c.write("kerberos/jaas.conf", `KafkaClient {
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true keyTab="../conf/kerberos/relay.keytab" principal="relay@EXAMPLE.ORG";
};`)
	c.server = append(c.server, "kafka.kerberos.enable = true", "kafka.kerberos.krb5.file = ../conf/kerberos/krb5.conf", "kafka.kerberos.jaas.file = ../conf/kerberos/jaas.conf")
	got := c.mustLoad().Instances[0].Kafka
	want := login.Config{Mechanism: "GSSAPI", Kerberos: login.Kerberos{Config: filepath.Join(c.dir, "kerberos/krb5.conf"), Service: "kafka",
		Principal: "relay@EXAMPLE.ORG", Keytab: filepath.Join(c.dir, "kerberos/relay.keytab")}}
	if !cmp.Equal(got.SASL, want) || got.TLS != nil {
		t.Error(cmp.Diff(want, got.SASL))
	}
	// The same by Kafka's own settings, with tickets of somebody else.
	c = newConf(t)
	c.write("krb5.conf", "")
	c.env["KRB5_CONFIG"], c.env["KRB5CCNAME"] = filepath.Join(c.dir, "krb5.conf"), "FILE:/run/tickets"
	c.server = append(c.server, "kafka.security.protocol = SASL_SSL", "kafka.sasl.mechanism = GSSAPI",
		`kafka.sasl.jaas.config = com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true serviceName="broker";`)
	got = c.mustLoad().Instances[0].Kafka
	want = login.Config{Mechanism: "GSSAPI", Kerberos: login.Kerberos{Config: c.env["KRB5_CONFIG"], Service: "broker", Cache: "/run/tickets"}}
	if !cmp.Equal(got.SASL, want) || got.TLS == nil {
		t.Error(cmp.Diff(want, got.SASL))
	}
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  login.TokenSource
	}{
		{[]string{`kafka.sasl.jaas.config = org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="relay" unsecuredLoginListClaim_scope=",a,b" unsecuredLoginNumberClaim_n=3 unsecuredLoginLifetimeSeconds="60";`},
			login.Unsecured{Claims: map[string]any{"sub": "relay", "scope": []string{"a", "b"}, "n": 3.0}, Lifetime: time.Minute}},
		{[]string{`kafka.sasl.jaas.config = x.OAuthBearerLoginModule required;`, "kafka.sasl.oauthbearer.token.endpoint.url = file:///run/token"}, login.TokenFile("/run/token")},
	} {
		c := newConf(t)
		c.server = append(c.server, append(tt.lines, "kafka.security.protocol = SASL_PLAINTEXT", "kafka.sasl.mechanism = OAUTHBEARER")...)
		if got := c.mustLoad().Instances[0].Kafka.SASL.Token; !cmp.Equal(got, tt.want) {
			t.Error(cmp.Diff(tt.want, got))
		}
	}
	c := newConf(t)
	c.server = append(c.server, "kafka.security.protocol = SASL_SSL", "kafka.sasl.mechanism = OAUTHBEARER", "kafka.sasl.oauthbearer.token.endpoint.url = https://idp/token",
		"kafka.sasl.login.callback.handler.class = org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
		`kafka.sasl.jaas.config = x.OAuthBearerLoginModule required clientId="relay" clientSecret="hush" scope="kafka";`)
	k := c.mustLoad().Instances[0].Kafka
	got, ok := k.SASL.Token.(*login.Credentials)
	if !ok || got.URL != "https://idp/token" || got.ID != "relay" || got.Secret != "hush" || got.Scope != "kafka" || got.TLS != k.TLS {
		t.Errorf("%T", k.SASL.Token)
	}
}

// TestChangedKafkaPassword: a password that stands in a file is read again at
// each login.
func TestChangedKafkaPassword(t *testing.T) {
	c := newConf(t)
	line := func(password string) {
		c.write("kafka.jaas", `x.ScramLoginModule required username="relay" password="`+password+`";`)
	}
	line("one")
	c.server = append(c.server, "kafka.security.protocol = SASL_PLAINTEXT", "kafka.sasl.mechanism = SCRAM-SHA-512", "canal.relay.secret.kafka.sasl.jaas.config.file = kafka.jaas")
	sasl := c.mustLoad().Instances[0].Kafka.SASL
	line("two")
	if user, got, err := sasl.Again(); err != nil || user != "relay" || got != "two" || sasl.Password != "one" || sasl.User != "relay" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestBadSASL(t *testing.T) {
	const on = "kafka.security.protocol = SASL_PLAINTEXT"
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{on}, "kafka.sasl.jaas.config: it is missing"},
		{[]string{on, "kafka.sasl.mechanism = NTLM"}, `"NTLM": choose PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI`},
		{[]string{on, "kafka.sasl.mechanism = PLAIN", "kafka.sasl.jaas.config = x.Krb5LoginModule required;"}, "its login module is x.Krb5LoginModule, the mechanism wants PlainLoginModule"},
		{[]string{on, "kafka.sasl.jaas.config = x.PlainLoginModule required;"}, "the mechanism wants Krb5LoginModule"},
		{[]string{on, "kafka.sasl.jaas.config = x.Krb5LoginModule required useKeyTab=true;", "kafka.kerberos.krb5.file = nowhere"}, "kafka.kerberos.krb5.file: stat "},
		{[]string{on, "kafka.sasl.jaas.config = x.Krb5LoginModule required useKeyTab=true;", "kafka.sasl.kerberos.service.name = kafka"}, `it must have keyTab="…" and principal="…"`},
		{[]string{on, "kafka.sasl.jaas.config = x.Krb5LoginModule required;", "kafka.sasl.kerberos.service.name = kafka"}, "useKeyTab=true or useTicketCache=true"},
		{[]string{on, "kafka.sasl.jaas.config = x.Krb5LoginModule required useTicketCache=true;"}, "kafka.sasl.kerberos.service.name: it is missing"},
		{[]string{on, "kafka.sasl.mechanism = OAUTHBEARER", "kafka.sasl.jaas.config = x.OAuthBearerLoginModule required;"}, "it says nothing of a token"},
		{[]string{on, "kafka.sasl.mechanism = OAUTHBEARER", "kafka.sasl.jaas.config = x.OAuthBearerLoginModule required;", "kafka.sasl.oauthbearer.token.endpoint.url = idp"}, "it is no URL of a server"},
		{[]string{"kafka.security.protocol = SASL_SSL", "kafka.kerberos.enable = true"}, "kafka.security.protocol: SASL_SSL: with kafka.kerberos.enable=true it is SASL_PLAINTEXT"},
		{[]string{"kafka.kerberos.enable = true"}, "kafka.kerberos.jaas.file: open "},
		{[]string{"kafka.compression.zstd.level = 99"}, "from 1 to 22"},
		{[]string{"kafka.sasl.login.callback.handler.class = org.example.Mine"}, "a class of your own cannot be loaded here"},
	} {
		c := newConf(t)
		c.server = append(c.server, tt.lines...)
		if got := strings.Join(c.problems(), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.lines, got)
		}
	}
}

// TestKafkaPropertiesAreNamed: a property of the Java client without an equal
// here is told of at start.
func TestKafkaPropertiesAreNamed(t *testing.T) {
	c := newConf(t)
	c.server = append(c.server, "kafka.metadata.max.idle.ms = 1", "kafka.metrics.num.samples = 2", "kafka.no.such.property = 3", "kafka.partitioner.class = x")
	_, findings, err := c.load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		if strings.HasPrefix(f.Key, "kafka.") && f.Verdict != "honoured" {
			got = append(got, f.Key+" "+string(f.Verdict))
		}
	}
	want := []string{"kafka.metadata.max.idle.ms ignored", "kafka.metrics.num.samples ignored", "kafka.no.such.property unknown", "kafka.partitioner.class ignored"}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}
