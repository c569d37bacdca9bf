package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
)

// Text is one file of a configuration as it was read. The same pointer stands
// for the same content.
type Text struct {
	Content []byte
	// Top is put on top of it: the canal.properties beside this node outdoes the
	// one of Canal Admin. It is nil for a file.
	Top *Text
	// From names it in messages; empty for the path of a file.
	From string
}

// parse reads the properties of t, which was found at path.
func (t *Text) parse(path string) (*properties.File, error) {
	name := t.From
	if name == "" {
		name = path
	}
	f, err := properties.NewFile(name, t.Content)
	if err != nil || t.Top == nil {
		return f, err
	}
	top, err := t.Top.parse(path)
	if err != nil {
		return nil, err
	}
	return properties.Join(f, top), nil
}

// Texts is a configuration as it was read.
type Texts struct {
	Server    *Text
	Instances map[string]*Text // by destination
	// Admin says that they are Canal Admin's: its list of destinations counts,
	// and a key of Server outdoes the same one of a destination.
	Admin bool
}

// Judge is LoadOne for texts that were read from elsewhere.
func (t *Texts) Judge(dir string, env func(string) (string, bool), name string) (*Node, []Finding, error) {
	return loadFrom(&loader{dir: dir, env: env, texts: t, only: name})
}

// text is what stands at a path.
func (l *loader) text(path string) (*Text, error) {
	if l.texts == nil {
		content, err := os.ReadFile(path)
		return &Text{Content: content}, err
	}
	if path == filepath.Join(l.dir, ServerFile) {
		return l.texts.Server, nil
	}
	if t := l.texts.Instances[filepath.Base(filepath.Dir(path))]; t != nil {
		return t, nil
	}
	return nil, os.ErrNotExist
}

// Server is a canal.properties for which destinations are read one at a time.
type Server struct {
	Node  *Node // without Instances
	Files Files // that it names

	dir   string
	env   func(string) (string, bool)
	texts Texts // without Instances
}

// NewServer judges a canal.properties. The error is Problems.
func NewServer(dir string, env func(string) (string, bool), text *Text, admin bool) (*Server, error) {
	s := &Server{dir: dir, env: env, texts: Texts{Server: text, Admin: admin}}
	l := s.loader(nil)
	if s.Node, _ = l.node(); s.Node != nil {
		l.report(l.server, "") // it has problems of its own
	}
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	s.Files = l.files
	return s, nil
}

func (s *Server) loader(instances map[string]*Text) *loader {
	t := s.texts
	t.Instances = instances
	return &loader{dir: s.dir, env: s.env, texts: &t}
}

// Names lists the destinations that are to be run if they were found, in their
// order, by a node that scans for them or does not. The error is Problems.
func (s *Server) Names(found []string, scan bool) ([]string, error) {
	instances := make(map[string]*Text, len(found))
	for _, name := range found {
		instances[name] = nil
	}
	l := s.loader(instances)
	_, r := l.node()
	names := l.destinations(r, scan)
	if len(l.problems) > 0 && len(names) > 0 {
		return nil, l.problems
	}
	return names, nil
}

// Files are those that settings name.
type Files = reading.Files

// Instance judges one destination as of a running node, whose process-wide keys
// are in force whatever Server says. It is nil, without an error, when there is
// no text of a destination that needs one. The error is Problems. The files are
// those that the destination names, as far as it was read.
func (s *Server) Instance(running *Node, name string, text *Text) (*Instance, Files, error) {
	l := s.loader(map[string]*Text{name: text})
	if l.node(); len(l.problems) > 0 {
		return nil, l.files, l.problems
	}
	i, ok := l.instance(running, name)
	switch {
	case len(l.problems) > 0:
		return nil, l.files, l.problems
	case !ok:
		return nil, nil, nil
	}
	return &i, l.files, nil
}

// Settings are hashes of settings by key, so that changes are found without
// keeping secrets. The settings of a destination are one hash, under no key.
type Settings map[string][sha256.Size]byte

// settings takes the settings of the honoured keys that are chosen.
func (r *reader) settings(chosen func(k *keys.Key, name string) bool) Settings {
	all := Settings{}
	for _, name := range r.names() {
		if k := keys.For(name); k != nil && k.Verdict != keys.Ignored && chosen(k, name) {
			value := r.Get(name).Value
			if path := r.SecretPath(name); path != "" {
				value = path + " " + r.Named.Sum(path)
			} else if k.Kind == keys.Path && k.Process() && value != "" {
				value += " " + r.Named.Sum(r.Path(strings.TrimPrefix(value, "file:")))
			}
			all[name] = sha256.Sum256([]byte(value))
		}
	}
	return all
}

// decides reports whether a key decides how the destination is run.
func (r *reader) decides(k *keys.Key, name string) bool {
	other := strings.HasPrefix(k.Name, "canal.instance.*") && !strings.HasPrefix(name, "canal.instance."+r.Destination+".")
	return !k.Process() && !k.Chooses() && !other
}

func (s Settings) sum(files Files) Settings {
	h := sha256.New()
	fmt.Fprintln(h, files)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(h, "%q %x\n", name, s[name])
	}
	return Settings{"": [sha256.Size]byte(h.Sum(nil))}
}

// Same reports whether both are run in the same way.
func (i *Instance) Same(o *Instance) bool { return maps.Equal(i.settings, o.settings) }

// Restart lists the keys of a newer configuration that take a restart.
func (n *Node) Restart(newer *Node) []string {
	var changed []string
	for name := range newer.process {
		if n.process[name] != newer.process[name] {
			changed = append(changed, name)
		}
	}
	for name := range n.process {
		if _, still := newer.process[name]; !still {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

func (r *reader) scanInterval() time.Duration {
	const key = "canal.auto.scan.interval"
	d := r.Units(key, time.Second)
	if d == 0 {
		r.Blame(key, "0 is no period: choose 1 or more seconds, or canal.auto.scan=false")
		d = 5 * time.Second
	}
	return d
}

// lazy tells whether the destination is to be known only.
func (r *reader) lazy() bool {
	key := "canal.instance." + r.Destination + ".lazy"
	if r.Text(key) == "" {
		key = "canal.instance.global.lazy"
	}
	return r.Boolean(key)
}

// Admin says how to ask Canal Admin.
type Admin struct {
	URL      string // http:// or https://, without a / at the end
	User     string
	Password Secret // SHA1(SHA1(password)) in hex
	IP       string // by which it knows this node, with Port
	Port     int
	Register bool // as Name, in Cluster unless that is empty
	Cluster  string
	Name     string
}

// admin reads how to ask Canal Admin; nil when the configuration is in files.
func (r *reader) admin() *Admin {
	const manager, passwd = "canal.admin.manager", "canal.admin.passwd"
	url := r.Text(manager)
	for _, name := range r.names() {
		if k := keys.For(name); k != nil && (k.Name == "canal.instance.global.mode" || k.Name == "canal.instance.*.mode") {
			if mode := r.Text(name); mode != "" && r.Choice(name, "spring", "manager") == "manager" && url == "" {
				r.Blame(name, "manager takes the configuration from Canal Admin: name it in %s, or set spring", manager)
			}
		}
	}
	if url == "" {
		return nil
	}
	if !strings.HasPrefix(url, "http") {
		url = "http://" + url
	}
	a := &Admin{URL: strings.TrimRight(url, "/"), User: r.Text("canal.admin.user"), Password: r.Secret(passwd), Port: int(r.Number("canal.admin.port", 1, math.MaxUint16)),
		Register: r.Boolean("canal.admin.register.auto"), Cluster: r.Text("canal.admin.register.cluster"), Name: r.Text("canal.admin.register.name")}
	if a.Password == "" {
		r.Blame(passwd, "Canal Admin asks for it: set the hash of its password as Canal has it")
	}
	a.IP, _, _ = net.SplitHostPort(r.identity())
	if a.Name == "" {
		a.Name, _ = os.Hostname()
	}
	return a
}

// ReadAdmin finds out from a canal.properties whether Canal Admin has the
// configuration: nil when it has not. The error is Problems, about that alone.
func ReadAdmin(dir string, env func(string) (string, bool)) (*Admin, error) {
	l := &loader{dir: dir, env: env, used: map[string]bool{}}
	var ok bool
	if l.server, ok = l.read(filepath.Join(dir, ServerFile), true); !ok {
		return nil, l.problems
	}
	a := l.reader("").admin()
	if a != nil && len(l.problems) > 0 {
		return nil, l.problems
	}
	return a, nil
}
