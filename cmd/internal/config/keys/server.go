package keys

const (
	noTCP      = "there is no TCP server and no admin port: Kafka is the only client"
	noAdmin    = "Canal Admin is not available in this version: keep the configuration in files"
	otherQueue = "belongs to another queue than Kafka"
	cloud      = "downloads from a cloud vendor's storage are not available in this version"
	ours       = "tunes the inside of Canal; memory is bounded by canal.relay.memory, work is spread over the cores"
)

// serverKeys are the keys of the node (canal.properties).
var serverKeys = []Key{
	{"canal.id", Ignored, ScopeServer, Text, "", "Canal does not read it either", nil},
	{"canal.ip", Honoured, ScopeServer, Text, "", "address part of the node's identity where canal.register.ip is blank", nil},
	{"canal.register.ip", Honoured, ScopeServer, Text, "", "address part of the node's identity in ZooKeeper; blank: canal.ip, else the host's first IPv4 address", nil},
	{"canal.port", Honoured, ScopeServer, Number, "11111", "port part of the node's identity in ZooKeeper; nothing listens on it", nil},
	{"canal.user", Ignored, ScopeServer, Text, "", noTCP, nil},
	{"canal.passwd", Ignored, ScopeServer, Password, "", noTCP, nil},
	{"canal.metrics.pull.port", Honoured, ScopeServer, Number, "11112", "port of metrics and status page; 0 or less for none", nil},
	{"canal.admin.manager", Refused, ScopeServer, Text, "", noAdmin, nil},
	{"canal.admin.port", Ignored, ScopeServer, Number, "", noTCP, nil},
	{"canal.admin.user", Ignored, ScopeServer, Text, "", noTCP, nil},
	{"canal.admin.passwd", Ignored, ScopeServer, Password, "", noTCP, nil},
	{"canal.admin.register.auto", Refused, ScopeServer, Bool, "false", noAdmin, anyOf("off", "no")},
	{"canal.admin.register.cluster", Ignored, ScopeServer, Text, "", noAdmin, nil},
	{"canal.admin.register.name", Ignored, ScopeServer, Text, "", noAdmin, nil},
	{"canal.zkServers", Honoured, ScopeServer, List, "", "ZooKeeper servers, host:port; blank: no election, one node alone, position in a file", nil},
	{"canal.zookeeper.flush.period", Honoured, ScopeInstance, Millis, "1000", "time between writes of the position to ZooKeeper", nil},
	{"canal.withoutNetty", Ignored, ScopeServer, Bool, "false", noTCP, nil},
	{"canal.serverMode", Honoured, ScopeServer, Text, "tcp", "must be kafka", nil},
	{"canal.destinations", Honoured, ScopeServer, List, "", "names of the destinations, each with its directory beside canal.properties", nil},
	{"canal.destinations.expr", Honoured, ScopeServer, Text, "", "replaces canal.destinations: name{1-3} is name1,name2,name3", nil},
	{"canal.conf.dir", Ignored, ScopeServer, Path, "../conf", "the directory is the one given with --conf; placeholders may use the value", nil},
	{"canal.auto.scan", Honoured, ScopeServer, Bool, "false", "take every directory with an instance.properties as a destination", nil},
	{"canal.auto.scan.interval", Ignored, ScopeServer, Seconds, "5", "this version reads the directory once: restart after a change", nil},
	{"canal.auto.reset.latest.pos.mode", Honoured, ScopeInstance, Bool, "false", "continue at the end of the binlog when the stored position was purged: loses what lies between", nil},
	{"canal.instance.global.mode", Refused, ScopeServer, Text, "spring", noAdmin, nil},
	{"canal.instance.*.mode", Refused, ScopeServer, Text, "spring", noAdmin, nil},
	{"canal.instance.global.lazy", Refused, ScopeServer, Bool, "false", lazy, nil},
	{"canal.instance.*.lazy", Refused, ScopeServer, Bool, "false", lazy, nil},
	{"canal.instance.global.manager.address", Ignored, ScopeServer, Text, "", noAdmin, nil},
	{"canal.instance.*.manager.address", Ignored, ScopeServer, Text, "", noAdmin, nil},
	{"canal.instance.global.spring.xml", Honoured, ScopeServer, Text, "classpath:spring/file-instance.xml", springNote, nil},
	{"canal.instance.*.spring.xml", Honoured, ScopeServer, Text, "", springNote, nil},
	{"canal.socketChannel", Ignored, ScopeServer, Text, "", ours, nil},
	{"canal.aliyun.accessKey", Ignored, ScopeServer, Password, "", cloud, nil},
	{"canal.aliyun.secretKey", Ignored, ScopeServer, Password, "", cloud, nil},
	{"canal.aliyun.accesskey", Ignored, ScopeServer, Password, "", cloud, nil},
	{"canal.aliyun.secretkey", Ignored, ScopeServer, Password, "", cloud, nil},
	{"canal.aliyun.uid", Ignored, ScopeServer, Text, "", cloud, nil},
	{"rocketmq.*", Ignored, ScopeServer, Text, "", otherQueue, nil},
	{"rabbitmq.*", Ignored, ScopeServer, Text, "", otherQueue, nil},
	{"pulsarmq.*", Ignored, ScopeServer, Text, "", otherQueue, nil},
}

const (
	lazy       = "in kafka mode a lazy destination would never start: take it off canal.destinations instead"
	springNote = "with memory-instance.xml canal.instance.tsdb.enable is false unless set; the position is kept in ZooKeeper, without it in meta.dat, whatever is named here"
)
