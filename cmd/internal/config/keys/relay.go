package keys

const (
	notYet  = "not available in this version: remove it"
	onlyEOS = "belongs to exactly-once, which is not available in this version: remove it"
)

// relayKeys are our own. One that is not here is an error.
var relayKeys = []Key{
	{"canal.relay.delivery", Refused, ScopeInstance, Text, "at-least-once", "exactly-once is not available in this version: set at-least-once", nil},
	{"canal.relay.cluster", Honoured, ScopeProcess, Text, "canal-relay", "name of this set of nodes; server ids are made from it and the destination's name", nil},
	{"canal.relay.session.timeout", Honoured, ScopeProcess, Duration, "6s", "session timeout asked of ZooKeeper", nil},
	{"canal.relay.takeover.delay", Honoured, ScopeInstance, Duration, "2s", "how long other nodes wait after a running node vanished without the hand-over mark", nil},
	{"canal.relay.drain.timeout", Honoured, ScopeInstance, Duration, "5s", "how long what was sent may take to be acknowledged on shutdown", nil},
	{"canal.relay.memory", Honoured, ScopeInstance, Size, "32MiB", "binlog held per destination", nil},
	{"canal.relay.headers", Honoured, ScopeInstance, Bool, "true", "give records the headers r-dest, r-pos, r-row and r-epoch", nil},
	{"canal.relay.record.key", Honoured, ScopeInstance, Rules, "", "key of a record, a JSON object of columns: pk, the primary key; or pattern:col1^col2,… or pattern:$pk$,… by table; blank: none. A record then holds one row", nil},
	{"canal.relay.topic.create", Honoured, ScopeInstance, Text, "broker", "who makes a missing topic: broker (if it is set to), relay or never", nil},
	{"canal.relay.topic.partitions", Honoured, ScopeInstance, Number, "", "partitions of topics that the relay makes", nil},
	{"canal.relay.topic.replication", Honoured, ScopeInstance, Number, "-1", "replicas of topics that the relay makes; -1: as the broker likes", nil},
	{"canal.relay.partitions.from.topic", Honoured, ScopeInstance, Bool, "false", "rows are spread over the partitions that a topic has when a term begins; canal.mq.partitionsNum and canal.mq.dynamicTopicPartitionNum do not count", nil},
	{"canal.relay.position.topic", Refused, ScopeInstance, Text, "", onlyEOS, nil},
	{"canal.relay.schema.topic", Honoured, ScopeInstance, Text, "", "topic of the schema history; blank: the cluster's name and -schema", nil},
	{"canal.relay.schema.store", Honoured, ScopeInstance, Text, "", "where the schema history is kept: kafka, file or mysql (Canal's tables); blank: mysql if canal.instance.tsdb.url is a jdbc:mysql: one, else kafka, without ZooKeeper file", nil},
	{"canal.relay.deadletter.topic", Honoured, ScopeInstance, Text, "", "topic of dead letters; blank: the cluster's name and -dead-letter", nil},
	{"canal.relay.oversize", Honoured, ScopeInstance, Text, "stop", "a row whose message is larger than Kafka takes: stop; key-only, a message that shows its primary key alone, with the header r-oversize; dead-letter, a note in the dead-letter topic in its place", nil},
	{"canal.relay.statement.dml", Honoured, ScopeInstance, Text, "emit", "a statement-format change of a captured table: emit it as Canal does, or stop", nil},
	{"canal.relay.values", Honoured, ScopeInstance, Text, "canal", "how values are written: canal, as its consumers know them; mysql, as SELECT shows them (labels, the server's JSON text, binary in base64, one sqlType a column)", nil},
	{"canal.relay.time.zone", Honoured, ScopeInstance, Text, "", "zone of TIMESTAMP texts, as Asia/Shanghai; blank: the environment's TZ, else the system's", nil},
	{"canal.relay.compat.decimal", Honoured, ScopeInstance, Bool, "false", "drop zero tails of decimals as Canal does", nil},
	{"canal.relay.pk.update", Honoured, ScopeInstance, Text, "as-canal", "a change of a primary key: as-canal, an UPDATE; split, a DELETE of the old row and an INSERT of the new one, each to the partition of its own key", nil},
	{"canal.relay.transaction.max.time", Refused, ScopeInstance, Duration, "50ms", onlyEOS, nil},
	{"canal.relay.transaction.max.rows", Refused, ScopeInstance, Number, "100000", onlyEOS, nil},
	{"canal.relay.transaction.max.bytes", Refused, ScopeInstance, Size, "16MiB", onlyEOS, nil},
	{"canal.relay.zookeeper.auth", Honoured, ScopeProcess, Password, "", "user:password for ZooKeeper's digest scheme; nodes that are made are for that user alone", nil},
	{"canal.relay.zookeeper.tls.ca", Honoured, ScopeProcess, Path, "", "PEM file of the authorities that ZooKeeper's certificates are checked by, or system; set: connections use TLS", nil},
	{"canal.relay.zookeeper.tls.certificate", Honoured, ScopeProcess, Path, "", "PEM file of this node's certificate", nil},
	{"canal.relay.zookeeper.tls.key", Honoured, ScopeProcess, Path, "", "PEM file of its key; blank: it is in the same file", nil},
	{"canal.relay.zookeeper.tls.server.name", Honoured, ScopeProcess, Text, "", "name that ZooKeeper's certificates bear; blank: that of canal.zkServers", nil},
	{"canal.relay.http.bind", Honoured, ScopeProcess, Text, "", "address of metrics and status page; blank: all", nil},
	{"canal.relay.http.user", Honoured, ScopeProcess, Text, "", "name asked for on metrics and status page", nil},
	{"canal.relay.http.password", Honoured, ScopeProcess, Password, "", "its password", nil},
	{"canal.relay.http.pprof", Honoured, ScopeProcess, Bool, "false", "serve /debug/pprof/ to clients on this host", nil},
	{"canal.relay.log.format", Honoured, ScopeProcess, Text, "text", "text or json", nil},
	{"canal.relay.alarm.webhook", Honoured, ScopeProcess, Password, "", "URL that is called with a JSON object whenever a destination changes its state on this node", nil},
	{"canal.relay.heartbeat.interval", Honoured, ScopeInstance, Duration, "0", "time between heartbeats: records with an empty value and the header r-heartbeat, one a topic; 0: none", nil},
	{"canal.relay.read.rate", Honoured, ScopeInstance, Size, "0", "bytes of binlog read per second at most; 0: no limit", nil},
	{"canal.relay.secret.*.file", Honoured, ScopeInstance, Path, "", "file that holds the secret in the middle of this name", nil},
}
