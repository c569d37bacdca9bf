package keys

import "strings"

const (
	legacy      = "older name, outdoes the newer one: "
	retryFor    = "a record is tried again until it is acknowledged or the lease is lost"
	javaOnly    = "a part of the Java client"
	noJava      = "a class of your own cannot be loaded here: remove it"
	tickets     = "tickets and tokens are got anew in time"
	counts      = "metrics are those of canal-relay"
	findsAll    = "whenever no broker answers, those of kafka.bootstrap.servers are asked anew, at every address that they have"
	noProvider  = "values come from files by canal.relay.secret.<key>.file, or from the environment: remove it"
	noAssertion = "signed assertions are not available: use a client's id and secret, or a token in a file"
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
	{"canal.mq.kafka.kerberos.enable", Honoured, ScopeServer, Bool, "", legacy + "kafka.kerberos.enable", nil},
	{"canal.mq.kafka.kerberos.krb5.file", Honoured, ScopeServer, Path, "", legacy + "kafka.kerberos.krb5.file", nil},
	{"canal.mq.kafka.kerberos.jaas.file", Honoured, ScopeServer, Path, "", legacy + "kafka.kerberos.jaas.file", nil},
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
	{"kafka.sasl.mechanism", Honoured, ScopeServer, Text, "GSSAPI", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI (Kerberos)", nil},
	{"kafka.sasl.jaas.config", Honoured, ScopeServer, Password, "", "login module of the mechanism with its options, as Java's clients have it", nil},
	{"kafka.sasl.kerberos.service.name", Honoured, ScopeServer, Text, "", "first part of the brokers' principals; may stand in the login module as serviceName", nil},
	{"kafka.sasl.oauthbearer.token.endpoint.url", Honoured, ScopeServer, Text, "", "server that gives tokens for clientId and clientSecret of the login module, or file:///… with a token", nil},
	{"kafka.sasl.oauthbearer.client.credentials.client.id", Honoured, ScopeServer, Text, "", "the client's name at that server, before clientId of the login module", nil},
	{"kafka.sasl.oauthbearer.client.credentials.client.secret", Honoured, ScopeServer, Password, "", "its secret, before clientSecret of the login module", nil},
	{"kafka.sasl.oauthbearer.scope", Honoured, ScopeServer, Text, "", "scope that is asked for, before that of the login module", nil},
	{"kafka.sasl.oauthbearer.header.urlencode", Honoured, ScopeServer, Bool, "false", "encode name and secret as RFC 6749 has it, which some servers want", nil},
	{"kafka.sasl.oauthbearer.jwt.retriever.class", Refused, ScopeServer, Text, "", noAssertion, retrievers},
	{"kafka.sasl.oauthbearer.assertion.*", Refused, ScopeServer, Text, "", noAssertion, nil},
	{"kafka.config.providers", Refused, ScopeServer, Text, "", noProvider, nil},
	{"kafka.config.providers.*", Refused, ScopeServer, Text, "", noProvider, nil},
	{"kafka.sasl.login.callback.handler.class", Refused, ScopeServer, Text, "", noJava, kafkasOwn},
	{"kafka.sasl.client.callback.handler.class", Refused, ScopeServer, Text, "", noJava, kafkasOwn},
	{"kafka.sasl.login.class", Refused, ScopeServer, Text, "", noJava, kafkasOwn},
	{"kafka.sasl.kerberos.*", Ignored, ScopeServer, Text, "", tickets, nil},
	{"kafka.sasl.login.*", Ignored, ScopeServer, Text, "", tickets, nil},
	{"kafka.sasl.oauthbearer.*", Ignored, ScopeServer, Text, "", "brokers check tokens, a client hands them over as they are", nil},
	{"kafka.ssl.truststore.type", Honoured, ScopeServer, Text, "JKS", "PEM, PKCS12 or JKS", nil},
	{"kafka.ssl.truststore.location", Honoured, ScopeServer, Path, "", "file of the authorities that brokers' certificates are checked by; blank: the system's", nil},
	{"kafka.ssl.truststore.certificates", Honoured, ScopeServer, Text, "", "the same as text", nil},
	{"kafka.ssl.truststore.password", Honoured, ScopeServer, Password, "", "password of that store; a PEM file has none", nil},
	{"kafka.ssl.keystore.type", Honoured, ScopeServer, Text, "JKS", "PEM, PKCS12 or JKS", nil},
	{"kafka.ssl.keystore.location", Honoured, ScopeServer, Path, "", "file with the client's certificate and key", nil},
	{"kafka.ssl.keystore.certificate.chain", Honoured, ScopeServer, Text, "", "the client's certificate as text", nil},
	{"kafka.ssl.keystore.key", Honoured, ScopeServer, Password, "", "the client's key as text", nil},
	{"kafka.ssl.keystore.password", Honoured, ScopeServer, Password, "", "password of that store and of the key in it; a PEM file has none", nil},
	{"kafka.ssl.key.password", Honoured, ScopeServer, Password, "", "password of the client's key; blank: that of the store", nil},
	{"kafka.ssl.endpoint.identification.algorithm", Honoured, ScopeServer, Text, "https", "set but blank: the broker's name is not held against its certificate", nil},
	{"kafka.ssl.protocol", Ignored, ScopeServer, Text, "", "see kafka.ssl.enabled.protocols", nil},
	{"kafka.ssl.enabled.protocols", Honoured, ScopeServer, List, "", "TLSv1.2, TLSv1.3 or both; blank: both", nil},
	{"kafka.kerberos.enable", Honoured, ScopeServer, Bool, "false", "log in with Kerberos over SASL_PLAINTEXT, with the two files below; for other ways set kafka.security.protocol and kafka.sasl.mechanism", nil},
	{"kafka.kerberos.krb5.file", Honoured, ScopeServer, Path, "../conf/kerberos/krb5.conf", "where Kerberos' realms are; without kafka.kerberos.enable and not set: the environment's KRB5_CONFIG, else /etc/krb5.conf", nil},
	{"kafka.kerberos.jaas.file", Honoured, ScopeServer, Path, "../conf/kerberos/jaas.conf", "JAAS file whose section KafkaClient is the login module, where kafka.sasl.jaas.config is not set", nil},
	{"kafka.sasl.*", Refused, ScopeServer, Text, "", "this setting of SASL has no equal here: remove it", nil},
	{"kafka.ssl.*", Refused, ScopeServer, Text, "", "this TLS setting has no equal here: remove it", nil},
	{"kafka.request.timeout.ms", Honoured, ScopeServer, Millis, "", "for a broker to have a batch written and copied; then it is sent again. Blank: 10000", nil},
	{"kafka.socket.connection.setup.timeout.ms", Honoured, ScopeServer, Millis, "", "to connect to a broker; blank: 3000", nil},
	{"kafka.connections.max.idle.ms", Honoured, ScopeServer, Millis, "", "after which an unused connection is closed; blank: 300000", nil},
	{"kafka.metadata.max.age.ms", Honoured, ScopeServer, Millis, "", "after which topics and leaders are looked up anew; blank: 300000", nil},
	{"kafka.retry.backoff.ms", Honoured, ScopeServer, Millis, "", "before a request is tried again, twice as long each time; blank: 250", nil},
	{"kafka.retry.backoff.max.ms", Honoured, ScopeServer, Millis, "", "what that grows to; blank: 1000", nil},
	{"kafka.compression.gzip.level", Honoured, ScopeServer, Number, "", "1 to 9; blank: the codec's own", nil},
	{"kafka.compression.lz4.level", Honoured, ScopeServer, Number, "", "1 to 17; blank: the codec's own", nil},
	{"kafka.compression.zstd.level", Honoured, ScopeServer, Number, "", "1 to 22; blank: the codec's own", nil},
	{"kafka.max.in.flight.requests.per.connection", Ignored, ScopeServer, Number, "1", "several requests are in flight; sequence numbers keep their order", nil},
	{"kafka.retries", Ignored, ScopeServer, Number, "0", retryFor, nil},
	{"kafka.delivery.timeout.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.max.block.ms", Ignored, ScopeServer, Millis, "", retryFor, nil},
	{"kafka.enable.idempotence", Ignored, ScopeServer, Bool, "true", "on with acks=all, off otherwise", nil},
	{"kafka.transaction.timeout.ms", Ignored, ScopeServer, Millis, "", "canal.relay.delivery=exactly-once has its own", nil},
	{"kafka.reconnect.backoff.ms", Ignored, ScopeServer, Millis, "", "see kafka.retry.backoff.ms", nil},
	{"kafka.reconnect.backoff.max.ms", Ignored, ScopeServer, Millis, "", "see kafka.retry.backoff.max.ms", nil},
	{"kafka.socket.connection.setup.timeout.max.ms", Ignored, ScopeServer, Millis, "", "see kafka.socket.connection.setup.timeout.ms", nil},
	{"kafka.metadata.max.idle.ms", Ignored, ScopeServer, Millis, "", "a topic is remembered for a term", nil},
	{"kafka.client.dns.lookup", Ignored, ScopeServer, Text, "", "every address of a broker is tried", nil},
	{"kafka.client.rack", Ignored, ScopeServer, Text, "", "a partition's leader is written to, wherever it is", nil},
	{"kafka.bootstrap.resolve.timeout.ms", Ignored, ScopeServer, Millis, "", findsAll, nil},
	{"kafka.metadata.recovery.*", Ignored, ScopeServer, Text, "", findsAll, nil},
	{"kafka.metadata.cluster.check.enable", Ignored, ScopeServer, Bool, "", findsAll, nil},
	{"kafka.transaction.two.phase.commit.enable", Ignored, ScopeServer, Bool, "", "canal.relay.delivery=exactly-once needs no other coordinator", nil},
	{"kafka.receive.buffer.bytes", Ignored, ScopeServer, Number, "", "the system sizes socket buffers", nil},
	{"kafka.send.buffer.bytes", Ignored, ScopeServer, Number, "", "the system sizes socket buffers", nil},
	{"kafka.interceptor.classes", Refused, ScopeServer, Text, "", noJava, nil},
	{"kafka.security.providers", Refused, ScopeServer, Text, "", noJava, nil},
	{"kafka.metric.reporters", Ignored, ScopeServer, Text, "", counts, nil},
	{"kafka.metrics.*", Ignored, ScopeServer, Text, "", counts, nil},
	{"kafka.enable.metrics.push", Ignored, ScopeServer, Bool, "", counts, nil},
	{"kafka.auto.include.jmx.reporter", Ignored, ScopeServer, Bool, "", counts, nil},
	{"kafka.partitioner.*", Ignored, ScopeServer, Text, "", "partitions are chosen by canal.mq.partition and canal.mq.partitionHash", nil},
	{"kafka.ssl.cipher.suites", Ignored, ScopeServer, List, "", "Go's own list is used, which has no weak ones", nil},
	{"kafka.ssl.provider", Ignored, ScopeServer, Text, "", javaOnly, nil},
	{"kafka.ssl.keymanager.algorithm", Ignored, ScopeServer, Text, "", javaOnly, nil},
	{"kafka.ssl.trustmanager.algorithm", Ignored, ScopeServer, Text, "", javaOnly, nil},
	{"kafka.ssl.secure.random.implementation", Ignored, ScopeServer, Text, "", javaOnly, nil},
	{"kafka.ssl.engine.factory.class", Refused, ScopeServer, Text, "", noJava, kafkasOwn},
	{"kafka.transactional.id", Refused, ScopeServer, Text, "", "Canal never gets a record out with it: remove it", nil},
	{"kafka.key.serializer", Ignored, ScopeServer, Text, "", "a class of the Java client", nil},
	{"kafka.value.serializer", Ignored, ScopeServer, Text, "", "a class of the Java client", nil},
	{"kafka.*", Unknown, ScopeServer, Text, "", "no setting here is its equal", nil},
}

// retrievers accepts the classes of Kafka that do what is done here.
func retrievers(class string) bool {
	name, own := strings.CutPrefix(class, "org.apache.kafka.common.security.oauthbearer.")
	return own && (name == "DefaultJwtRetriever" || name == "ClientCredentialsJwtRetriever" || name == "FileJwtRetriever")
}

// kafkasOwn accepts classes that come with Kafka.
func kafkasOwn(class string) bool { return strings.HasPrefix(class, "org.apache.kafka.") }
