//go:build stack

package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/deploy/local"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

const (
	storePassword = "stack-secret" // of the broker's own store, too
	keyPassword   = "k3y"
)

// private makes a certificate for a client that a server knows, and puts it, and the authority of the server's own
// certificate, which is in a store, into stores of every kind in dir.
func private(t *testing.T, path, dir string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, text []byte) { must(os.WriteFile(filepath.Join(dir, name), text, 0o600)) }
	store, err := os.ReadFile(path)
	must(err)
	signer, ca, _, err := pkcs12.DecodeChain(store, storePassword)
	must(err)
	put("broker.p12", store) // made by keytool
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	serial := time.Now().UnixNano()
	c := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("relay-", serial)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, signer.(crypto.Signer))
	must(err)
	c, err = x509.ParseCertificate(der)
	must(err)
	plain, err := x509.MarshalPKCS8PrivateKey(key)
	must(err)
	sealed, err := pkcs8.MarshalPrivateKey(key, []byte(keyPassword), pkcs8.DefaultOpts)
	must(err)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	put("ca.pem", block("CERTIFICATE", ca.Raw))
	put("client.pem", append(block("PRIVATE KEY", plain), block("CERTIFICATE", c.Raw)...))
	put("sealed.pem", append(block("ENCRYPTED PRIVATE KEY", sealed), block("CERTIFICATE", c.Raw)...))
	text, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{ca}, storePassword)
	must(err)
	put("ca.p12", text)
	text, err = pkcs12.Modern.Encode(key, c, nil, storePassword)
	must(err)
	put("client.p12", text)
	jks := func(name string, fill func(keystore.KeyStore) error) {
		ks := keystore.New()
		must(fill(ks))
		var b bytes.Buffer
		must(ks.Store(&b, []byte(storePassword)))
		put(name, b.Bytes())
	}
	jks("ca.jks", func(ks keystore.KeyStore) error {
		return ks.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: ca.Raw}})
	})
	jks("client.jks", func(ks keystore.KeyStore) error {
		chain := []keystore.Certificate{{Type: "X509", Content: c.Raw}}
		return ks.SetPrivateKeyEntry("relay", keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: plain, CertificateChain: chain}, []byte(keyPassword))
	})
}

// scram makes a user of both SCRAM mechanisms.
func scram(t *testing.T, broker, user, password string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // a user at a time
		made, err := kadm.NewClient(cl).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: user, Mechanism: m, Iterations: 4096, Password: password}})
		for _, one := range made {
			err = errors.Join(err, one.Err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// tickets starts the KDC, and puts the keys of relay into dir.
func tickets(t *testing.T, w *world, dir string) {
	t.Helper()
	w.servers("up", "kdc")
	keys := keytab.New()
	w.must(keys.AddEntry("relay", "STACK.TEST", "relay-secret", time.Now(), 1, 18))
	text, err := keys.Marshal()
	w.must(err)
	w.must(os.WriteFile(filepath.Join(dir, "relay.keytab"), text, 0o600))
	keys = keytab.New()
	w.must(keys.AddEntry("relay", "STACK.TEST", "wr0ng", time.Now(), 1, 18))
	text, err = keys.Marshal()
	w.must(err)
	w.must(os.WriteFile(filepath.Join(dir, "wrong.keytab"), text, 0o600))
}

const (
	plainLogin = `kafka.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="relay" password="%s";`
	scramLogin = `kafka.sasl.jaas.config = org.apache.kafka.common.security.scram.ScramLoginModule required username="relay" password="%s";`
	tokenLogin = `kafka.sasl.jaas.config = org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_%s="relay";`
	krb5Login  = `kafka.sasl.jaas.config = com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="%s" principal="relay@STACK.TEST";`
)

// TestStackKafkaSecurity: every way to log in to Kafka and to keep the connection private, as settings of Canal's file: what
// is right gets a record acknowledged, what is wrong is told within seconds and without the secret.
func TestStackKafkaSecurity(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	dir := filepath.Join(w.dir, "conf")
	w.must(os.MkdirAll(dir, 0o755))
	private(t, os.Getenv("CANAL_RELAY_KAFKA_STORE"), dir)
	scram(t, w.Kafka, "relay", "relay-secret")
	tickets(t, w, dir)
	plain, both, tls := os.Getenv("CANAL_RELAY_KAFKA_SASL"), os.Getenv("CANAL_RELAY_KAFKA_SASL_SSL"), os.Getenv("CANAL_RELAY_KAFKA_SSL")
	const pem, pemTrust = "kafka.ssl.keystore.type = PEM\nkafka.ssl.keystore.location = ", "kafka.ssl.truststore.type = PEM\nkafka.ssl.truststore.location = ca.pem\n"
	const p12 = "kafka.ssl.truststore.type = PKCS12\nkafka.ssl.truststore.location = ca.p12\nkafka.ssl.truststore.password = stack-secret\nkafka.ssl.keystore.type = PKCS12\nkafka.ssl.keystore.password = stack-secret\nkafka.ssl.keystore.location = "
	const jks = "kafka.ssl.truststore.location = ca.jks\nkafka.ssl.truststore.password = stack-secret\nkafka.ssl.keystore.password = stack-secret\nkafka.ssl.key.password = k3y\nkafka.ssl.keystore.location = "
	krb5 := "kafka.sasl.mechanism = GSSAPI\nkafka.sasl.kerberos.service.name = kafka\nkafka.kerberos.krb5.file = " + os.Getenv("CANAL_RELAY_KRB5_CONFIG") + "\n"
	for _, tt := range []struct{ name, address, settings, wrong string }{
		{"SASL_PLAINTEXT PLAIN", plain, "kafka.sasl.mechanism = PLAIN\n" + fmt.Sprintf(plainLogin, "relay-secret"), ""},
		{"SASL_PLAINTEXT PLAIN", plain, "kafka.sasl.mechanism = PLAIN\n" + fmt.Sprintf(plainLogin, "wr0ng"), "SASL_AUTHENTICATION_FAILED"},
		{"SASL_PLAINTEXT SCRAM-SHA-256", plain, "kafka.sasl.mechanism = SCRAM-SHA-256\n" + fmt.Sprintf(scramLogin, "relay-secret"), ""},
		{"SASL_PLAINTEXT SCRAM-SHA-512", plain, "kafka.sasl.mechanism = SCRAM-SHA-512\n" + fmt.Sprintf(scramLogin, "wr0ng"), "SASL_AUTHENTICATION_FAILED"},
		{"SASL_PLAINTEXT OAUTHBEARER", plain, "kafka.sasl.mechanism = OAUTHBEARER\n" + fmt.Sprintf(tokenLogin, "sub"), ""},
		{"SASL_PLAINTEXT OAUTHBEARER", plain, "kafka.sasl.mechanism = OAUTHBEARER\n" + fmt.Sprintf(tokenLogin, "other"), "invalid"},
		{"SASL_PLAINTEXT GSSAPI", plain, krb5 + fmt.Sprintf(krb5Login, "relay.keytab"), ""},
		{"SASL_PLAINTEXT GSSAPI", plain, krb5 + fmt.Sprintf(krb5Login, "wrong.keytab"), "get a Kerberos ticket for kafka"},
		{"SASL_SSL PLAIN", both, pemTrust + "kafka.sasl.mechanism = PLAIN\n" + fmt.Sprintf(plainLogin, "relay-secret"), ""},
		{"SASL_SSL SCRAM-SHA-512", both, pemTrust + "kafka.sasl.mechanism = SCRAM-SHA-512\n" + fmt.Sprintf(scramLogin, "relay-secret"), ""},
		{"SASL_SSL SCRAM-SHA-256", both, "kafka.sasl.mechanism = SCRAM-SHA-256\n" + fmt.Sprintf(scramLogin, "relay-secret"), "certificate signed by unknown authority"},
		{"SASL_SSL GSSAPI", both, pemTrust + krb5 + fmt.Sprintf(krb5Login, "relay.keytab"), ""},
		{"SSL", tls, pemTrust + pem + "client.pem", ""},
		{"SSL", tls, pemTrust + pem + "sealed.pem\nkafka.ssl.key.password = k3y", ""},
		{"SSL", tls, p12 + "client.p12\nkafka.ssl.enabled.protocols = TLSv1.2", ""},
		{"SSL", tls, p12 + "broker.p12", ""},
		{"SSL", tls, jks + "client.jks", ""},
		{"SSL", tls, pemTrust, "ends the TLS handshake"},
		{"SSL", strings.Replace(tls, "localhost", "127.0.0.1", 1), pemTrust + pem + "client.pem", "127.0.0.1"},
		{"SSL", strings.Replace(tls, "localhost", "127.0.0.1", 1), pemTrust + pem + "client.pem\nkafka.ssl.endpoint.identification.algorithm =", ""},
	} {
		name := tt.name
		if tt.wrong != "" {
			name += " wrong"
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			protocol, _, _ := strings.Cut(tt.name, " ")
			err := w.produce(ctx, dir, fmt.Sprintf("kafka.bootstrap.servers = %s\nkafka.security.protocol = %s\n%s\n", tt.address, protocol, tt.settings))
			switch {
			case tt.wrong == "" && err != nil:
				t.Error(err)
			case tt.wrong != "" && (err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), tt.wrong)):
				t.Errorf("got %v, want %s", err, tt.wrong)
			case err != nil && strings.Contains(err.Error(), "wr0ng"):
				t.Errorf("the secret is shown: %v", err)
			}
		})
	}
}

// TestStackKafkaPassword is the field cases KD-13 and SE-01: a node whose password Kafka does not take says so within seconds, and
// so does one that may no longer write to the topic. When that is corrected nothing is missing. The secrets of Kafka and of the
// source are in no log, page or metric.
func TestStackKafkaPassword(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join(w.dir, "stores")
	w.must(os.MkdirAll(dir, 0o755))
	private(t, os.Getenv("CANAL_RELAY_KAFKA_STORE"), dir)
	const secret = `s3cret:@#%\/`
	user := w.name
	scram(t, w.Kafka, user, "another")
	for k, v := range map[string]string{"kafka.bootstrap.servers": os.Getenv("CANAL_RELAY_KAFKA_SASL_SSL"), "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "SCRAM-SHA-512",
		"kafka.sasl.jaas.config":    `x.ScramLoginModule required username="` + user + `" password="` + strings.ReplaceAll(secret, `\`, `\\`) + `";`,
		"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": filepath.Join(dir, "ca.pem")} {
		w.conf.Server[k] = v
	}
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "SET SESSION sql_log_bin = 0", "CREATE USER '"+user+"'@'127.0.0.1' IDENTIFIED BY '"+strings.ReplaceAll(secret, `\`, `\\`)+"'",
		"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '"+user+"'@'127.0.0.1'", "SET SESSION sql_log_bin = 1")
	t.Cleanup(func() { _ = local.Exec(conn, "SET SESSION sql_log_bin = 0", "DROP USER '"+user+"'@'127.0.0.1'") })
	keys := w.conf.Destinations[w.name]
	keys["canal.instance.dbUsername"], keys["canal.instance.dbPassword"] = user, secret
	node := w.start()
	w.exec(conn, "INSERT INTO t VALUES (1)")
	w.awaitFailure(ctx, node, "", regexp.MustCompile("SASL_AUTHENTICATION_FAILED"))
	scram(t, w.Kafka, user, secret)
	w.exec(conn, "INSERT INTO t VALUES (2)")
	if changes, _ := w.prove(ctx, conn); changes < 2 {
		t.Errorf("%d changes", changes)
	}
	allow := w.deny(ctx, user)
	w.exec(conn, "INSERT INTO t VALUES (3)")
	began := time.Now()
	w.awaitFailure(ctx, node, "", regexp.MustCompile("TOPIC_AUTHORIZATION_FAILED"))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("told after %v", took)
	} else {
		t.Logf("told after %v", took)
	}
	allow()
	if changes, _ := w.prove(ctx, conn); changes < 3 {
		t.Errorf("%d changes", changes)
	}
	all := w.log(0)
	for _, page := range []string{"/", "/status", "/metrics"} {
		response, err := http.Get("http://" + node.HTTP + page)
		w.must(err)
		text, err := io.ReadAll(response.Body)
		w.must(errors.Join(err, response.Body.Close()))
		all += string(text)
	}
	for _, part := range []string{"s3cret", "another"} {
		if strings.Contains(all, part) {
			t.Errorf("%s is shown", part)
		}
	}
}

// deny keeps a user from writing to the topic until allow is called.
func (w *world) deny(ctx context.Context, user string) (allow func()) {
	w.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka))
	w.must(err)
	w.Cleanup(cl.Close)
	rule := kadm.NewACLs().Deny("User:" + user).DenyHosts().Topics(w.name).ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpWrite)
	made, err := kadm.NewClient(cl).CreateACLs(ctx, rule)
	w.must(err)
	w.must(made[0].Err)
	w.until(ctx, "the rule", func() bool { // the broker heeds it a moment later
		rules, err := kadm.NewClient(cl).DescribeACLs(ctx, rule)
		w.must(err)
		return len(rules) == 1 && len(rules[0].Described) == 1
	})
	return func() {
		gone, err := kadm.NewClient(cl).DeleteACLs(ctx, rule)
		w.must(err)
		if len(gone) != 1 || gone[0].Err != nil || len(gone[0].Deleted) != 1 {
			w.Fatalf("delete the rule: %+v", gone)
		}
	}
}

// produce makes the producer that settings describe, and has it send one record.
func (w *world) produce(ctx context.Context, dir, settings string) error {
	w.must(os.WriteFile(filepath.Join(dir, "canal.properties"), []byte("canal.serverMode = kafka\ncanal.destinations = d\n"+settings), 0o600))
	w.must(os.MkdirAll(filepath.Join(dir, "d"), 0o755))
	w.must(os.WriteFile(filepath.Join(dir, "d", "instance.properties"), []byte("canal.instance.master.address = 127.0.0.1:1\ncanal.mq.topic = "+w.name+"\n"), 0o600))
	node, _, err := config.Load(dir, func(string) (string, bool) { return "", false })
	if err != nil {
		return err
	}
	var log bytes.Buffer
	p, err := kafka.New(node.Instances[0].Kafka, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		return err
	}
	defer func() { _ = p.Close(context.WithoutCancel(ctx)) }()
	if _, err := p.Claim(ctx, 1); !errors.Is(err, position.ErrNone) {
		return fmt.Errorf("claim: %w; log: %s", err, &log)
	}
	acked := make(chan error, 1)
	p.Send(ctx, &message.Parcel{Messages: []message.Message{{Topic: w.name, Value: []byte("{}")}}}, func(err error) { acked <- err })
	return <-acked
}
