package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/canal-relay/canal-relay/cmd/internal/config/findings"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
	"github.com/canal-relay/canal-relay/cmd/internal/config/reading"
	"github.com/canal-relay/canal-relay/cmd/internal/config/security"
)

// What the files say about themselves, and what is not to be shown.
type (
	Problem  = findings.Problem
	Problems = findings.Problems
	Finding  = findings.Finding
	Secret   = security.Secret
)

// judge finds refused keys that are set to something else than their default.
func (r *reader) judge(scopes ...keys.Scope) {
	for _, name := range r.names() {
		k := keys.For(name)
		if k == nil || k.Verdict != keys.Refused || !slices.Contains(scopes, k.Scope) {
			continue
		}
		if v := r.Get(name).Value; !k.Takes(v) {
			r.Blame(name, "%s: %s", shown(k, v), k.Note)
		}
	}
}

// names lists the keys of the files and those of the table.
func (r *reader) names() []string {
	var out []string
	seen := map[string]bool{}
	for _, f := range r.Files {
		for _, p := range f.Props {
			if !seen[p.Key] {
				seen[p.Key] = true
				out = append(out, p.Key)
			}
		}
	}
	for _, k := range keys.All() {
		if !seen[k.Name] && !strings.Contains(k.Name, "*") {
			out = append(out, k.Name)
		}
	}
	return out
}

// shown is a value as messages quote it.
func shown(k *keys.Key, v string) string {
	if k.Kind == keys.Password {
		return security.Hidden
	}
	return fmt.Sprintf("%q", v)
}

// report tells of every key in a file, in its order, and of those in the
// environment. destination is "" for canal.properties.
func (l *loader) report(f *properties.File, destination string) []Finding {
	var out []Finding
	for _, p := range f.Props {
		find := Finding{Where: f.At(p), Destination: destination, Key: p.Key}
		find.Verdict, find.Note = l.verdict(f, p, destination)
		if last, _ := f.Get(p.Key); last.Line != p.Line {
			find.Verdict, find.Note = keys.Ignored, fmt.Sprintf("set again in line %d, which counts", last.Line)
		} else if _, ok := l.env(p.Key); ok && keys.For(p.Key) != nil && find.Verdict == keys.Honoured {
			find.Verdict, find.Note = keys.Ignored, "the environment has it too, and wins unless blank"
		}
		out = append(out, find)
		if p.Mangled && find.Verdict == keys.Honoured {
			find.Note = `it holds characters outside ASCII, which this format garbles: write them as \uXXXX`
			out = append(out, find)
		}
	}
	if destination != "" {
		return out
	}
	for _, k := range keys.All() {
		if !strings.Contains(k.Name, "*") {
			out = append(out, l.environment(f, &k)...)
		}
	}
	return out
}

// environment tells what becomes of a key in the environment, and of a variable
// whose name only looks like it.
func (l *loader) environment(f *properties.File, k *keys.Key) []Finding {
	find := Finding{Where: properties.Environment, Key: k.Name, Verdict: k.Verdict, Note: k.Note}
	if v, ok := l.env(k.Name); ok {
		_, stands := f.Get(k.Name)
		switch {
		case k.Verdict == keys.Refused && k.Takes(properties.Trim(v)):
			find.Verdict, find.Note = keys.Honoured, onlyThis
		case k.Verdict == keys.Honoured && strings.HasPrefix(k.Name, "kafka.") && !stands && !reading.Older(f, k.Name):
			find.Verdict, find.Note = keys.Unknown, "it is not read: as in Canal the environment changes a kafka.* key that stands in "+ServerFile+", and adds none; write the key there, too"
		}
		return []Finding{find}
	}
	for _, name := range []string{strings.ReplaceAll(k.Name, ".", "_"), strings.ToUpper(k.Name), strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))} {
		// Kubernetes sets variables of this form for a service called canal.
		if v, ok := l.env(name); ok && !strings.Contains(v, "://") {
			find.Key, find.Verdict, find.Note = name, keys.Unknown, "it is not read: the name of a variable is that of the key, "+k.Name+", with its dots and in its case"
			return []Finding{find}
		}
	}
	return nil
}

const onlyThis = "the value that this version takes"

// verdict judges a key of a file.
func (l *loader) verdict(f *properties.File, p properties.Property, destination string) (keys.Verdict, string) {
	k := keys.For(p.Key)
	switch {
	case k == nil && strings.HasPrefix(p.Key, "canal.relay."):
		l.problems.Add(Problem{Where: f.At(p), Key: p.Key, What: "there is no such key" + l.suggest(p.Key)})
		return keys.Refused, "there is no such key"
	case k == nil && l.used[p.Key]:
		return keys.Honoured, "a placeholder asks for it"
	case k == nil:
		return keys.Unknown, "neither Canal nor canal-relay has such a key" + l.suggest(p.Key)
	case destination != "" && k.Scope == keys.ScopeProcess:
		l.problems.Add(Problem{Where: f.At(p), Key: p.Key, What: "it is one for the whole process: move it to " + ServerFile})
		return keys.Refused, "it is one for the whole process: move it to " + ServerFile
	case destination != "" && k.Scope == keys.ScopeServer:
		return keys.Ignored, "it is read from " + ServerFile + " only"
	case k.Verdict == keys.Refused && (l.expanded(p.Value) || k.Takes(properties.Trim(p.Value))):
		return keys.Honoured, onlyThis
	}
	return k.Verdict, k.Note
}

// expanded reports whether a value holds a placeholder, so that its text says
// nothing yet. Whether what it becomes is refused, judge has found.
func (l *loader) expanded(v string) bool { return strings.Contains(v, "${") }

func (l *loader) suggest(key string) string {
	if near := keys.Nearest(key); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}
