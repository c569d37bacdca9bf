package kafka

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/relay/position"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func cluster(t *testing.T, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// lines is a log that tests read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func producer(t *testing.T, brokers []string, change func(*Config)) (*Producer, *lines) {
	t.Helper()
	c := DefaultConfig()
	c.Brokers = brokers
	if change != nil {
		change(&c)
	}
	log := &lines{}
	p, err := New(c, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p, log
}

// freePort is a port without a server. It lies below those that the kernel
// hands out, so that nobody takes it while a broker is away.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20000 + rand.IntN(12000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

func claim(t *testing.T, p *Producer) {
	t.Helper()
	if _, err := p.Claim(t.Context(), 1); !errors.Is(err, position.ErrNone) {
		t.Fatalf("claim: got %v, want ErrNone", err)
	}
}

// send sends a parcel and returns where its outcome arrives.
func send(t *testing.T, p *Producer, messages ...message.Message) chan error {
	done := make(chan error, 2)
	p.Send(t.Context(), &message.Parcel{Messages: messages}, func(err error) { done <- err })
	return done
}

func outcome(t *testing.T, done chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the parcel was not settled")
		return nil
	}
}

func record(topic string, partition int32, value string) message.Message {
	return message.Message{Topic: topic, Partition: partition, Value: []byte(value), Schema: "shop", Table: "orders"}
}

// read returns the values of a topic by partition, n in all.
func read(t *testing.T, c *kfake.Cluster, topic string, n int) map[int32][]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(map[int32][]string)
	for n > 0 && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			got[r.Partition] = append(got[r.Partition], string(r.Value))
			n--
		})
	}
	return got
}

func TestOrderInEveryPartition(t *testing.T) {
	const partitions, parcels, each = 16, 60, 50
	c := cluster(t, kfake.SeedTopics(partitions, "changes"))
	p, _ := producer(t, c.ListenAddrs(), nil)
	claim(t, p)
	wanted := make(map[int32][]string)
	var all []chan error
	for n := range parcels {
		var messages []message.Message
		for i := range each {
			partition := int32((n*7 + i*i) % partitions)
			text := fmt.Sprintf("%d/%d", n, i)
			wanted[partition] = append(wanted[partition], text)
			messages = append(messages, record("changes", partition, text))
		}
		all = append(all, send(t, p, messages...))
	}
	for n, done := range all {
		if err := outcome(t, done); err != nil {
			t.Fatalf("parcel %d: %v", n, err)
		}
		if len(done) != 0 {
			t.Fatalf("parcel %d was settled twice", n)
		}
	}
	if got := read(t, c, "changes", parcels*each); fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Error("the partitions do not hold what was sent, in the order in which it was sent")
	}
}

func TestRecordIsWrittenAsGiven(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	p, _ := producer(t, c.ListenAddrs(), nil)
	m := record("changes", 0, "{}")
	m.Key = []byte("7")
	m.Headers = message.NewOrigin("shop", -1).Headers([]byte("tx"), []byte("0"))
	if err := outcome(t, send(t, p, m, record("changes", 0, "plain"))); err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics("changes"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var got []string
	for len(got) < 2 {
		client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			got = append(got, fmt.Sprintf("%q %t %q %v", r.Key, r.Key == nil, r.Value, r.Headers))
		})
	}
	if text := strings.Join(got, "\n"); text != `"7" false "{}" [{r-dest [115 104 111 112]} {r-pos [116 120]} {r-row [48]}]`+"\n"+`"" true "plain" []` {
		t.Errorf("got %s", text)
	}
}

func TestEmptyParcelIsDone(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	p, _ := producer(t, c.ListenAddrs(), nil)
	if err := outcome(t, send(t, p)); err != nil {
		t.Error(err)
	}
}

func TestRefusedRecordStopsLaterParcels(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(2, "changes"))
	c.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: "changes", Partitions: []int32{1},
		Err: kerr.InvalidRecord, Count: 1,
	})
	p, _ := producer(t, c.ListenAddrs(), nil)
	claim(t, p)
	if err := outcome(t, send(t, p, record("changes", 0, "before"))); err != nil {
		t.Fatal(err)
	}
	err := outcome(t, send(t, p, record("changes", 1, "refused")))
	if !errors.Is(err, kerr.InvalidRecord) {
		t.Fatalf("got %v, want INVALID_RECORD", err)
	}
	if !strings.Contains(err.Error(), "topic changes, partition 1 (table shop.orders, 7 bytes)") {
		t.Errorf("the error does not say which record it was: %v", err)
	}
	for range 3 {
		if later := outcome(t, send(t, p, record("changes", 0, "later"), record("changes", 1, "later"))); !errors.Is(later, kerr.InvalidRecord) {
			t.Fatalf("a later parcel: got %v, want the first refusal", later)
		}
	}
	if got := fmt.Sprint(read(t, c, "changes", 1)); got != "map[0:[before]]" {
		t.Errorf("written: %s", got)
	}
	for i, want := range []int64{1, 0} {
		if got := c.PartitionInfo("changes", int32(i)).HighWatermark; got != want {
			t.Errorf("partition %d has %d records, want %d", i, got, want)
		}
	}
}

func TestMissingPartition(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, "changes"))
	p, _ := producer(t, c.ListenAddrs(), nil)
	err := outcome(t, send(t, p, record("changes", 0, "fine"), record("changes", 5, "not there")))
	wanted := "topic changes has 3 partitions, partition 5 is wanted (table shop.orders): create it with kafka-topics --bootstrap-server " +
		c.ListenAddrs()[0] + " --alter --topic changes --partitions 6"
	if err == nil || err.Error() != wanted {
		t.Errorf("got  %v\nwant %s", err, wanted)
	}
	if n := c.PartitionInfo("changes", 0).HighWatermark; n != 0 {
		t.Errorf("%d records of the parcel were written", n)
	}
}

func TestMissingTopic(t *testing.T) {
	for create, most := range map[Create]int32{CreateNever: 2, CreateBroker: int32(topicWait/topicPause) + 2} {
		t.Run(string(create), func(t *testing.T) {
			t.Parallel()
			c := cluster(t)
			var asked atomic.Int32
			c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				if len(r.(*kmsg.MetadataRequest).Topics) == 1 {
					asked.Add(1)
				}
				return nil, nil, false
			})
			p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.Create = create; c.Topics = map[string]int32{"absent": 1} })
			_, err := p.Claim(t.Context(), 1)
			if err == nil || !strings.Contains(err.Error(), "topic absent does not exist") ||
				!strings.Contains(err.Error(), "--create --topic absent --partitions 1") {
				t.Errorf("got %v", err)
			}
			if n := asked.Load(); n > most {
				t.Errorf("asked %d times, want %d", n, most)
			}
		})
	}
}

func TestTopicIsCreated(t *testing.T) {
	for name, c := range map[string]struct {
		options []kfake.Opt
		change  func(*Config)
		want    int
	}{
		"by the broker": {[]kfake.Opt{kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(2)}, nil, 2},
		"by the relay":  {nil, func(c *Config) { c.Create = CreateRelay; c.Partitions = 4 }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			k := cluster(t, c.options...)
			p, _ := producer(t, k.ListenAddrs(), c.change)
			if err := outcome(t, send(t, p, record("fresh", 1, "first"))); err != nil {
				t.Fatal(err)
			}
			if got := len(k.PartitionInfos("fresh")); got != c.want {
				t.Errorf("the topic has %d partitions, want %d", got, c.want)
			}
		})
	}
}

func TestBrokerAwayAtStart(t *testing.T) {
	port := freePort(t)
	p, log := producer(t, []string{fmt.Sprintf("127.0.0.1:%d", port)}, nil)
	claimed := make(chan error, 1)
	go func() { _, err := p.Claim(t.Context(), 1); claimed <- err }()
	for limit := time.After(time.Minute); log.count("Kafka does not answer") == 0; {
		select {
		case err := <-claimed:
			t.Fatalf("the claim ended without a broker: %v", err)
		case <-limit:
			t.Fatal("the absence was not logged")
		case <-time.After(10 * time.Millisecond):
		}
	}
	cluster(t, kfake.Ports(port), kfake.SeedTopics(1, "changes"))
	select {
	case err := <-claimed:
		if !errors.Is(err, position.ErrNone) {
			t.Fatalf("claim: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the claim did not notice the broker")
	}
	if n := log.count("Kafka does not answer"); n != 1 {
		t.Errorf("the absence was logged %d times", n)
	}
}

// TestEachBrokerIsAwayByItself: one address answers at every attempt and names
// another one, which never does. That is said once.
func TestEachBrokerIsAwayByItself(t *testing.T) {
	p, log := producer(t, []string{"127.0.0.1:1"}, nil)
	for range 3 {
		p.OnBrokerConnect(kgo.BrokerMetadata{Host: "kafka", Port: 9092}, 0, nil, nil)
		p.OnBrokerConnect(kgo.BrokerMetadata{Host: "kafka-1.internal", Port: 9092}, 0, nil, errors.New("no route to host"))
	}
	if away, there := log.count("Kafka does not answer"), log.count("Kafka answers again"); away != 1 || there != 0 {
		t.Errorf("its absence was logged %d times, its return %d times", away, there)
	}
	p.OnBrokerConnect(kgo.BrokerMetadata{Host: "kafka-1.internal", Port: 9092}, 0, nil, nil)
	if log.count("Kafka answers again") != 1 {
		t.Error("its return was not logged")
	}
}

func TestClaimEndsWithItsContext(t *testing.T) {
	p, _ := producer(t, []string{"127.0.0.1:1"}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Claim(ctx, 1); err == nil || errors.Is(err, position.ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestBrokerGoesAwayAndComesBack(t *testing.T) {
	dir := t.TempDir()
	port := freePort(t)
	c := cluster(t, kfake.Ports(port), kfake.SeedTopics(1, "changes"), kfake.DataDir(dir))
	p, _ := producer(t, c.ListenAddrs(), nil)
	claim(t, p)
	if err := outcome(t, send(t, p, record("changes", 0, "1"))); err != nil {
		t.Fatal(err)
	}
	c.Close()
	second, third := send(t, p, record("changes", 0, "2")), send(t, p, record("changes", 0, "3"))
	select {
	case err := <-second:
		t.Fatalf("settled without a broker: %v", err)
	case <-time.After(time.Second):
	}
	c = cluster(t, kfake.Ports(port), kfake.DataDir(dir))
	for _, done := range []chan error{second, third} {
		if err := outcome(t, done); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(read(t, c, "changes", 3)); got != "map[0:[1 2 3]]" {
		t.Errorf("written: %s", got)
	}
}

func TestCloseDropsWhatIsNotAcknowledged(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	p, _ := producer(t, c.ListenAddrs(), nil)
	claim(t, p)
	arrived, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	// Not with SleepControl: a cluster that is closed while it wakes a request may stay behind, locked.
	c.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		close(arrived)
		<-hold
		return nil, nil, true
	})
	done := send(t, p, record("changes", 0, "1"))
	<-arrived
	if err := p.Close(t.Context()); err != nil { // the broker answers after it
		t.Error(err)
	}
	if err := outcome(t, done); err == nil {
		t.Error("a record that was not acknowledged counts as written")
	}
}

func TestSASL(t *testing.T) {
	c := cluster(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "relay", "right"),
		kfake.Superuser("PLAIN", "relay", "right"), kfake.SeedTopics(1, "changes"))
	for mechanism, password := range map[string]string{"PLAIN": "right", "SCRAM-SHA-256": "right"} {
		p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.SASL = login.Config{Mechanism: mechanism, User: "relay", Password: password} })
		claim(t, p)
	}
	closed := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "relay", "right")) // closes the connection
	told := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "relay", "right"))
	told.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		told.KeepControl()
		response := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		response.ErrorCode = kerr.SaslAuthenticationFailed.Code
		return response, nil, true
	})
	for text, c := range map[string]*kfake.Cluster{"the broker closes connections": closed, "SASL_AUTHENTICATION_FAILED": told} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.SASL = login.Config{Mechanism: "PLAIN", User: "relay", Password: "wr0ng"} })
			began := time.Now()
			_, err := p.Claim(t.Context(), 1)
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "wr0ng") {
				t.Errorf("the password is in the error: %v", err)
			}
			if took := time.Since(began); took > promised {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	c := cluster(t)
	if err := c.CreateTopic("small", 1, map[string]string{"max.message.bytes": "5000"}); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateTopic("large", 1, map[string]string{"max.message.bytes": "9000000"}); err != nil {
		t.Fatal(err)
	}
	p, _ := producer(t, c.ListenAddrs(), nil)
	for topic, below := range map[string]int{"small": 5000, "large": DefaultMaxRequestBytes} {
		n, err := p.Limit(t.Context(), topic)
		if err != nil || n >= below || n < below-200 {
			t.Errorf("limit of %s: %d, %v; want a little below %d", topic, n, err, below)
		}
		// A record of exactly that size is written.
		if err := outcome(t, send(t, p, record(topic, 0, strings.Repeat("x", n)), record(topic, 0, strings.Repeat("y", n)))); err != nil {
			t.Errorf("a record at the limit of %s: %v", topic, err)
		}
	}
}

func TestCheck(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(3, "changes"))
	if err := c.CreateTopic("small", 1, map[string]string{"max.message.bytes": "5000"}); err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]string{
		"changes": "",
		"small":   "takes batches of 5000 bytes",
		"absent":  "does not exist, and is to be created by the broker",
	} {
		p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.Topics = map[string]int32{topic: 0} })
		got := p.Check(t.Context())
		if want == "" && len(got) != 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, want) || !got[0].Warning) {
			t.Errorf("topic %s: got %+v, want a warning with %q", topic, got, want)
		}
	}
	few, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.Topics = map[string]int32{"changes": 8} })
	got := few.Check(t.Context())
	if len(got) != 1 || got[0].Warning || !strings.Contains(got[0].Text, "has 3 partitions, 8 are wanted") {
		t.Errorf("too few partitions: got %+v", got)
	}
	if _, err := few.Claim(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "--alter --topic changes --partitions 8") {
		t.Errorf("claim with too few partitions: got %v", err)
	}
	away, _ := producer(t, []string{"127.0.0.1:1"}, nil)
	if got := away.Check(t.Context()); len(got) != 1 || !strings.Contains(got[0].Text, "refused") {
		t.Errorf("no broker: got %+v", got)
	}
}

func TestValidate(t *testing.T) {
	for text, change := range map[string]func(*Config){
		"":                      func(*Config) {},
		"no Kafka broker":       func(c *Config) { c.Brokers = nil },
		"acks":                  func(c *Config) { c.Acks = "2" },
		"compression":           func(c *Config) { c.Compression = "rar" },
		"linger":                func(c *Config) { c.Linger = -1 },
		"batch size":            func(c *Config) { c.BatchBytes = -1 },
		"request size":          func(c *Config) { c.MaxRequestBytes = 5 },
		"buffer of":             func(c *Config) { c.BufferBytes = 1000 },
		"topic creation":        func(c *Config) { c.Create = "" },
		"cannot be created":     func(c *Config) { c.Create, c.Replication = CreateRelay, 0 },
		`SASL mechanism "NTLM"`: func(c *Config) { c.SASL.Mechanism = "NTLM" },
	} {
		c := DefaultConfig()
		c.Brokers = []string{"127.0.0.1:9092"}
		change(&c)
		err := c.Validate()
		if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestEveryAcksAndCodecProduces(t *testing.T) {
	c := cluster(t, kfake.SeedTopics(1, "changes"))
	for _, acks := range []string{"all", "1", "0"} {
		for codec := range codecs {
			p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.Acks, c.Compression = acks, codec })
			claim(t, p)
			if err := outcome(t, send(t, p, record("changes", 0, strings.Repeat(codec, 99)))); err != nil {
				t.Errorf("acks %s, %s: %v", acks, codec, err)
			}
			_ = p.Close(t.Context())
		}
	}
}

// TestDeadLetterTopic is made when a term starts, with one partition, whoever
// makes the topics of changes; where that is refused an administrator is told how.
func TestDeadLetterTopic(t *testing.T) {
	set := func(c *Config) {
		c.Create, c.DeadLetters, c.Topics = CreateNever, "lost", map[string]int32{"changes": 1, "lost": 1}
	}
	k := cluster(t, kfake.SeedTopics(1, "changes"), kfake.DefaultNumPartitions(5))
	p, _ := producer(t, k.ListenAddrs(), set)
	claim(t, p)
	if n := len(k.PartitionInfos("lost")); n != 1 {
		t.Errorf("it has %d partitions", n)
	}
	k = cluster(t, kfake.SeedTopics(1, "changes"))
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	p, _ = producer(t, k.ListenAddrs(), set)
	_, err := p.Claim(t.Context(), 1)
	want := "--create --topic lost --partitions 1"
	if err == nil || !strings.Contains(err.Error(), "topic lost cannot be created: TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNothingToLogInWith ends the claim at once: waiting does not mend it.
func TestNothingToLogInWith(t *testing.T) {
	c := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "relay", "right"))
	p, _ := producer(t, c.ListenAddrs(), func(c *Config) {
		c.SASL = login.Config{Mechanism: "PLAIN", Again: func() (string, string, error) { return "", "", errors.New("open /run/secrets/kafka: no such file") }}
	})
	_, err := p.Claim(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "/run/secrets/kafka") {
		t.Errorf("got %v", err)
	}
}

// TestClientCertificateWanted: a broker that wants to know who connects ends the
// handshake, which waiting does not mend.
func TestClientCertificateWanted(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	p, _ := producer(t, []string{server.Listener.Addr().String()}, func(c *Config) {
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		c.TLS = &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}
	})
	_, err := p.Claim(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "certificate of the client") {
		t.Errorf("got %v", err)
	}
}
