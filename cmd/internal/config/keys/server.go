package keys

const (
	noTCP      = "there is no TCP server and no admin port: Kafka is the only client"
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
	{"canal.admin.manager", Honoured, ScopeServer, Text, "", "address of Canal Admin, which then has the configuration; blank: it is in files", nil},
	{"canal.admin.port", Honoured, ScopeServer, Number, "11110", "the port by which Canal Admin knows this node; nothing listens on it", nil},
	{"canal.admin.user", Honoured, ScopeServer, Text, "", "name for Canal Admin", nil},
	{"canal.admin.passwd", Honoured, ScopeServer, Password, "", "password for Canal Admin: the hash, as Canal has it", nil},
	{"canal.admin.register.auto", Honoured, ScopeServer, Bool, "false", "let Canal Admin register this node", nil},
	{"canal.admin.register.cluster", Honoured, ScopeServer, Text, "", "cluster to be registered in; blank: as a single server", nil},
	{"canal.admin.register.name", Honoured, ScopeServer, Text, "", "name to be registered under; blank: the host's", nil},
	{"canal.zkServers", Honoured, ScopeServer, List, "", "ZooKeeper servers, host:port; blank: no election, one node alone, position in a file", nil},
	{"canal.zookeeper.flush.period", Honoured, ScopeInstance, Millis, "1000", "time between writes of the position to ZooKeeper", nil},
	{"canal.withoutNetty", Ignored, ScopeServer, Bool, "false", noTCP, nil},
	{"canal.serverMode", Honoured, ScopeServer, Text, "tcp", "must be kafka", nil},
	{"canal.destinations", Honoured, ScopeServer, List, "", "names of the destinations, each with its directory beside canal.properties", nil},
	{"canal.destinations.expr", Honoured, ScopeServer, Text, "", "replaces canal.destinations: name{1-3} is name1,name2,name3", nil},
	{"canal.conf.dir", Ignored, ScopeServer, Path, "../conf", "the directory is the one given with --conf; placeholders may use the value", nil},
	{"canal.auto.scan", Honoured, ScopeServer, Bool, "false", "take every directory with an instance.properties as a destination, and look for changes", nil},
	{"canal.auto.scan.interval", Honoured, ScopeServer, Seconds, "5", "how often to look for changes", nil},
	{"canal.auto.reset.latest.pos.mode", Honoured, ScopeInstance, Bool, "false", "continue at the end of the binlog when the stored position was purged: loses what lies between", nil},
	{"canal.instance.global.mode", Honoured, ScopeServer, Text, "spring", modes, nil},
	{"canal.instance.*.mode", Honoured, ScopeServer, Text, "", modes, nil},
	{"canal.instance.global.lazy", Honoured, ScopeServer, Bool, "false", lazy, nil},
	{"canal.instance.*.lazy", Honoured, ScopeServer, Bool, "", lazy, nil},
	{"canal.instance.global.manager.address", Ignored, ScopeServer, Text, "", oneAdmin, nil},
	{"canal.instance.*.manager.address", Ignored, ScopeServer, Text, "", oneAdmin, nil},
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
	lazy       = "true: the destination is known here and not run; set to false, it starts at the next look"
	modes      = "spring, or manager with canal.admin.manager, which makes it manager everywhere"
	oneAdmin   = "one Canal Admin has the configuration of all destinations, the one of canal.admin.manager"
	springNote = "with memory-instance.xml canal.instance.tsdb.enable is false unless set; the position is kept in ZooKeeper, without it in meta.dat, whatever is named here"
)
