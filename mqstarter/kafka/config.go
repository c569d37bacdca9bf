package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/dial"
	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
)

// Create says who makes a topic of changes that does not exist.
type Create string

// The ways a missing topic is dealt with.
const (
	CreateBroker Create = "broker" // the broker may, when it is set to
	CreateRelay  Create = "relay"  // we do, with Partitions and Replication
	CreateNever  Create = "never"  // nobody: it is an error
)

// Defaults of a Config: what Canal ships, but for in-flight requests, which are
// several here (idempotence keeps their order).
const (
	DefaultAcks            = "all"
	DefaultCompression     = "none"
	DefaultLinger          = time.Millisecond
	DefaultBatchBytes      = 16 << 10
	DefaultMaxRequestBytes = 1 << 20
	DefaultBufferBytes     = 32 << 20
)

// Config is what a Producer is told.
type Config struct {
	Brokers  []string // host:port of some brokers of the cluster
	ClientID string

	// Acks is all, 1 or 0. Only with all is the producer idempotent, and only
	// then is nothing lost or swapped when a broker fails; 1 and 0 are what an
	// operator may have set for Canal, and send one request at a time.
	Acks        string
	Compression string        // none, gzip, snappy, lz4 or zstd
	Linger      time.Duration // how long a batch may wait for more records

	// BatchBytes and MaxRequestBytes are limits of a batch of records and of a
	// record, before compression; the larger one bounds batches. They are no
	// targets: a batch is sent when Linger is over, and grows while the broker
	// is busy with earlier ones.
	BatchBytes      int
	MaxRequestBytes int
	BufferBytes     int // bytes of records not yet acknowledged; Send waits beyond

	TLS  *tls.Config // nil for plain text
	SASL login.Config

	// Dial opens connections; nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Allowed is asked right before anything is written to a broker: whether
	// the lease is held. Nil is always.
	Allowed func() bool

	// Topics are those known before the first record, each with the partitions
	// that it must have (0 for any): Claim looks at them.
	Topics      map[string]int32
	DeadLetters string // the topic of dead letters, if it is one of Topics: always ours to create, with one partition
	Create      Create
	Partitions  int32 // of topics that we create
	Replication int16 // of topics that we create; -1 is the broker's default

	// Limits of time that are seldom set; 0 leaves each to us, or to franz-go.
	TailTimeout    time.Duration // for finding the last records of an earlier term
	RequestTimeout time.Duration // for a broker to write what it got, before it is asked again
	DialTimeout    time.Duration
	IdleTimeout    time.Duration // after which an unused connection is closed
	MetadataMaxAge time.Duration // after which topics and leaders are looked up anew
	RetryPause     time.Duration // before a request is tried again; twice as long each time
	RetryPauseMax  time.Duration
	Level          int // of compression, as its codec counts; 0 is the codec's own
}

// DefaultConfig is a Config that lacks only Brokers.
func DefaultConfig() Config {
	return Config{
		ClientID:        "canal-relay",
		Acks:            DefaultAcks,
		Compression:     DefaultCompression,
		Linger:          DefaultLinger,
		BatchBytes:      DefaultBatchBytes,
		MaxRequestBytes: DefaultMaxRequestBytes,
		BufferBytes:     DefaultBufferBytes,
		Create:          CreateBroker,
		Partitions:      1,
		Replication:     -1,
	}
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func (c *Config) codec() kgo.CompressionCodec {
	codec := codecs[c.Compression]
	if c.Level != 0 {
		codec = codec.WithLevel(c.Level)
	}
	return codec
}

// Validate reports what in c cannot work.
func (c *Config) Validate() error {
	_, codec := codecs[c.Compression]
	switch {
	case len(c.Brokers) == 0:
		return errors.New("no Kafka broker is named")
	case c.Acks != "all" && c.Acks != "-1" && c.Acks != "1" && c.Acks != "0":
		return fmt.Errorf("acks %q: choose all, 1 or 0", c.Acks)
	case !codec:
		return fmt.Errorf("compression %q: choose none, gzip, snappy, lz4 or zstd", c.Compression)
	case c.Linger < 0 || c.Linger > time.Minute:
		return fmt.Errorf("linger %s: choose 0 to 1m", c.Linger)
	case c.BatchBytes < 0 || c.BatchBytes > math.MaxInt32/4:
		return fmt.Errorf("batch size %d bytes: choose up to 512 MiB", c.BatchBytes)
	case c.MaxRequestBytes < 1<<10 || c.MaxRequestBytes > math.MaxInt32/4:
		return fmt.Errorf("request size %d bytes: choose 1 KiB to 512 MiB", c.MaxRequestBytes)
	case c.BufferBytes < c.MaxRequestBytes:
		return fmt.Errorf("buffer of %d bytes: it must hold a request of %d", c.BufferBytes, c.MaxRequestBytes)
	case c.Create != CreateBroker && c.Create != CreateRelay && c.Create != CreateNever:
		return fmt.Errorf("topic creation %q: choose broker, relay or never", c.Create)
	case c.Create == CreateRelay && (c.Partitions < 1 || c.Replication == 0 || c.Replication < -1):
		return fmt.Errorf("topics cannot be created with %d partitions and replication %d", c.Partitions, c.Replication)
	}
	return c.SASL.Validate()
}

func (c *Config) idempotent() bool { return c.Acks == "all" || c.Acks == "-1" }

// making says who makes a missing topic, and with how many partitions.
func (c *Config) making(name string) (Create, int32) {
	if name != "" && name == c.DeadLetters {
		return CreateRelay, 1
	}
	return c.Create, c.Partitions
}

// BatchLimit is the most that a batch may have, with its header.
func (c *Config) BatchLimit() int { return max(c.BatchBytes, c.MaxRequestBytes) }

// backOff is the pause before a request is tried again: twice as long each
// time, and a part of it by chance, so that many destinations do not return
// to a broker together.
func (c *Config) backOff(fails int) time.Duration {
	least := or(c.RetryPause, backOffMin)
	pause := min(least<<min(max(fails-1, 0), 10), max(or(c.RetryPauseMax, backOffMax), least))
	return pause - rand.N(pause/4+1)
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// Options are franz-go's without a Producer's own: nobody else has a topic made by asking for it.
func (c *Config) Options() ([]kgo.Opt, error) {
	mechanism, err := c.SASL.Build()
	if err != nil {
		return nil, err
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(c.ClientID),
		kgo.Dialer((&dial.Dialer{Dial: c.Dial, TLS: c.TLS, Allowed: c.Allowed, Timeout: c.DialTimeout}).Connect),
		kgo.ConnIdleTimeout(or(c.IdleTimeout, idleTimeout)),
		kgo.RetryBackoffFn(c.backOff),
		kgo.MetadataMinAge(backOffMin), // a moved leader is looked for at once
		kgo.DisableClientMetrics(),     // they would delay closing, and nobody reads them
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(c.codec()),
		kgo.ProducerLinger(c.Linger),
		kgo.MaxBufferedRecords(math.MaxInt32), // bytes bound them
		kgo.MaxBufferedBytes(c.BufferBytes),
		kgo.BrokerMaxWriteBytes(int32(max(100<<20, 2*c.BatchLimit()))),
		kgo.UnknownTopicRetries(-1), // a topic that was seen is waited for
	}
	switch c.Acks {
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	default:
		options = append(options, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.StopProducerOnDataLossDetected())
	}
	if c.RequestTimeout > 0 {
		options = append(options, kgo.ProduceRequestTimeout(c.RequestTimeout))
	}
	if c.MetadataMaxAge > 0 {
		options = append(options, kgo.MetadataMaxAge(max(c.MetadataMaxAge, backOffMin)))
	}
	if mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}
