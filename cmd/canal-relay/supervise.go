package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/ha"
)

// supervisor owns the destinations of this node: it starts, reloads and stops
// each as the configuration asks, without touching the others. (A release comes
// through ZooKeeper, to the destination's Monitor.)
type supervisor struct {
	build  func(*config.Instance) (*destination, error) // one that does not run yet
	reload func(*destination, *config.Instance) error   // an error leaves it as it was
	forget func(name string)
	log    *slog.Logger

	running sync.WaitGroup
	stuck   chan error // a term that may still write: the process must end

	mu      sync.Mutex // covers what follows
	all     map[string]*destination
	ended   map[string]<-chan struct{} // of the destination that had the name before; closed when it has ended
	refused map[string]string          // why the newest configuration is not in force, by destination
	server  string                     // the same of canal.properties
	restart []string                   // changed keys that take a restart
}

func newSupervisor(log *slog.Logger) *supervisor {
	return &supervisor{log: log, stuck: make(chan error, 1), all: map[string]*destination{}, ended: map[string]<-chan struct{}{}}
}

// apply makes the destinations what a configuration asks for. What is so already
// is left alone. The error is of destinations that could not be built.
func (s *supervisor) apply(ctx context.Context, want scan.State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(want)
	if want.Instances == nil || ctx.Err() != nil {
		return nil
	}
	for name := range s.all {
		if want.Instances[name] == nil {
			s.stop(name)
		}
	}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(want.Instances)) {
		if err := s.follow(ctx, want.Instances[name]); err != nil {
			s.refused[name] = err.Error()
			failed = append(failed, fmt.Errorf("destination %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// follow makes one destination what its configuration asks for.
func (s *supervisor) follow(ctx context.Context, i *config.Instance) error {
	d := s.all[i.Name]
	switch {
	case d == nil:
		return s.start(ctx, i)
	case d.instance.Lazy != i.Lazy:
		s.stop(i.Name)
		return s.start(ctx, i)
	case d.instance.Same(i):
		return nil
	case i.Lazy:
		d.instance = i
		return nil
	}
	if err := s.reload(d, i); err != nil {
		return err
	}
	d.instance = i
	s.log.Info("destination is reloaded", "destination", i.Name)
	return nil
}

// start runs a destination, after the one that had its name before has ended.
func (s *supervisor) start(ctx context.Context, i *config.Instance) error {
	d, err := s.build(i)
	if err != nil {
		return err
	}
	before, ended := s.ended[i.Name], make(chan struct{})
	s.ended[i.Name] = ended
	s.all[i.Name] = d
	ctx, d.cancel = context.WithCancelCause(ctx)
	s.log.Info("destination is started", "destination", i.Name, "lazy", i.Lazy)
	s.running.Go(func() {
		defer close(ended)
		if before != nil {
			<-before
		}
		switch err := d.run(ctx); {
		case errors.Is(err, ha.ErrExitTimeout):
			var running strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&running, 1) // to memory
			s.log.Error("this still runs", "destination", i.Name, "goroutines", running.String())
			select {
			case s.stuck <- fmt.Errorf("destination %s: %w", i.Name, err):
			default: // one is enough to end the process
			}
		case err != nil:
			s.log.Error("destination is not watched any more", "destination", i.Name, "error", err)
		}
		s.leave(i.Name)
	})
	return nil
}

// stop ends a destination that was removed. It does not wait.
func (s *supervisor) stop(name string) {
	s.log.Info("destination is stopped", "destination", name)
	s.all[name].cancel(ha.ErrRemoved)
	delete(s.all, name)
}

// leave forgets what was counted of a destination that is not configured any more.
func (s *supervisor) leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == nil {
		s.forget(name)
	}
}

// note takes, and says once, what is not in force.
func (s *supervisor) note(want scan.State) {
	if want.Server != "" && want.Server != s.server {
		s.log.Error("configuration cannot be followed: what runs goes on", "error", want.Server)
	}
	for name, why := range want.Refused {
		if s.refused[name] != why {
			s.log.Error("configuration of a destination is refused: what runs goes on", "destination", name, "error", why)
		}
	}
	if len(want.Restart) > 0 && !slices.Equal(want.Restart, s.restart) {
		s.log.Warn("configuration was changed in what takes a restart of the node", "keys", strings.Join(want.Restart, ", "))
	}
	s.server, s.refused, s.restart = want.Server, maps.Clone(want.Refused), want.Restart
	if s.refused == nil {
		s.refused = map[string]string{}
	}
}

// watch looks at the configuration every so often until the context ends.
func (s *supervisor) watch(ctx context.Context, scanner *scan.Scanner, every time.Duration) {
	for ctx.Err() == nil {
		state := scanner.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err := s.apply(ctx, state); err != nil {
			s.log.Error("destinations cannot be run", "error", err)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
}

// each calls f for every destination that is known here, by name.
func (s *supervisor) each(f func(name string, d *destination, refused string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Collect(maps.Keys(s.all))
	for name := range s.refused {
		if s.all[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		why := s.refused[name]
		if d := s.all[name]; why == "" && d != nil && d.monitor != nil {
			why = d.monitor.Refused()
		}
		if why == "" && s.server != "" {
			why = s.server
		}
		f(name, s.all[name], why)
	}
}
