package metrics

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics owns all series of the process and the HTTP port that shows them.
// Set the exported fields before Serve.
type Metrics struct {
	// Version is shown as canal_relay_build_info.
	Version string
	// User and Password, when set, are asked for on every page but /healthz and
	// /readyz (HTTP basic authentication).
	User, Password string
	// Pprof serves /debug/pprof/ to clients on the loopback interface.
	Pprof bool
	// Ready tells why the node is not ready, nil when it is. A nil func means
	// always ready.
	Ready func() error

	registry *prometheus.Registry

	mu           sync.Mutex // covers the two below
	destinations map[string]*Destination
	status       func() []Status // set by Serve and Handler
}

// New makes an empty set of series with a registry of its own.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), destinations: map[string]*Destination{}}
	m.registry.MustRegister(
		m,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Destination gives the series of a destination, made at the first call. They
// are shown until Forget.
func (m *Metrics) Destination(name string) *Destination {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.destinations[name]
	if !ok {
		d = &Destination{name: name, unusual: map[string]uint64{}}
		m.destinations[name] = d
	}
	return d
}

// Forget removes all series of a destination.
func (m *Metrics) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.destinations, name)
}

// known lists the destinations by name, and the states that the node tells of.
func (m *Metrics) known() ([]*Destination, []Status) {
	m.mu.Lock()
	status := m.status
	list := slices.SortedFunc(maps.Values(m.destinations), func(a, b *Destination) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	m.mu.Unlock()
	if status == nil {
		return list, nil
	}
	return list, status()
}
