package config

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
)

// reader gives the values of one destination, or of the node, in the types the
// packages want. What cannot be read is noted as a problem, and the default is
// given, so that reading goes on to the next one.
type reader struct {
	properties.Source
	dir         string // of canal.properties
	destination string // "" for the node
	problems    *Problems
}

// get finds the value of a key by the rules of its scope.
func (r *reader) get(key string) properties.Setting {
	k := keys.For(key)
	if k == nil {
		panic("config: " + key + " is not in the table of keys")
	}
	if k.Scope == keys.ScopeServer {
		v := r.direct(key)
		if v.Value == "" {
			v.Value = k.Default
		}
		return v
	}
	s := r.Source
	if k.Scope == keys.ScopeProcess {
		s.Files = s.Files[:1]
	}
	v, err := s.Placeholder(key, k.Default)
	if err != nil {
		r.blame(key, "%v", err)
		v.Value = k.Default
	}
	return v
}

// direct is Canal's direct reader.
func (r *reader) direct(key string) properties.Setting {
	if strings.HasPrefix(key, "kafka.") {
		return r.kafka(key)
	}
	return r.Direct(key)
}

// where tells where a key was set, or which file lacks it.
func (r *reader) where(key string) string {
	k := keys.For(key)
	v := r.Raw(key)
	files := r.Files
	if k != nil && k.Scope == keys.ScopeServer {
		v = r.direct(key)
	}
	if k != nil && k.Scope != keys.ScopeInstance {
		files = files[:1]
	}
	if v.Where != "" {
		return v.Where
	}
	return files[len(files)-1].Name
}

// blame notes a problem with a key.
func (r *reader) blame(key, format string, args ...any) {
	r.problems.Add(Problem{Where: r.where(key), Key: key, What: fmt.Sprintf(format, args...)})
}

// blameErr notes an error of another package, which may begin with the key.
func (r *reader) blameErr(key string, err error) {
	r.blame(key, "%s", strings.TrimPrefix(err.Error(), key+": "))
}

func (r *reader) text(key string) string { return r.get(key).Value }

// boolean reads true or false. The direct reader takes everything but true for
// false; here a word that is neither is a problem.
func (r *reader) boolean(key string) bool {
	v := r.get(key).Value
	switch strings.ToLower(v) {
	case "true", "on", "yes", "1":
		return true
	case "false", "off", "no", "0", "":
		return false
	}
	r.blame(key, "%q is neither true nor false", v)
	return keys.For(key).Default == "true"
}

// number reads a whole number from low to high.
func (r *reader) number(key string, low, high int64) int64 {
	v := r.get(key).Value
	n, err := strconv.ParseInt(v, 10, 64)
	if err == nil && n >= low && n <= high {
		return n
	}
	r.blame(key, "%q is not a whole number from %d to %d", v, low, high)
	n, _ = strconv.ParseInt(keys.For(key).Default, 10, 64)
	return n
}

// optional reads a number that may be blank; ok tells whether it is set.
func (r *reader) optional(key string, low, high int64) (n int64, ok bool) {
	if r.text(key) == "" {
		return 0, false
	}
	before := len(*r.problems)
	n = r.number(key, low, high)
	return n, len(*r.problems) == before
}

// units reads a number of units, not negative.
func (r *reader) units(key string, unit time.Duration) time.Duration {
	return time.Duration(r.number(key, 0, math.MaxInt64/int64(unit))) * unit
}

// duration reads a Go duration, not negative. A bare 0 needs no unit.
func (r *reader) duration(key string) time.Duration {
	v := r.get(key).Value
	d, err := time.ParseDuration(v)
	if err == nil && d >= 0 {
		return d
	}
	r.blame(key, "%q is not a duration: write a number with its unit, as 500ms or 5s", v)
	d, _ = time.ParseDuration(keys.For(key).Default)
	return d
}

// size reads a number of bytes with or without a unit.
func (r *reader) size(key string) int {
	v := r.get(key).Value
	n, err := properties.Size(v)
	if err == nil {
		return n
	}
	r.blame(key, "%q is %v", v, err)
	n, _ = properties.Size(keys.For(key).Default)
	return n
}

// choice reads one of some words, whatever their case.
func (r *reader) choice(key string, words ...string) string {
	v := r.get(key).Value
	for _, w := range words {
		if strings.EqualFold(v, w) {
			return w
		}
	}
	if len(words) == 1 {
		r.blame(key, "%q: it must be %s", v, words[0])
	} else {
		last := len(words) - 1
		r.blame(key, "%q: choose %s or %s", v, strings.Join(words[:last], ", "), words[last])
	}
	return words[0]
}

// list reads texts with commas between them; blank ones are dropped.
func (r *reader) list(key string) []string {
	return properties.List(r.text(key), ",")
}

// secrets are the keys that canal.relay.secret.<key>.file may name.
var secrets = []string{"canal.instance.dbPassword", "canal.instance.tsdb.dbPassword", "kafka.sasl.jaas.config", "kafka.ssl.keystore.key",
	"kafka.ssl.keystore.password", "kafka.ssl.truststore.password", "canal.relay.http.password", "canal.relay.alarm.webhook", "canal.relay.zookeeper.auth"}

func secretFile(key string) string { return "canal.relay.secret." + key + ".file" }

// secret reads a secret from the file named for it, else from its own key.
func (r *reader) secret(key string) Secret {
	file := secretFile(key)
	path := r.text(file)
	if path == "" {
		return Secret(r.text(key))
	}
	text, err := os.ReadFile(r.path(path))
	if err != nil {
		r.blame(file, "%v: make the file readable for this user, or remove the key", err)
		return ""
	}
	return Secret(strings.TrimRight(string(text), "\r\n"))
}

// secretAgain reads a secret anew from the file named for it, nil when it does
// not stand in one.
func (r *reader) secretAgain(key string) func() (string, error) {
	path := r.text(secretFile(key))
	if path == "" {
		return nil
	}
	path = r.path(path)
	return func() (string, error) {
		text, err := os.ReadFile(path)
		return strings.TrimRight(string(text), "\r\n"), err
	}
}

// file reads the file that a key names, nil when it names none.
func (r *reader) file(key string) []byte {
	path := strings.TrimPrefix(r.text(key), "file:")
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(r.path(path))
	if err != nil {
		r.blame(key, "%v: make the file readable for this user", err)
	}
	return b
}

// path finds a file: relative ones begin at the configuration's directory.
func (r *reader) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.dir, p)
}

// checkSecretNames finds canal.relay.secret keys that name nothing secret.
func (r *reader) checkSecretNames(f *properties.File) {
	for _, p := range f.Props {
		name, ok := strings.CutPrefix(p.Key, "canal.relay.secret.")
		if name, ok2 := strings.CutSuffix(name, ".file"); ok && ok2 && !slices.Contains(secrets, name) {
			r.problems.Add(Problem{Where: f.At(p), Key: p.Key, What: fmt.Sprintf("%s is not a secret that can stand in a file: choose %s", name, strings.Join(secrets, ", "))})
		}
	}
}
