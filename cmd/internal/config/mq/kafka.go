package mq

import (
	"crypto/tls"
	"crypto/x509"
	"math"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/route"
)

// reader reads what concerns Kafka.
type reader struct{ *reading.Reader }

// Kafka reads the settings of the Kafka client.
func Kafka(from *reading.Reader, routes route.Config) kafka.Config {
	r := &reader{from}
	c := kafka.DefaultConfig()
	c.Brokers = r.brokers()
	c.ClientID = r.Text("kafka.client.id")
	c.Acks = r.Choice("kafka.acks", "all", "-1", "1", "0")
	c.Compression = r.Choice("kafka.compression.type", "none", "gzip", "snappy", "lz4", "zstd")
	c.Linger = r.Units("kafka.linger.ms", time.Millisecond)
	if c.Linger > time.Minute {
		r.Blame("kafka.linger.ms", "%s is longer than a batch can wait: choose up to 60000", c.Linger)
	}
	c.BatchBytes = r.within("kafka.batch.size", 0)
	c.MaxRequestBytes = r.within("kafka.max.request.size", 1<<10)
	c.BufferBytes = r.Size("kafka.buffer.memory")
	if c.BufferBytes < c.MaxRequestBytes {
		r.Blame("kafka.buffer.memory", "%d bytes cannot hold a record of kafka.max.request.size, %d", c.BufferBytes, c.MaxRequestBytes)
	}
	if router, err := route.New(routes); err == nil && strings.TrimSpace(routes.DynamicTopic) == "" && routes.Topic != "" {
		c.Topics = map[string]int32{routes.Topic: router.Partitions(routes.Topic)}
	}
	r.security(&c)
	r.limits(&c)
	c.Create = kafka.Create(r.Choice("canal.relay.topic.create", string(kafka.CreateBroker), string(kafka.CreateRelay), string(kafka.CreateNever)))
	r.creation(&c)
	return c
}

// largest is what franz-go takes for a batch or a record.
const largest = math.MaxInt32 / 4

func (r *reader) within(key string, low int) int {
	n := r.Size(key)
	if n < low || n > largest {
		r.Blame(key, "%d bytes: choose %d to %d", n, low, largest)
	}
	return n
}

func (r *reader) brokers() []string {
	const key = "kafka.bootstrap.servers"
	list := r.List(key)
	if len(list) == 0 {
		r.Blame(key, "it is missing: name some brokers as host:port,…")
	}
	for i, b := range list {
		if _, rest, ok := strings.Cut(b, "://"); ok {
			list[i] = rest // Java's client takes PLAINTEXT://host:port
		}
		if err := properties.CheckAddress(list[i]); err != nil {
			r.BlameErr(key, err)
		}
	}
	return list
}

func (r *reader) creation(c *kafka.Config) {
	const partitions, replication = "canal.relay.topic.partitions", "canal.relay.topic.replication"
	n, ok := r.Optional(partitions, 1, math.MaxInt32)
	if ok {
		c.Partitions = int32(n)
	} else if c.Create == kafka.CreateRelay && r.Text(partitions) == "" {
		r.Blame(partitions, "it is missing: with canal.relay.topic.create=relay set how many partitions a topic gets")
	}
	for _, wanted := range c.Topics {
		if c.Create == kafka.CreateRelay && ok && wanted > c.Partitions {
			r.Blame(partitions, "%d are too few: the routing needs %d", n, wanted)
		}
	}
	c.Replication = int16(r.Number(replication, -1, math.MaxInt16))
	if c.Replication == 0 {
		r.Blame(replication, "0 replicas hold nothing: choose 1 or more, or -1 for the broker's default")
	}
}

// tlsConfig reads Java's key store settings.
func (r *reader) tlsConfig() *tls.Config {
	const trust, store = "kafka.ssl.truststore.", "kafka.ssl.keystore."
	var roots *x509.CertPool
	var own []tls.Certificate
	if kind, text := r.store(trust+"type", trust+"location", trust+"certificates"); text != nil {
		var err error
		if roots, err = security.Roots(kind, text, r.Secret(trust+"password").Reveal()); err != nil {
			r.BlameErr(r.setOf(trust+"certificates", trust+"location"), err)
		}
	}
	if kind, text := r.store(store+"type", store+"location", store+"certificate.chain"); text != nil {
		pair, err := security.Pair(kind, text, []byte(r.Secret(store+"key")), r.Secret(store+"password").Reveal(), r.Secret("kafka.ssl.key.password").Reveal())
		if err != nil {
			r.BlameErr(r.setOf(store+"certificate.chain", store+"location"), err)
		}
		own = []tls.Certificate{pair}
	}
	const names, versions = "kafka.ssl.endpoint.identification.algorithm", "kafka.ssl.enabled.protocols"
	check := security.Name
	if v := r.Server(names); v.Set && v.Value == "" {
		check = security.Chain
	} else {
		r.Choice(names, "https")
	}
	c := security.Config(roots, own, check)
	least, most, err := security.Versions(r.List(versions))
	if err != nil {
		r.BlameErr(versions, err)
	} else if least != 0 {
		c.MinVersion, c.MaxVersion = least, most
	}
	return c
}

// setOf is the first of two keys that is set, else the second.
func (r *reader) setOf(a, b string) string {
	if r.Text(a) != "" {
		return a
	}
	return b
}

// store gives the kind and the bytes of a store: written out, or of the file at
// location; nil when there is none.
func (r *reader) store(kind, location, text string) (string, []byte) {
	if inline := r.Text(text); inline != "" {
		if !strings.EqualFold(r.Text(kind), security.PEM) {
			r.Blame(kind, "%q: what is written out is PEM", r.Text(kind))
		}
		return security.PEM, []byte(inline)
	}
	return r.Text(kind), r.File(location)
}
