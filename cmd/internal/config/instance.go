package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/identity"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/mq"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/source"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/mqstarter"
	"github.com/canal-relay/canal-relay/mqstarter/kafka"
	"github.com/canal-relay/canal-relay/mqstarter/message"
	"github.com/canal-relay/canal-relay/mqstarter/route"
	"github.com/canal-relay/canal-relay/relay"
	"github.com/canal-relay/canal-relay/relay/binlog"
	"github.com/canal-relay/canal-relay/relay/event"
	"github.com/canal-relay/canal-relay/relay/filter"
)

// Instance is what the files say about one destination, by the package that it
// is for.
type Instance struct {
	Name string

	Source binlog.Config
	Filter filter.Config
	Relay  relay.Config // lacks Filter and Tracker, which belong to a term
	Style  event.Style  // how values become text
	// Structures is canal.instance.tsdb.enable: mysqlType is the text of the
	// statement that made the column, not that of SHOW CREATE TABLE.
	Structures bool
	History    History

	Route   route.Config
	Kafka   kafka.Config
	Starter mqstarter.Config // lacks Message
	// ExactlyOnce is how; nil for at-least-once. It lacks Routing and Identity.
	ExactlyOnce *kafka.TransactionConfig

	HA            ha.Config
	TakeoverDelay time.Duration
	// MetaFile is where the position is kept without ZooKeeper.
	MetaFile string

	// Lazy destinations are known, and not run.
	Lazy     bool
	settings Settings // what decides how it is run, as one hash
}

// String is the name alone, since an Instance holds passwords.
func (i Instance) String() string { return i.Name }

// GoString is as String.
func (i Instance) GoString() string { return i.Name }

// MarshalText is as String, for logs in JSON.
func (i Instance) MarshalText() ([]byte, error) { return []byte(i.Name), nil }

// ForTail returns the destination as one more reader beside its owner: the
// source is asked under another server id and UUID, new ones each time, because
// it drops the older of two readers with the same ones.
func (i Instance) ForTail() Instance {
	i.Source.ServerID, i.Source.ReplicaUUID = identity.OneMore()
	return i
}

// instance reads a destination; ok is false when it is not to be run.
func (l *loader) instance(node *Node, name string) (Instance, bool) {
	path := filepath.Join(l.dir, name, InstanceFile)
	before := len(l.problems)
	f, found := l.read(path, false)
	if !found && len(l.problems) > before {
		return Instance{}, false
	}
	var files []*properties.File
	if found {
		files = []*properties.File{f}
	}
	r := l.reader(name, files...)
	if !found {
		note := Finding{Where: path, Destination: name, Verdict: keys.Ignored}
		if r.Boolean("canal.auto.scan") {
			note.Note = "no such file: as in Canal with canal.auto.scan=true the destination is not run"
			l.findings = append(l.findings, note)
			return Instance{}, false
		}
		note.Note = "no such file: as in Canal with canal.auto.scan=false the destination is run by what stands in " + ServerFile
		l.findings = append(l.findings, note)
	}
	i := r.instance(node)
	i.Lazy = r.lazy()
	i.settings, l.files = r.settings(r.decides).sum(r.Named), r.Named
	r.judge(keys.ScopeInstance)
	if found {
		r.CheckSecretNames(f)
		l.findings = append(l.findings, l.report(f, name)...)
	}
	return i, true
}

func (r *reader) instance(node *Node) Instance {
	i := Instance{Name: r.Destination}
	r.persistence(&i)
	i.History = r.history(node)
	i.Source = source.Source(r.Reader, node.Cluster)
	i.Filter = r.filter()
	i.Relay = relay.Config{
		Memory:       int64(r.Size("canal.relay.memory")),
		GTID:         r.Boolean("canal.instance.gtidon"),
		Drop:         i.Filter,
		SimpleDDL:    !r.Boolean("canal.instance.filter.druid.ddl"),
		StatementDML: r.Choice("canal.relay.statement.dml", relay.StatementEmit, relay.StatementStop),
	}
	if i.Relay.Memory < minMemory {
		r.Blame("canal.relay.memory", "%d bytes are too few: choose at least %d MiB", i.Relay.Memory, minMemory>>20)
	}
	i.Style = r.style()
	i.Route = mq.Route(r.Reader)
	i.Kafka = mq.Kafka(r.Reader, i.Route)
	i.HA = ha.DefaultConfig().For(node.SessionTimeout)
	i.HA.DrainTimeout = r.Duration("canal.relay.drain.timeout")
	if i.HA.DrainTimeout == 0 {
		r.Blame("canal.relay.drain.timeout", "0 leaves no time for what was sent to be acknowledged: choose a second or more")
	}
	flush := "canal.zookeeper.flush.period"
	if node.ZooKeeper == "" {
		i.HA.SessionTimeout = 0
		flush = "canal.file.flush.period"
	}
	i.ExactlyOnce = r.exactlyOnce(node, i)
	const delay = "canal.relay.takeover.delay"
	if i.TakeoverDelay = r.Duration(delay); i.ExactlyOnce != nil && r.First(delay).Value == "" {
		i.TakeoverDelay = 0 // brokers fence
	}
	i.Starter = r.starter(i, flush)
	r.packets(&i)
	r.options(&i, node)
	if i.Starter.Router != nil {
		i.Starter.Routing = routing(&i)
	}
	return i
}

// minMemory holds a few batches.
const minMemory = 1 << 20

func (r *reader) starter(i Instance, flush string) mqstarter.Config {
	c := mqstarter.DefaultConfig()
	c.Destination = i.Name
	c.Headers = r.Boolean("canal.relay.headers")
	c.Limit = max(c.Limit-mqstarter.DefaultLimit+i.Kafka.MaxRequestBytes-recordOverhead, 1<<10)
	c.DrainTimeout = i.HA.DrainTimeout
	c.FlushPeriod = r.Units(flush, time.Millisecond)
	if c.FlushPeriod == 0 {
		r.Blame(flush, "0 is no period: choose 1 or more milliseconds")
	}
	c.Router, _ = route.New(i.Route) // what is wrong with it, r.route has noted
	return c
}

// routing identifies what decides which records a change becomes, and where they
// go.
func routing(i *Instance) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %+v %t %t %s", i.Starter.Router.Fingerprint(), i.Filter, i.Relay.SplitKeys, i.Relay.SkipTables, i.Relay.StatementDML))
	return hex.EncodeToString(sum[:8])
}

// packets reads what concerns protobuf messages. Their form is Canal's choice:
// the one with the batch's number wherever it has not looked into the entries.
func (r *reader) packets(i *Instance) {
	size := int(r.Number("canal.mq.canalBatchSize", 1, 1<<20)) << 10
	raw := r.Boolean("canal.instance.memory.rawEntry")
	if r.Boolean("canal.mq.flatMessage") {
		return
	}
	routed := i.Route.DynamicTopic != "" || i.Route.PartitionHash != ""
	raw = raw && !routed
	i.Relay.Boundaries, i.Relay.Clocks = !routed, true
	i.Starter.Packets = &mqstarter.PacketConfig{Form: message.Packet{Raw: raw}, Boundaries: raw || !routed && !r.dropsBoundaries(), Bytes: size}
}

// dropsBoundaries is what Canal's sender makes of the filter, beside its reader:
// it looks into canal.properties alone, and a key that is not there is true.
func (r *reader) dropsBoundaries() bool {
	v := r.Direct("canal.instance.filter.transaction.entry").Value
	return v == "" || strings.EqualFold(v, "true")
}

// recordOverhead is what a record takes beyond key, value and headers.
const recordOverhead = 256

// persistence reads where the position is kept and whether structures are.
func (r *reader) persistence(i *Instance) {
	key := "canal.instance." + i.Name + ".spring.xml"
	xml := r.Text(key)
	if xml == "" {
		key = "canal.instance.global.spring.xml"
		xml = r.Text(key)
	}
	if strings.Contains(xml, "group-instance.xml") {
		r.Blame(key, "%s", keys.For("canal.instance.master1.address").Note)
	}
	const tsdb = "canal.instance.tsdb.enable"
	i.Structures = r.Boolean(tsdb) && (r.Raw(tsdb).Value != "" || !strings.Contains(xml, "memory-instance.xml"))
	i.MetaFile = filepath.Join(r.dataDir(), i.Name, "meta.dat")
}

// dataDir is canal.file.data.dir. Canal runs in bin, beside conf, so that its
// ../conf is the directory of the configuration, whatever ours is called.
func (r *reader) dataDir() string {
	dir := filepath.FromSlash(r.Text("canal.file.data.dir"))
	switch {
	case filepath.Clean(dir) == filepath.FromSlash("../conf"):
		return r.Dir
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(r.Dir, "..", "bin", dir)
}

func (r *reader) filter() filter.Config {
	c := filter.Config{
		Regex:      r.Text("canal.instance.filter.regex"),
		BlackRegex: r.Text("canal.instance.filter.black.regex"),
		Field:      r.Text("canal.instance.filter.field"),
		BlackField: r.Text("canal.instance.filter.black.field"),
		DMLInsert:  r.Boolean("canal.instance.filter.dml.insert"),
		DMLUpdate:  r.Boolean("canal.instance.filter.dml.update"),
		DMLDelete:  r.Boolean("canal.instance.filter.dml.delete"),
		Rows:       r.Boolean("canal.instance.filter.rows"),
		QueryDML:   r.Boolean("canal.instance.filter.query.dml"),
		QueryDDL:   r.Boolean("canal.instance.filter.query.ddl"),
		QueryDCL:   r.Boolean("canal.instance.filter.query.dcl"),

		Transactions: r.Boolean("canal.instance.filter.transaction.entry"),
	}
	if _, err := filter.New(filter.Config{Regex: c.Regex}); err != nil {
		r.BlameErr("canal.instance.filter.regex", err)
	}
	if _, err := filter.New(filter.Config{BlackRegex: c.BlackRegex}); err != nil {
		r.BlameErr("canal.instance.filter.black.regex", err)
	}
	return c
}

func (r *reader) style() event.Style {
	const key = "canal.instance.connectionCharset"
	s, err := event.NewStyle(r.zone(), r.Boolean("canal.relay.compat.decimal"), r.Text(key))
	if err != nil {
		r.Blame(key, "%v: name one of the source or of Java, as UTF-8", err)
	}
	s.MySQL = r.Choice("canal.relay.values", "canal", "mysql") == "mysql"
	return s
}

// zone is canal.relay.time.zone, else TZ, else the system's.
func (r *reader) zone() *time.Location {
	const key = "canal.relay.time.zone"
	name := r.Text(key)
	if name == "" {
		tz, ok := r.Env("TZ")
		if !ok {
			return time.Local
		}
		if name = strings.TrimPrefix(tz, ":"); filepath.IsAbs(name) {
			return time.Local // the runtime has read that file
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			r.Problems.Add(Problem{Where: properties.Environment, Key: "TZ", What: fmt.Sprintf("%q is not a time zone: write a name as Asia/Shanghai, or set %s", tz, key)})
			return time.UTC
		}
		return zone
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		r.Blame(key, "%q is not a time zone: write a name as Asia/Shanghai or UTC", name)
		return time.UTC
	}
	return zone
}
