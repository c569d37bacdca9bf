package reading

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config/findings"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

// Reader gives the values of one destination, or of the node, in the types the
// packages want. What cannot be read is noted as a problem, and the default is
// given, so that reading goes on to the next one.
type Reader struct {
	properties.Source
	Dir         string // of canal.properties
	Destination string // "" for the node
	Problems    *findings.Problems
	Named       Files // takes those that are read; not nil
}

// Get finds the value of a key by the rules of its scope.
func (r *Reader) Get(key string) properties.Setting {
	k := keys.For(key)
	if k == nil {
		panic("config: " + key + " is not in the table of keys")
	}
	if k.Scope == keys.ScopeServer {
		v := r.Server(key)
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
		r.Blame(key, "%v", err)
		v.Value = k.Default
	}
	return v
}

// Server finds the value of a key by Canal's direct reader, without its default.
func (r *Reader) Server(key string) properties.Setting {
	if strings.HasPrefix(key, "kafka.") {
		return r.kafka(key)
	}
	return r.Direct(key)
}

// Where tells where a key was set, or which file lacks it.
func (r *Reader) Where(key string) string {
	k := keys.For(key)
	v := r.Raw(key)
	files := r.Files
	if k != nil && k.Scope == keys.ScopeServer {
		v = r.Server(key)
	}
	if k != nil && k.Scope != keys.ScopeInstance {
		files = files[:1]
	}
	if v.Where != "" {
		return v.Where
	}
	return files[min(1, len(files)-1)].Name
}

// Blame notes a problem with a key.
func (r *Reader) Blame(key, format string, args ...any) {
	r.Problems.Add(findings.Problem{Where: r.Where(key), Key: key, What: fmt.Sprintf(format, args...)})
}

// BlameErr notes an error of another package, which may begin with the key.
func (r *Reader) BlameErr(key string, err error) {
	r.Blame(key, "%s", strings.TrimPrefix(err.Error(), key+": "))
}

// Text reads a value as it is.
func (r *Reader) Text(key string) string { return r.Get(key).Value }

// Boolean reads true or false. The direct reader takes everything but true for
// false; here a word that is neither is a problem.
func (r *Reader) Boolean(key string) bool {
	v := r.Get(key).Value
	switch strings.ToLower(v) {
	case "true", "on", "yes", "1":
		return true
	case "false", "off", "no", "0", "":
		return false
	}
	r.Blame(key, "%q is neither true nor false", v)
	return keys.For(key).Default == "true"
}

// Number reads a whole number from low to high.
func (r *Reader) Number(key string, low, high int64) int64 {
	v := r.Get(key).Value
	n, err := strconv.ParseInt(v, 10, 64)
	if err == nil && n >= low && n <= high {
		return n
	}
	r.Blame(key, "%q is not a whole number from %d to %d", v, low, high)
	n, _ = strconv.ParseInt(keys.For(key).Default, 10, 64)
	return n
}

// Optional reads a number that may be blank; ok tells whether it is set.
func (r *Reader) Optional(key string, low, high int64) (n int64, ok bool) {
	if r.Text(key) == "" {
		return 0, false
	}
	before := len(*r.Problems)
	n = r.Number(key, low, high)
	return n, len(*r.Problems) == before
}

// Units reads a number of units, not negative.
func (r *Reader) Units(key string, unit time.Duration) time.Duration {
	return time.Duration(r.Number(key, 0, math.MaxInt64/int64(unit))) * unit
}

// Duration reads a Go duration, not negative. A bare 0 needs no unit.
func (r *Reader) Duration(key string) time.Duration {
	v := r.Get(key).Value
	d, err := time.ParseDuration(v)
	if err == nil && d >= 0 {
		return d
	}
	r.Blame(key, "%q is not a duration: write a number with its unit, as 500ms or 5s", v)
	d, _ = time.ParseDuration(keys.For(key).Default)
	return d
}

// Size reads a number of bytes with or without a unit.
func (r *Reader) Size(key string) int {
	v := r.Get(key).Value
	n, err := properties.Size(v)
	if err == nil {
		return n
	}
	r.Blame(key, "%q is %v", v, err)
	n, _ = properties.Size(keys.For(key).Default)
	return n
}

// Choice reads one of some words, whatever their case.
func (r *Reader) Choice(key string, words ...string) string {
	v := r.Get(key).Value
	for _, w := range words {
		if strings.EqualFold(v, w) {
			return w
		}
	}
	if len(words) == 1 {
		r.Blame(key, "%q: it must be %s", v, words[0])
	} else {
		last := len(words) - 1
		r.Blame(key, "%q: choose %s or %s", v, strings.Join(words[:last], ", "), words[last])
	}
	return words[0]
}

// List reads texts with commas between them; blank ones are dropped.
func (r *Reader) List(key string) []string {
	return properties.List(r.Text(key), ",")
}

// secrets are the keys that canal.relay.secret.<key>.file may name.
var secrets = sync.OnceValue(func() (names []string) {
	for _, k := range keys.All() {
		if k.Kind == keys.Password && k.Verdict == keys.Honoured {
			names = append(names, k.Name)
		}
	}
	return names
})

func secretFile(key string) string { return "canal.relay.secret." + key + ".file" }

// Secret reads a secret from the file named for it, else from its own key.
func (r *Reader) Secret(key string) security.Secret {
	file := secretFile(key)
	path := r.Text(file)
	if path == "" {
		return security.Secret(r.Text(key))
	}
	text, err := r.Named.read(r.Path(path))
	if err != nil {
		r.Blame(file, "%v: make the file readable for this user, or remove the key", err)
		return ""
	}
	return security.Secret(strings.TrimRight(string(text), "\r\n"))
}

// SecretPath is the file that a secret stands in; empty when it stands in none, or
// is not one that may.
func (r *Reader) SecretPath(key string) string {
	if !slices.Contains(secrets(), key) {
		return ""
	}
	if path := r.Text(secretFile(key)); path != "" {
		return r.Path(path)
	}
	return ""
}

// SecretAgain reads a secret anew from the file named for it, nil when it does
// not stand in one. It is for each login, so that a change needs nothing else.
func (r *Reader) SecretAgain(key string) func() (string, error) {
	path := r.Text(secretFile(key))
	if path == "" {
		return nil
	}
	path = r.Path(path)
	delete(r.Named, path)
	return func() (string, error) {
		text, err := os.ReadFile(path)
		return strings.TrimRight(string(text), "\r\n"), err
	}
}

// File reads the file that a key names, nil when it names none.
func (r *Reader) File(key string) []byte {
	path := strings.TrimPrefix(r.Text(key), "file:")
	if path == "" {
		return nil
	}
	b, err := r.Named.read(r.Path(path))
	if err != nil {
		r.Blame(key, "%v: make the file readable for this user", err)
	}
	return b
}

// FileAgain is the path of the file that a key names, for who reads it anew for
// each connection, so that a change needs nothing else; empty when it names none.
func (r *Reader) FileAgain(key string) string {
	path := strings.TrimPrefix(r.Text(key), "file:")
	if path == "" {
		return ""
	}
	path = r.Path(path)
	delete(r.Named, path)
	return path
}

// ReadFile reads a file that a setting names in another way than by its value.
func (r *Reader) ReadFile(path string) ([]byte, error) { return r.Named.read(path) }

// Path finds a file: relative ones begin at the configuration's directory.
func (r *Reader) Path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.Dir, p)
}

// CheckSecretNames finds canal.relay.secret keys that name nothing secret.
func (r *Reader) CheckSecretNames(f *properties.File) {
	for _, p := range f.Props {
		name, ok := strings.CutPrefix(p.Key, "canal.relay.secret.")
		if name, ok2 := strings.CutSuffix(name, ".file"); ok && ok2 && !slices.Contains(secrets(), name) {
			r.Problems.Add(findings.Problem{Where: f.At(p), Key: p.Key, What: fmt.Sprintf("%s is not a secret that can stand in a file: choose %s", name, strings.Join(secrets(), ", "))})
		}
	}
}
