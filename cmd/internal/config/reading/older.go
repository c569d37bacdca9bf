package reading

import "github.com/canal-relay/canal-relay/cmd/internal/config/properties"

// olderNames are the names that Kafka settings had until Canal 1.1.4.
var olderNames = map[string]string{
	"kafka.bootstrap.servers":  "canal.mq.servers",
	"kafka.acks":               "canal.mq.acks",
	"kafka.compression.type":   "canal.mq.compressionType",
	"kafka.batch.size":         "canal.mq.batchSize",
	"kafka.linger.ms":          "canal.mq.lingerMs",
	"kafka.max.request.size":   "canal.mq.maxRequestSize",
	"kafka.buffer.memory":      "canal.mq.bufferMemory",
	"kafka.kerberos.enable":    "canal.mq.kafka.kerberos.enable",
	"kafka.kerberos.krb5.file": "canal.mq.kafka.kerberos.krb5.file",
	"kafka.kerberos.jaas.file": "canal.mq.kafka.kerberos.jaas.file",
}

// kafka reads a setting of the Kafka client. An older name that is set replaces
// the newer one, and the environment can change one that is there, not add one.
func (r *Reader) kafka(key string) properties.Setting {
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
