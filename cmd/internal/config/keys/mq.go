package keys

const (
	legacy   = "older name, outdoes the newer one: "
	retryFor = "a record is tried again until it is acknowledged or the lease is lost"
	noKrb    = "Kerberos is not available in this version: use SCRAM or PLAIN"
)

// mqKeys are those below canal.mq.
var mqKeys = []Key{
	{"canal.mq.flatMessage", Honoured, ScopeServer, Bool, "true", "true: JSON, one message a change; false: protobuf, as Canal's own client reads it", nil},
	{"canal.mq.database.hash", Honoured, ScopeServer, Bool, "true", "the schema's name takes part in the hash that picks a row's partition", nil},
	{"canal.mq.canalBatchSize", Honoured, ScopeServer, Number, "50", "KiB at which a protobuf record is cut", nil},
	{"canal.mq.canalGetTimeout", Ignored, ScopeServer, Millis, "100", ours, nil},
	{"canal.mq.send.thread.size", Ignored, ScopeServer, Number, "30", ours, nil},
	{"canal.mq.build.thread.size", Ignored, ScopeServer, Number, "8", ours, nil},
	{"canal.mq.accessChannel", Ignored, ScopeServer, Text, "local", otherQueue, nil},
	{"canal.mq.topic", Honoured, ScopeInstance, Text, "", "topic of changes that no rule of canal.mq.dynamicTopic takes", nil},
	{"canal.mq.dynamicTopic", Honoured, ScopeInstance, Rules, "", "topics by schema and table: [topic:]pattern,…", nil},
	{"canal.mq.partition", Honoured, ScopeInstance, Number, "", "partition of everything while canal.mq.partitionHash is blank; blank: 0", nil},
	{"canal.mq.partitionsNum", Honoured, ScopeInstance, Number, "", "over how many partitions rows are spread; blank: 1", nil},
	{"canal.mq.partitionHash", Honoured, ScopeInstance, Rules, "", "what picks a row's partition: pattern:col1^col2 or pattern:$pk$ or pattern,…", nil},
	{"canal.mq.dynamicTopicPartitionNum", Honoured, ScopeInstance, Rules, "", "canal.mq.partitionsNum by topic: pattern:number,…", nil},
	{"canal.mq.enableDynamicQueuePartition", Ignored, ScopeInstance, Bool, "", otherQueue, nil},

	{"canal.mq.servers", Honoured, ScopeServer, List, "", legacy + "kafka.bootstrap.servers", nil},
	{"canal.mq.acks", Honoured, ScopeServer, Text, "", legacy + "kafka.acks", nil},
	{"canal.mq.compressionType", Honoured, ScopeServer, Text, "", legacy + "kafka.compression.type", nil},
	{"canal.mq.batchSize", Honoured, ScopeServer, Size, "", legacy + "kafka.batch.size", nil},
	{"canal.mq.lingerMs", Honoured, ScopeServer, Millis, "", legacy + "kafka.linger.ms", nil},
	{"canal.mq.maxRequestSize", Honoured, ScopeServer, Size, "", legacy + "kafka.max.request.size", nil},
	{"canal.mq.bufferMemory", Honoured, ScopeServer, Size, "", legacy + "kafka.buffer.memory", nil},
	{"canal.mq.retries", Ignored, ScopeServer, Number, "", retryFor, nil},
	{"canal.mq.kafka.kerberos.enable", Refused, ScopeServer, Bool, "false", noKrb, nil},
	{"canal.mq.kafka.kerberos.krb5.file", Ignored, ScopeServer, Path, "", noKrb, nil},
	{"canal.mq.kafka.kerberos.jaas.file", Ignored, ScopeServer, Path, "", noKrb, nil},
	{"canal.mq.transaction", Ignored, ScopeServer, Bool, "false", "Canal's Kafka mode does not read it either", nil},
	{"canal.mq.producerGroup", Ignored, ScopeServer, Text, "", otherQueue, nil},
	{"canal.mq.parallelThreadSize", Ignored, ScopeServer, Number, "", ours, nil},
	{"canal.mq.vhost", Ignored, ScopeServer, Text, "", otherQueue, nil},
	{"canal.mq.aliyunuid", Ignored, ScopeServer, Text, "", otherQueue, nil},
	{"canal.mq.properties.*", Ignored, ScopeServer, Text, "", "Canal's Kafka mode does not read it either; use kafka.*", nil},
}

// kafkaKeys are those of the Kafka client. As in Canal, the environment can
// change one that stands in canal.properties, not add one.
var kafkaKeys = []Key{
	{"kafka.bootstrap.servers", Honoured, ScopeServer, List, "", "some brokers of the cluster, host:port", nil},
	{"kafka.acks", Honoured, ScopeServer, Text, "all", "all, 1 or 0; only all loses nothing when a broker fails", nil},
	{"kafka.compression.type", Honoured, ScopeServer, Text, "none", "none, gzip, snappy, lz4 or zstd", nil},
	{"kafka.batch.size", Honoured, ScopeServer, Size, "16384", "bytes of a batch of records", nil},
	{"kafka.linger.ms", Honoured, ScopeServer, Millis, "1", "how long a batch waits for more records", nil},
	{"kafka.max.request.size", Honoured, ScopeServer, Size, "1048576", "bytes of the largest record", nil},
	{"kafka.buffer.memory", Honoured, ScopeServer, Size, "33554432", "bytes of records sent and not acknowledged", nil},
	{"kafka.client.id", Honoured, ScopeServer, Text, "canal-relay", "name that brokers log and set quotas by", nil},
	{"kafka.security.protocol", Honoured, ScopeServer, Text, "PLAINTEXT", "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", nil},
	{"kafka.sasl.mechanism", Honoured, ScopeServer, Text, "", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", nil},
	{"kafka.sasl.jaas.config", Honoured, ScopeServer, Password, "", "login module with username=\"…\" password=\"…\"", nil},
	{"kafka.ssl.truststore.type", Honoured, ScopeServer, Text, "JKS", "PEM, PKCS12 or JKS", nil},
	{"kafka.ssl.truststore.location", Honoured, ScopeServer, Path, "", "file of the authorities that brokers' certificates are checked by; blank: the system's", nil},
	{"kafka.ssl.truststore.certificates", Honoured, ScopeServer, Text, "", "the same as text", nil},
	{"kafka.ssl.truststore.password", Honoured, ScopeServer, Password, "", "password of that store; a PEM file has none", nil},
	{"kafka.ssl.keystore.type", Honoured, ScopeServer, Text, "JKS", "PEM, PKCS12 or JKS", nil},
	{"kafka.ssl.keystore.location", Honoured, ScopeServer, Path, "", "file with the client's certificate and key", nil},
	{"kafka.ssl.keystore.certificate.chain", Honoured, ScopeServer, Text, "", "the client's certificate as text", nil},
	{"kafka.ssl.keystore.key", Honoured, ScopeServer, Password, "", "the client's key as text", nil},
	{"kafka.ssl.keystore.password", Honoured, ScopeServer, Password, "", "password of that store and of the key in it; a PEM file has none", nil},
	{"kafka.ssl.key.password", Refused, ScopeServer, Password, "", "encrypted keys are not available in this version: give the key in plain PEM, readable by this user only", nil},
	{"kafka.ssl.endpoint.identification.algorithm", Honoured, ScopeServer, Text, "https", "set but blank: the broker's name is not held against its certificate", nil},
	{"kafka.ssl.protocol", Ignored, ScopeServer, Text, "", "TLS 1.2 and newer are used", nil},
	{"kafka.ssl.enabled.protocols", Ignored, ScopeServer, Text, "", "TLS 1.2 and newer are used", nil},
	{"kafka.kerberos.enable", Refused, ScopeServer, Bool, "false", noKrb, nil},
	{"kafka.kerberos.krb5.file", Ignored, ScopeServer, Path, "", noKrb, nil},
	{"kafka.kerberos.jaas.file", Ignored, ScopeServer, Path, "", noKrb, nil},
	{"kafka.sasl.*", Refused, ScopeServer, Text, "", "this way to log in to Kafka is not available in this version", nil},
	{"kafka.ssl.*", Refused, ScopeServer, Text, "", "this TLS setting has no equal here: remove it", nil},
	{"kafka.max.in.flight.requests.per.connection", Ignored, ScopeServer, Number, "1", "several requests are in flight; sequence numbers keep their order", nil},
	{"kafka.retries", Ignored, ScopeServer, Number, "0", retryFor, nil},
	{"kafka.delivery.timeout.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.request.timeout.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.max.block.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.retry.backoff.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.enable.idempotence", Ignored, ScopeServer, Bool, "true", "on with acks=all, off otherwise", nil},
	{"kafka.transactional.id", Refused, ScopeServer, Text, "", "Canal never gets a record out with it: remove it", nil},
	{"kafka.key.serializer", Ignored, ScopeServer, Text, "", "a class of the Java client", nil},
	{"kafka.value.serializer", Ignored, ScopeServer, Text, "", "a class of the Java client", nil},
	{"kafka.partitioner.class", Ignored, ScopeServer, Text, "", "partitions are chosen by canal.mq.partition and canal.mq.partitionHash", nil},
	{"kafka.*", Unknown, ScopeServer, Text, "", "no setting here is its equal", nil},
}
