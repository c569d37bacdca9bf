package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/canal-relay/canal-relay/cmd/internal/config/identity"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper/session"
)

// Names of the files, and of a directory that holds no destination.
const (
	ServerFile   = "canal.properties"
	InstanceFile = "instance.properties"
	springDir    = "spring"
)

// Node is what the files say about the process.
type Node struct {
	Dir      string // of canal.properties
	Identity string // ip:port, by which ZooKeeper and other nodes know this one
	Cluster  string

	// ZooKeeper is the text of canal.zkServers; empty for static election.
	ZooKeeper      string
	SessionTimeout time.Duration // asked of ZooKeeper
	ZooKeeperAuth  Secret        // user:password; empty for none
	ZooKeeperTLS   *tls.Config   `json:"-"` // nil for plain connections
	// Both, read anew from their files; nil where they stand in none.
	ZooKeeperAuthAgain func() (string, error)      `json:"-"`
	ZooKeeperTLSAgain  func() (*tls.Config, error) `json:"-"`

	HTTP         string // address of metrics and status page; empty for none
	HTTPUser     string
	HTTPPassword Secret
	Pprof        bool

	LogJSON bool
	Webhook Secret // URL to call when a destination changes its state; empty for none

	Scan  time.Duration // how often to look for changes; 0: never
	Admin *Admin        // nil where the configuration is in files

	Instances []Instance // in the order of the configuration
	process   Settings   // what takes a restart, by key
}

// Instance finds a destination, nil when there is none of that name.
func (n *Node) Instance(name string) *Instance {
	for i := range n.Instances {
		if n.Instances[i].Name == name {
			return &n.Instances[i]
		}
	}
	return nil
}

// Load reads canal.properties in dir and the instance.properties of every
// destination. env looks up environment variables, whose names are the keys,
// dots included. Findings tell of every key that was found, and are there even
// when an error is: it is Problems, all of them. No server is asked.
func Load(dir string, env func(string) (string, bool)) (*Node, []Finding, error) {
	return LoadOne(dir, env, "")
}

// LoadOne is Load for one destination, whatever is wrong with others. When there
// is none of that name, all are read.
func LoadOne(dir string, env func(string) (string, bool), name string) (*Node, []Finding, error) {
	return loadFrom(&loader{dir: dir, env: env, only: name})
}

func loadFrom(l *loader) (*Node, []Finding, error) {
	node := l.load()
	if len(l.problems) > 0 {
		return nil, l.findings, l.problems
	}
	return node, l.findings, nil
}

// reader reads what concerns the node and its destinations.
type reader struct{ *reading.Reader }

// loader is one run of Load.
type loader struct {
	dir      string
	env      func(string) (string, bool)
	texts    *Texts // nil: they are read from dir
	only     string // of the destinations, if it is one of them
	server   *properties.File
	problems Problems
	findings []Finding
	used     map[string]bool // names in placeholders
	files    Files           // that the settings read last name
}

func (l *loader) load() *Node {
	node, r := l.node()
	if node == nil {
		return nil
	}
	names := l.destinations(r, node.Scan > 0)
	if slices.Contains(names, l.only) {
		names = []string{l.only}
	}
	for _, name := range names {
		if i, ok := l.instance(node, name); ok {
			node.Instances = append(node.Instances, i)
		}
	}
	if len(node.Instances) == 0 && len(l.problems) == 0 && node.Admin == nil {
		l.problems.Add(Problem{Where: l.server.Name, Key: "canal.destinations", What: "no destination is left to run: name one that has a directory with an " + InstanceFile})
	}
	l.findings = append(l.report(l.server, ""), l.findings...)
	return node
}

// node reads canal.properties.
func (l *loader) node() (*Node, *reader) {
	l.used = map[string]bool{}
	var ok bool
	if l.server, ok = l.read(filepath.Join(l.dir, ServerFile), true); !ok {
		return nil, nil
	}
	r := l.reader("")
	node := r.node()
	r.judge(keys.ScopeServer, keys.ScopeProcess)
	r.CheckSecretNames(l.server)
	node.process, l.files = r.settings(func(k *keys.Key, _ string) bool { return k.Process() }), r.Named
	return node, r
}

// read reads a file. needed makes its absence a problem.
func (l *loader) read(path string, needed bool) (*properties.File, bool) {
	text, err := l.text(path)
	if err != nil {
		if needed || !os.IsNotExist(err) {
			l.problems.Add(Problem{Where: path, What: fmt.Sprintf("%v: give the directory of %s with --conf, readable for this user", err, ServerFile)})
		}
		return nil, false
	}
	f, err := text.parse(path)
	if err != nil {
		if se := (*properties.SyntaxError)(nil); errors.As(err, &se) {
			l.problems.Add(Problem{Where: fmt.Sprintf("%s:%d", path, se.Line), What: se.What})
		}
		return nil, false
	}
	return f, true
}

// reader reads canal.properties and, for a destination, the files after it.
func (l *loader) reader(destination string, more ...*properties.File) *reader {
	r := &reader{&reading.Reader{Dir: l.dir, Destination: destination, Problems: &l.problems, Named: Files{}}}
	files := append([]*properties.File{l.server}, more...)
	if l.texts != nil && l.texts.Admin && len(more) > 0 {
		files = append(files, l.server) // Canal puts it on top there
	}
	r.Source = properties.Source{Env: l.env, Files: files, Used: l.used}
	if destination != "" {
		r.Fixed = map[string]string{"canal.instance.destination": destination}
	}
	return r
}

func (r *reader) node() *Node {
	n := &Node{
		Dir:            r.Dir,
		Cluster:        r.Text("canal.relay.cluster"),
		ZooKeeper:      r.Text("canal.zkServers"),
		SessionTimeout: r.Duration("canal.relay.session.timeout"),
		HTTPUser:       r.Text("canal.relay.http.user"),
		HTTPPassword:   r.Secret("canal.relay.http.password"),
		Pprof:          r.Boolean("canal.relay.http.pprof"),
		LogJSON:        r.Choice("canal.relay.log.format", "text", "json") == "json",
	}
	n.Webhook = r.webhook()
	n.Admin = r.admin()
	if r.Boolean("canal.auto.scan") {
		n.Scan = r.scanInterval()
	}
	r.Choice("canal.serverMode", "kafka")
	if strings.ContainsFunc(n.Cluster, func(c rune) bool { return !properties.IsNameRune(c) }) {
		r.Blame("canal.relay.cluster", "%q: use letters, digits, dots, dashes and underscores", n.Cluster)
	}
	if (n.HTTPUser == "") != (n.HTTPPassword == "") {
		r.Blame("canal.relay.http.user", "it goes with canal.relay.http.password: set both or none")
	}
	if err := ha.DefaultConfig().For(n.SessionTimeout).Validate(); err != nil {
		r.BlameErr("canal.relay.session.timeout", err)
	}
	if port := r.Number("canal.metrics.pull.port", math.MinInt32, math.MaxUint16); port > 0 {
		n.HTTP = net.JoinHostPort(r.Text("canal.relay.http.bind"), strconv.FormatInt(port, 10))
	}
	r.checkServers(n.ZooKeeper)
	n.ZooKeeperTLS, n.ZooKeeperTLSAgain = r.zookeeperTLS()
	n.ZooKeeperAuth, n.ZooKeeperAuthAgain = r.zookeeperAuth()
	n.Identity = r.identity()
	return n
}

// checkServers looks at canal.zkServers, which ha/zookeeper reads.
func (r *reader) checkServers(list string) {
	const key = "canal.zkServers"
	if list == "" {
		return
	}
	if err := (session.Config{Servers: list}).Validate(); err != nil {
		r.Blame(key, "%v: write host:port,…, or leave it blank for a node without ZooKeeper", err)
	}
	hosts, _, _ := strings.Cut(list, "/")
	for _, host := range properties.List(hosts, ",;") {
		if strings.Contains(host, ":") { // else the default port
			if err := properties.CheckAddress(host); err != nil {
				r.BlameErr(key, err)
			}
		}
	}
}

// identity is ip:port. Without canal.register.ip and canal.ip the ip is the
// first IPv4 address of the host that is not a loopback one.
func (r *reader) identity() string {
	ip := r.Text("canal.register.ip")
	if ip == "" {
		ip = r.Text("canal.ip")
	}
	port := strconv.FormatInt(r.Number("canal.port", 1, math.MaxUint16), 10)
	if ip != "" {
		if strings.ContainsAny(ip, " /,") {
			r.Blame("canal.register.ip", "%q is not the address of one host", ip)
		}
		return net.JoinHostPort(strings.Trim(ip, "[]"), port)
	}
	if ip = identity.HostIP(); ip == "" {
		if r.Text("canal.zkServers") != "" {
			r.Blame("canal.register.ip", "this host has no IPv4 address but loopback: set the address by which other nodes know this one")
		}
		ip = "127.0.0.1"
	}
	return net.JoinHostPort(ip, port)
}

// destinations lists the names to run: the configured ones and, with a scan,
// every directory with an instance.properties.
func (l *loader) destinations(r *reader, scan bool) []string {
	key := "canal.destinations"
	names := r.List(key)
	if expr := r.Text("canal.destinations.expr"); expr != "" {
		key = "canal.destinations.expr"
		var err error
		if names, err = properties.Names(expr); err != nil {
			r.Blame(key, "%q: %v", expr, err)
		}
	}
	if scan && l.texts != nil && l.texts.Admin {
		names = nil // the list is the admin's
	}
	if scan {
		for _, name := range l.directories() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 && (l.texts == nil || !l.texts.Admin) {
		r.Blame(key, "no destination is named and none was found: list their names, or set canal.auto.scan=true and make a directory with an %s for each", InstanceFile)
	}
	var out []string
	for _, name := range names {
		switch {
		case slices.Contains(out, name):
			r.Blame(key, "%q is named twice", name)
		case CheckName(name) != nil:
			r.Blame(key, "%v", CheckName(name))
		default:
			out = append(out, name)
		}
	}
	return out
}

// CheckName refuses what cannot name a destination: it is the name of a directory,
// of a ZooKeeper node (org.apache.zookeeper.common.PathUtils.validatePath), and a
// label of metrics.
func CheckName(name string) error {
	odd := func(c rune) bool {
		return c < ' ' || c == '/' || c == '\\' || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0 && c <= 0xffff
	}
	if name == "." || name == ".." || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return fmt.Errorf("%q cannot be the name of a directory and of a ZooKeeper node", name)
	}
	return nil
}

// directories lists those beside canal.properties that hold a destination.
// Names with a dot in front belong to the system (Kubernetes keeps versions of
// a mounted configuration so).
func (l *loader) directories() []string {
	if l.texts != nil {
		return slices.Sorted(maps.Keys(l.texts.Instances))
	}
	out, err := Directories(l.dir)
	if err != nil {
		return nil // canal.properties was read from it a moment ago
	}
	return out
}

// Directories lists the destinations that have a directory in dir.
func Directories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.EqualFold(e.Name(), springDir) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, e.Name(), InstanceFile)); err == nil {
			out = append(out, e.Name())
		}
	}
	return out, nil
}
