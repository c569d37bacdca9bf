package config

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

// FromAdmin begins the names of texts that Canal Admin gave.
const FromAdmin = "Canal Admin, "

// Where a value comes from.
const (
	FromFile        = "file"
	FromEnvironment = "environment"
	FromConsole     = "admin" // Canal Admin
	FromSecretFile  = "secret file"
	FromDefault     = "default"
)

// Value is a setting in force.
type Value struct {
	Destination string `json:"destination,omitempty"` // empty: of the node
	Key         string `json:"key"`
	Value       string `json:"value"`           // *** for a secret
	From        string `json:"from"`            // FromFile and so on
	Where       string `json:"where,omitempty"` // file:line; of a default, the blank that gave way to it
}

// Values lists the settings in force, those of the node, then those of each
// destination, by name. What the files get wrong is the error, Problems; the
// values are there all the same.
func Values(dir string, env func(string) (string, bool)) ([]Value, error) {
	return (&loader{dir: dir, env: env}).values()
}

// Values is the function Values for texts that were read from elsewhere.
func (t *Texts) Values(dir string, env func(string) (string, bool)) ([]Value, error) {
	return (&loader{dir: dir, env: env, texts: t}).values()
}

func (l *loader) values() ([]Value, error) {
	node, r := l.node()
	if node == nil {
		return nil, l.problems
	}
	host, _, _ := net.SplitHostPort(node.Identity)
	derived := map[string]string{"canal.register.ip": host}
	if r.Boolean("kafka.kerberos.enable") {
		derived["kafka.security.protocol"] = "SASL_PLAINTEXT"
	}
	all := r.values(derived, keys.ScopeServer, keys.ScopeProcess)
	for _, name := range l.destinations(r, node.Scan > 0) {
		if i, ok := l.instance(node, name); ok {
			r := l.again(name)
			all = append(all, r.values(r.derived(node, &i), keys.ScopeInstance)...)
		}
	}
	if len(l.problems) > 0 {
		return all, l.problems
	}
	return all, nil
}

// again reads a destination that was read before.
func (l *loader) again(name string) *reader {
	if f, ok := l.read(filepath.Join(l.dir, name, InstanceFile), false); ok {
		return l.reader(name, f)
	}
	return l.reader(name)
}

// values lists the honoured keys of some scopes.
func (r *reader) values(derived map[string]string, scopes ...keys.Scope) []Value {
	var all []Value
	for _, name := range slices.Sorted(slices.Values(r.names())) {
		if k := keys.For(name); k != nil && k.Verdict == keys.Honoured && slices.Contains(scopes, k.Scope) {
			if v := r.value(k, name, derived); v.From != FromDefault || !reading.IsOlder(name) {
				all = append(all, v)
			}
		}
	}
	return all
}

func (r *reader) value(k *keys.Key, name string, derived map[string]string) Value {
	set := r.Get(name)
	v := Value{Destination: r.Destination, Key: name, Value: set.Value, From: FromFile, Where: set.Where}
	file := r.SecretPath(name)
	switch {
	case file != "":
		v.From, v.Where, v.Value = FromSecretFile, file, security.Hidden
	case set.Set && name == "kafka.ssl.endpoint.identification.algorithm": // a blank means something
		v.Value = r.Server(name).Value
	case r.blank(k, name):
		v.From = FromDefault
		if given, ok := derived[name]; ok {
			v.Value = given
		}
	case set.Where == properties.Environment:
		v.From, v.Where = FromEnvironment, ""
	case strings.HasPrefix(set.Where, FromAdmin):
		v.From = FromConsole
	}
	if v.Value = security.Masked(v.Value); k.Kind == keys.Password && v.Value != "" {
		v.Value = security.Hidden
	}
	return v
}

// blank reports whether a key is set nowhere, or to nothing, so that its default
// counts.
func (r *reader) blank(k *keys.Key, name string) bool {
	if k.Scope == keys.ScopeServer {
		return r.Server(name).Value == ""
	}
	s := r.Source
	if k.Scope == keys.ScopeProcess {
		s.Files = s.Files[:1]
	}
	return s.Raw(name).Value == ""
}

// derived has the defaults that depend on other keys or on this host.
func (r *reader) derived(node *Node, i *Instance) map[string]string {
	d := map[string]string{
		"canal.instance.tsdb.enable":   strconv.FormatBool(i.Structures),
		"canal.relay.takeover.delay":   i.TakeoverDelay.String(),
		"canal.relay.position.topic":   node.Cluster + "-positions",
		"canal.relay.schema.topic":     i.History.Topic,
		"canal.relay.schema.store":     i.History.Store,
		"canal.relay.deadletter.topic": node.Cluster + "-dead-letter",
		"canal.relay.time.zone":        r.zone().String(),
	}
	if i.Source.ServerID != 0 {
		d["canal.instance.mysql.slaveId"] = strconv.FormatUint(uint64(i.Source.ServerID), 10)
	}
	return d
}
