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

// Older reports whether a file has the older name of a key.
func Older(f *properties.File, key string) bool {
	p, ok := f.Get(olderNames[key])
	return ok && properties.Trim(p.Value) != ""
}

// IsOlder reports whether a key is the older name of another.
func IsOlder(key string) bool {
	for _, old := range olderNames {
		if old == key {
			return true
		}
	}
	return false
}
