package config

import (
	"crypto/tls"
	"crypto/x509"
	"math"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/route"
)

// olderNames are the names that Kafka settings had until Canal 1.1.4.
var olderNames = map[string]string{
	"kafka.bootstrap.servers": "canal.mq.servers",
	"kafka.acks":              "canal.mq.acks",
	"kafka.compression.type":  "canal.mq.compressionType",
	"kafka.batch.size":        "canal.mq.batchSize",
	"kafka.linger.ms":         "canal.mq.lingerMs",
	"kafka.max.request.size":  "canal.mq.maxRequestSize",
	"kafka.buffer.memory":     "canal.mq.bufferMemory",
}

// kafka reads a setting of the Kafka client. An older name that is set replaces
// the newer one, and the environment can change one that is there, not add one.
func (r *reader) kafka(key string) properties.Setting {
	base := r.First(key)
	if old := olderNames[key]; old != "" {
		if v := r.Direct(old); v.Value != "" {
			base = v
		}
	}
	if _, ok := r.Env(key); ok && base.Set {
		return r.Direct(key)
	}
	return base
}

// kafkaConfig reads the settings of the Kafka client.
func (r *reader) kafkaConfig(routes route.Config) kafka.Config {
	c := kafka.DefaultConfig()
	c.Brokers = r.brokers()
	c.ClientID = r.text("kafka.client.id")
	c.Acks = r.choice("kafka.acks", "all", "-1", "1", "0")
	c.Compression = r.choice("kafka.compression.type", "none", "gzip", "snappy", "lz4", "zstd")
	c.Linger = r.units("kafka.linger.ms", time.Millisecond)
	if c.Linger > time.Minute {
		r.blame("kafka.linger.ms", "%s is longer than a batch can wait: choose up to 60000", c.Linger)
	}
	c.BatchBytes = r.within("kafka.batch.size", 0)
	c.MaxRequestBytes = r.within("kafka.max.request.size", 1<<10)
	c.BufferBytes = r.size("kafka.buffer.memory")
	if c.BufferBytes < c.MaxRequestBytes {
		r.blame("kafka.buffer.memory", "%d bytes cannot hold a record of kafka.max.request.size, %d", c.BufferBytes, c.MaxRequestBytes)
	}
	if router, err := route.New(routes); err == nil && strings.TrimSpace(routes.DynamicTopic) == "" && routes.Topic != "" {
		c.Topics = map[string]int32{routes.Topic: router.Partitions(routes.Topic)}
	}
	r.security(&c)
	c.Create = kafka.Create(r.choice("canal.relay.topic.create", string(kafka.CreateBroker), string(kafka.CreateRelay), string(kafka.CreateNever)))
	r.creation(&c)
	return c
}

// largest is what franz-go takes for a batch or a record.
const largest = math.MaxInt32 / 4

func (r *reader) within(key string, low int) int {
	n := r.size(key)
	if n < low || n > largest {
		r.blame(key, "%d bytes: choose %d to %d", n, low, largest)
	}
	return n
}

func (r *reader) brokers() []string {
	const key = "kafka.bootstrap.servers"
	list := r.list(key)
	if len(list) == 0 {
		r.blame(key, "it is missing: name some brokers as host:port,…")
	}
	for i, b := range list {
		if _, rest, ok := strings.Cut(b, "://"); ok {
			list[i] = rest // Java's client takes PLAINTEXT://host:port
		}
		if err := properties.CheckAddress(list[i]); err != nil {
			r.blameErr(key, err)
		}
	}
	return list
}

func (r *reader) creation(c *kafka.Config) {
	const partitions, replication = "canal.relay.topic.partitions", "canal.relay.topic.replication"
	n, ok := r.optional(partitions, 1, math.MaxInt32)
	if ok {
		c.Partitions = int32(n)
	} else if c.Create == kafka.CreateRelay && r.text(partitions) == "" {
		r.blame(partitions, "it is missing: with canal.relay.topic.create=relay set how many partitions a topic gets")
	}
	for _, wanted := range c.Topics {
		if c.Create == kafka.CreateRelay && ok && wanted > c.Partitions {
			r.blame(partitions, "%d are too few: the routing needs %d", n, wanted)
		}
	}
	c.Replication = int16(r.number(replication, -1, math.MaxInt16))
	if c.Replication == 0 {
		r.blame(replication, "0 replicas hold nothing: choose 1 or more, or -1 for the broker's default")
	}
}

// security reads who the client is and how the connection is kept private.
func (r *reader) security(c *kafka.Config) {
	const protocol, mechanism, jaas = "kafka.security.protocol", "kafka.sasl.mechanism", "kafka.sasl.jaas.config"
	p := r.choice(protocol, "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
	if strings.HasSuffix(p, "SSL") {
		c.TLS = r.tlsConfig()
	}
	if !strings.HasPrefix(p, "SASL") {
		return
	}
	if c.SASL.Mechanism = r.text(mechanism); c.SASL.Mechanism == "" {
		r.blame(mechanism, "it is missing: with %s=%s set PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", protocol, p)
		return
	}
	c.SASL.Mechanism = r.choice(mechanism, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
	var err error
	if c.SASL.User, c.SASL.Password, err = security.ParseJAAS(r.secret(jaas).Reveal()); err != nil {
		r.blameErr(jaas, err)
	}
	if again := r.secretAgain(jaas); again != nil {
		c.SASL.Again = func() (user, password string, err error) {
			text, err := again()
			if err == nil {
				user, password, err = security.ParseJAAS(text)
			}
			return user, password, err
		}
	}
}

// tlsConfig reads Java's key store settings.
func (r *reader) tlsConfig() *tls.Config {
	const trust, store = "kafka.ssl.truststore.", "kafka.ssl.keystore."
	var roots *x509.CertPool
	var own []tls.Certificate
	if kind, text := r.store(trust+"type", trust+"location", trust+"certificates"); text != nil {
		var err error
		if roots, err = security.Roots(kind, text, r.secret(trust+"password").Reveal()); err != nil {
			r.blameErr(r.setOf(trust+"certificates", trust+"location"), err)
		}
	}
	if kind, text := r.store(store+"type", store+"location", store+"certificate.chain"); text != nil {
		pair, err := security.Pair(kind, text, []byte(r.secret(store+"key")), r.secret(store+"password").Reveal())
		if err != nil {
			r.blameErr(r.setOf(store+"certificate.chain", store+"location"), err)
		}
		own = []tls.Certificate{pair}
	}
	const names = "kafka.ssl.endpoint.identification.algorithm"
	if v := r.direct(names); v.Set && v.Value == "" {
		return security.Config(roots, own, security.Chain)
	}
	r.choice(names, "https")
	return security.Config(roots, own, security.Name)
}

// setOf is the first of two keys that is set, else the second.
func (r *reader) setOf(a, b string) string {
	if r.text(a) != "" {
		return a
	}
	return b
}

// store gives the kind and the bytes of a store: written out, or of the file at
// location; nil when there is none.
func (r *reader) store(kind, location, text string) (string, []byte) {
	if inline := r.text(text); inline != "" {
		if !strings.EqualFold(r.text(kind), security.PEM) {
			r.blame(kind, "%q: what is written out is PEM", r.text(kind))
		}
		return security.PEM, []byte(inline)
	}
	return r.text(kind), r.file(location)
}
