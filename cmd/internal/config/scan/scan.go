// Package scan looks at a configuration again and again and says what it asks
// for now.
package scan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
)

// Source is where the texts of a configuration are: a folder, or Canal Admin.
type Source interface {
	// Server returns canal.properties.
	Server(ctx context.Context) (*config.Text, error)
	// Names lists the destinations.
	Names(ctx context.Context) ([]string, error)
	// Instance returns the text of a destination: the same pointer as before
	// while it has not changed, nil when there is none. Of an error what was found
	// before stays in force.
	Instance(ctx context.Context, name string) (*config.Text, error)
}

// State is what a configuration asks for.
type State struct {
	// Instances are the destinations to run, by name. One whose newest
	// configuration is refused stands here as it was before, if it ever was.
	Instances map[string]*config.Instance
	// Refused says why the newest configuration of a destination is not in force.
	Refused map[string]string
	// Server says why the newest canal.properties is not in force, or why
	// nothing could be looked at; empty when all is well.
	Server string
	// Restart lists the keys of canal.properties that were changed and take a
	// restart of the node.
	Restart []string
}

// First is what a configuration asks for that was loaded whole.
func First(node *config.Node) State {
	all := make(map[string]*config.Instance, len(node.Instances))
	for i := range node.Instances {
		all[node.Instances[i].Name] = &node.Instances[i]
	}
	return State{Instances: all}
}

// Scanner remembers what it has seen, so that only what has changed is judged.
type Scanner struct {
	dir    string
	env    func(string) (string, bool)
	admin  bool
	source Source
	node   *config.Node // as it runs

	text   *config.Text // of server, or of the one that was refused
	server *config.Server
	state  State
	known  map[string]*known
}

// known is a destination.
type known struct {
	text     *config.Text // judged last; nil where there is none
	judged   bool
	files    config.Files     // that it names
	instance *config.Instance // in force
	refused  string
	missing  int // looks in a row that did not find it
}

// gone is how many looks in a row must miss a destination before it is taken for
// removed: editors and copies take files away for a moment.
const gone = 2

// New returns a scanner for a running node. Nothing is read yet.
func New(dir string, env func(string) (string, bool), source Source, node *config.Node) *Scanner {
	s := &Scanner{dir: dir, env: env, admin: node.Admin != nil, source: source, node: node, known: map[string]*known{}}
	for i := range node.Instances {
		s.known[node.Instances[i].Name] = &known{instance: &node.Instances[i]}
	}
	return s
}

// Look looks at the configuration once. What cannot be read changes nothing.
func (s *Scanner) Look(ctx context.Context) State {
	s.state.Server = ""
	text, err := s.source.Server(ctx)
	if err != nil { // all of it may be away: then nothing was removed
		s.state.Server = err.Error()
		return s.state
	}
	anew, err := s.judgeServer(text)
	if err != nil {
		s.state.Server = err.Error()
	}
	if s.server == nil {
		return s.state
	}
	if err := s.lookInstances(ctx, anew); err != nil && s.state.Server == "" {
		s.state.Server = err.Error()
	}
	return s.state
}

// judgeServer judges a canal.properties unless that was done before. anew reports
// whether another one is in force than before.
func (s *Scanner) judgeServer(text *config.Text) (anew bool, err error) {
	if text == s.text && s.server != nil && s.state.Server == "" && !s.server.Files.Changed() {
		return false, nil
	}
	server, err := config.NewServer(s.dir, s.env, text, s.admin)
	if err != nil {
		return false, fmt.Errorf("%s is refused, the one before stays in force: %w", config.ServerFile, err)
	}
	anew = text != s.text
	s.text, s.server = text, server
	s.state.Restart = s.node.Restart(server.Node)
	return anew, nil
}

func (s *Scanner) lookInstances(ctx context.Context, anew bool) error {
	found, err := s.source.Names(ctx)
	if err != nil {
		return err
	}
	odd := map[string]string{}
	found = slices.DeleteFunc(found, func(name string) bool {
		err := config.CheckName(name)
		if err != nil {
			odd[name] = err.Error() + ": give it another one"
		}
		return err != nil
	})
	names, err := s.server.Names(found, true)
	if err != nil {
		return err
	}
	for _, name := range names {
		k := s.known[name]
		if k == nil {
			k = &known{}
			s.known[name] = k
		}
		text, err := s.source.Instance(ctx, name)
		switch {
		case errors.Is(err, errFresh): // the next look tells
			k.missing = 0
		case err != nil:
			k.refused = err.Error() // what is in force stays
			k.judged = false
			k.missing = 0
		case text == nil && (slices.Contains(found, name) || k.text != nil):
			k.missing++
		default:
			k.missing = 0
			s.judge(k, name, text, anew)
		}
	}
	for name, k := range s.known {
		if !slices.Contains(names, name) {
			k.missing++
		}
		if k.missing >= gone || k.missing > 0 && k.instance == nil {
			delete(s.known, name)
		}
	}
	s.collect()
	maps.Copy(s.state.Refused, odd)
	return nil
}

// judge judges a text unless that was done before.
func (s *Scanner) judge(k *known, name string, text *config.Text, anew bool) {
	if k.judged && k.text == text && !anew && !k.files.Changed() {
		return
	}
	k.text, k.judged, k.refused = text, true, ""
	instance, files, err := s.server.Instance(s.node, name, text)
	k.files = files
	switch {
	case err != nil:
		k.refused = err.Error()
	case instance == nil: // named, and without a directory: not run
		k.instance = nil
	case k.instance == nil || !k.instance.Same(instance) || k.instance.Lazy != instance.Lazy:
		k.instance = instance
	}
}

func (s *Scanner) collect() {
	s.state.Instances, s.state.Refused = map[string]*config.Instance{}, map[string]string{}
	for name, k := range s.known {
		if k.instance != nil {
			s.state.Instances[name] = k.instance
		}
		if k.refused != "" {
			s.state.Refused[name] = k.refused
		}
	}
}
