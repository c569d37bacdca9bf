package kafka

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/canal-relay/canal-relay/mqstarter/kafka/login"
)

// promised is within what time a refusal is told, although retries have no limit.
const promised = 5 * time.Second

// What a broker refuses for good while a term is under way fails it at once,
// although what is only away is tried again without end.
func TestRefusalDuringTheTerm(t *testing.T) {
	for name, refuse := range map[string]func(c *kfake.Cluster){
		"TOPIC_AUTHORIZATION_FAILED": func(c *kfake.Cluster) {
			c.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				request, response := r.(*kmsg.ProduceRequest), r.ResponseKind().(*kmsg.ProduceResponse)
				for _, t := range request.Topics {
					topic := kmsg.ProduceResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
					for _, p := range t.Partitions {
						topic.Partitions = append(topic.Partitions, kmsg.ProduceResponseTopicPartition{Partition: p.Partition, ErrorCode: kerr.TopicAuthorizationFailed.Code})
					}
					response.Topics = append(response.Topics, topic)
				}
				return response, nil, true
			})
		},
		"SASL_AUTHENTICATION_FAILED": func(c *kfake.Cluster) {
			c.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				response := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				response.ErrorCode = kerr.SaslAuthenticationFailed.Code
				return response, nil, true
			})
			drop(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "relay", "right"), kfake.SeedTopics(1, "changes"))
			p, _ := producer(t, c.ListenAddrs(), func(c *Config) { c.SASL = login.Config{Mechanism: "PLAIN", User: "relay", Password: "right"} })
			claim(t, p)
			if err := outcome(t, send(t, p, record("changes", 0, "first"))); err != nil {
				t.Fatal(err)
			}
			refuse(c)
			began := time.Now()
			err := outcome(t, send(t, p, record("changes", 0, "second")))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > promised {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// drop breaks every connection with the next request on it.
func drop(c *kfake.Cluster) {
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Metadata} {
		var once atomic.Bool
		c.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			if once.Swap(true) {
				return nil, nil, false
			}
			return nil, errDropped, true
		})
	}
}

var errDropped = kerr.NetworkException

// Who Again says the client is counts at the next login.
func TestLoginIsAskedForAgain(t *testing.T) {
	c := cluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "relay", "right"), kfake.SeedTopics(1, "changes"))
	var asked atomic.Int64
	p, _ := producer(t, c.ListenAddrs(), func(c *Config) {
		c.SASL = login.Config{Mechanism: "PLAIN", User: "relay", Password: "old", Again: func() (string, string, error) {
			asked.Add(1)
			return "relay", "right", nil
		}}
	})
	claim(t, p)
	if asked.Load() == 0 {
		t.Error("nobody was asked")
	}
}
