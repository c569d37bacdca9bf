package keys

import "strings"

const (
	noStandby = "a standby source is not available in this version: put a proxy or a virtual address before the pair"
	noTLS     = "TLS to the source is not available in this version: remove it, or use a local tunnel"
	noGroup   = "group mode is not available in this version: make one destination of each source"
	noStore   = "Canal's own structure store is not read: definitions come from the source, follow every DDL, and are kept in Kafka, without ZooKeeper in a file beside meta.dat"
	detect    = "the source sends a heartbeat over the binlog connection; two missing ones end it"
)

// instanceKeys are the keys of a destination; they may stand in either file.
var instanceKeys = []Key{
	{"canal.instance.destination", Ignored, ScopeInstance, Text, "", "it is set to the destination's name, for placeholders", nil},
	{"canal.instance.memory.buffer.size", Ignored, ScopeInstance, Number, "16384", ours, nil},
	{"canal.instance.memory.buffer.memunit", Ignored, ScopeInstance, Number, "1024", ours, nil},
	{"canal.instance.memory.batch.mode", Ignored, ScopeInstance, Text, "MEMSIZE", ours, nil},
	{"canal.instance.memory.rawEntry", Honoured, ScopeInstance, Bool, "true", "with protobuf: the form of a record, unless canal.mq.dynamicTopic or canal.mq.partitionHash is set", nil},
	{"canal.instance.get.ddl.isolation", Ignored, ScopeInstance, Bool, "false", "every DDL is a message of its own", nil},
	{"canal.instance.transaction.size", Ignored, ScopeInstance, Number, "1024", ours, nil},
	{"canal.file.data.dir", Honoured, ScopeInstance, Path, "../conf", "without ZooKeeper the position is kept in <this>/<destination>/meta.dat; ../conf is the directory given with --conf, other relative paths begin in bin beside it, as in Canal", nil},
	{"canal.file.flush.period", Honoured, ScopeInstance, Millis, "1000", "time between writes of the position to meta.dat", nil},

	{"canal.instance.detecting.enable", Ignored, ScopeInstance, Bool, "false", detect, nil},
	{"canal.instance.detecting.sql", Ignored, ScopeInstance, Text, "", detect, nil},
	{"canal.instance.detecting.interval.time", Ignored, ScopeInstance, Seconds, "5", detect, nil},
	{"canal.instance.detecting.retry.threshold", Ignored, ScopeInstance, Number, "3", detect, nil},
	{"canal.instance.detecting.heartbeatHaEnable", Refused, ScopeInstance, Bool, "false", noStandby, anyOf("off", "no", "0")},

	{"canal.instance.mysql.slaveId", Honoured, ScopeInstance, Number, "0", "server id under which the binlog is asked for; 0 or less: made from cluster and destination name", nil},
	{"canal.instance.gtidon", Honoured, ScopeInstance, Bool, "false", "fill the messages' gtid; start at canal.instance.master.gtid", nil},
	{"canal.instance.fallbackIntervalInSeconds", Honoured, ScopeInstance, Seconds, "60", "how far to step back when the position is searched by time on another server", nil},
	{"canal.instance.network.receiveBufferSize", Ignored, ScopeInstance, Number, "16384", "the system sizes socket buffers", nil},
	{"canal.instance.network.sendBufferSize", Ignored, ScopeInstance, Number, "16384", "the system sizes socket buffers", nil},
	{"canal.instance.network.soTimeout", Honoured, ScopeInstance, Seconds, "30", "time for one statement on the source", nil},
	{"canal.instance.connectionCharset", Honoured, ScopeInstance, Text, "UTF-8", "charset of text in columns whose own is unknown, and of the text that picks a partition", nil},
	{"canal.instance.parser.parallel", Ignored, ScopeInstance, Bool, "true", ours, nil},
	{"canal.instance.parser.parallelThreadSize", Ignored, ScopeInstance, Number, "", ours, nil},
	{"canal.instance.parser.parallelBufferSize", Ignored, ScopeInstance, Number, "256", ours, nil},
	{"canal.instance.binlog.format", Honoured, ScopeInstance, List, "", "values of the source's binlog_format that are accepted; blank: any", nil},
	{"canal.instance.binlog.image", Honoured, ScopeInstance, List, "", "values of the source's binlog_row_image that are accepted; blank: any", nil},
	{"canal.instance.multi.stream.on", Refused, ScopeInstance, Bool, "false", "PolarDB-X streams are not available in this version", anyOf("off", "no", "0")},

	{"canal.instance.filter.regex", Honoured, ScopeInstance, Rules, `.*\..*`, "tables that are captured: patterns over schema.table", nil},
	{"canal.instance.filter.black.regex", Honoured, ScopeInstance, Rules, "", "of these, tables that are not", nil},
	{"canal.instance.filter.field", Honoured, ScopeInstance, Rules, "", "columns that are captured: schema.table:col1/col2,…", nil},
	{"canal.instance.filter.black.field", Honoured, ScopeInstance, Rules, "", "columns that are not", nil},
	{"canal.instance.filter.druid.ddl", Honoured, ScopeInstance, Bool, "true", "false: announce statements with the types of Canal's simple parser; table layouts follow them all the same", nil},
	{"canal.instance.filter.query.dcl", Honoured, ScopeInstance, Bool, "false", "drop statements of type QUERY (grants, CREATE DATABASE, what is not understood)", nil},
	{"canal.instance.filter.query.dml", Honoured, ScopeInstance, Bool, "false", "drop DML statements and the texts that accompany row events", nil},
	{"canal.instance.filter.query.ddl", Honoured, ScopeInstance, Bool, "false", "drop every other statement; table layouts still follow it", nil},
	{"canal.instance.filter.table.error", Refused, ScopeInstance, Bool, "false", "skipping tables that cannot be decoded is not available in this version: list them in canal.instance.filter.black.regex", anyOf("off", "no", "0")},
	{"canal.instance.filter.rows", Honoured, ScopeInstance, Bool, "false", "drop all row events", nil},
	{"canal.instance.filter.transaction.entry", Honoured, ScopeInstance, Bool, "false", "with protobuf: drop most entries that begin or end a transaction", nil},
	{"canal.instance.filter.dml.insert", Honoured, ScopeInstance, Bool, "false", "drop INSERT", nil},
	{"canal.instance.filter.dml.update", Honoured, ScopeInstance, Bool, "false", "drop UPDATE", nil},
	{"canal.instance.filter.dml.delete", Honoured, ScopeInstance, Bool, "false", "drop DELETE", nil},

	{"canal.instance.tsdb.enable", Honoured, ScopeInstance, Bool, "true", "false: mysqlType is always what SHOW CREATE TABLE prints", nil},
	{"canal.instance.tsdb.spring.xml", Ignored, ScopeInstance, Text, "", noStore, nil},
	{"canal.instance.tsdb.dir", Ignored, ScopeInstance, Path, "", noStore, nil},
	{"canal.instance.tsdb.url", Refused, ScopeInstance, Text, "", "a structure store in MySQL is not available in this version: remove it; definitions are kept in Kafka, without ZooKeeper in a file beside meta.dat", func(v string) bool { return !strings.HasPrefix(v, "jdbc:mysql:") }},
	{"canal.instance.tsdb.dbUsername", Ignored, ScopeInstance, Text, "", noStore, nil},
	{"canal.instance.tsdb.dbPassword", Ignored, ScopeInstance, Password, "", noStore, nil},
	{"canal.instance.tsdb.snapshot.interval", Ignored, ScopeInstance, Number, "24", noStore, nil},
	{"canal.instance.tsdb.snapshot.expire", Ignored, ScopeInstance, Number, "360", noStore, nil},

	{"canal.instance.master.address", Honoured, ScopeInstance, Text, "", "the source, host:port", nil},
	{"canal.instance.master.journal.name", Honoured, ScopeInstance, Text, "", "binlog file to start in when no position is stored", nil},
	{"canal.instance.master.position", Honoured, ScopeInstance, Number, "", "offset in that file", nil},
	{"canal.instance.master.timestamp", Honoured, ScopeInstance, Millis, "", "time to start at when no position is stored, since 1970", nil},
	{"canal.instance.master.gtid", Honoured, ScopeInstance, Text, "", "GTID set to start after when no position is stored; needs canal.instance.gtidon=true", nil},
	{"canal.instance.standby.address", Refused, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.standby.journal.name", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.standby.position", Ignored, ScopeInstance, Number, "", noStandby, nil},
	{"canal.instance.standby.timestamp", Ignored, ScopeInstance, Millis, "", noStandby, nil},
	{"canal.instance.standby.gtid", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.dbUsername", Honoured, ScopeInstance, Text, "retl", "user on the source", nil},
	{"canal.instance.dbPassword", Honoured, ScopeInstance, Password, "retl", "its password", nil},
	{"canal.instance.defaultDatabaseName", Ignored, ScopeInstance, Text, "", "the binlog needs no default database", nil},
	{"canal.instance.enableDruid", Refused, ScopeInstance, Bool, "false", "encrypted passwords are not available in this version: put it in a file, canal.relay.secret.canal.instance.dbPassword.file", anyOf("off", "no", "0")},
	{"canal.instance.pwdPublicKey", Ignored, ScopeInstance, Text, "retl", "only for encrypted passwords", nil},
	{"canal.instance.master.sslMode", Refused, ScopeInstance, Text, "DISABLED", noTLS, nil},
	{"canal.instance.master.tlsVersions", Ignored, ScopeInstance, Text, "", noTLS, nil},
	{"canal.instance.master.trustCertificateKeyStore*", Ignored, ScopeInstance, Text, "", noTLS, nil},
	{"canal.instance.master.clientCertificateKeyStore*", Ignored, ScopeInstance, Text, "", noTLS, nil},
	{"canal.instance.standby.sslMode", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.standby.tlsVersions", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.standby.trustCertificateKeyStore*", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.standby.clientCertificateKeyStore*", Ignored, ScopeInstance, Text, "", noStandby, nil},
	{"canal.instance.master1.*", Refused, ScopeInstance, Text, "", noGroup, nil},
	{"canal.instance.master2.*", Refused, ScopeInstance, Text, "", noGroup, nil},
	{"canal.instance.standby1.*", Refused, ScopeInstance, Text, "", noGroup, nil},
	{"canal.instance.standby2.*", Refused, ScopeInstance, Text, "", noGroup, nil},
	{"canal.instance.rds.instanceId", Refused, ScopeInstance, Text, "", cloud, nil},
	{"canal.instance.rds.accesskey", Ignored, ScopeInstance, Password, "", cloud, nil},
	{"canal.instance.rds.secretkey", Ignored, ScopeInstance, Password, "", cloud, nil},
}
