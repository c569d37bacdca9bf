package metrics

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Serve answers HTTP on addr (host:port) until the context ends: /metrics, / for
// people, /status, /healthz, /readyz. A port of 0 or less, or an empty addr,
// means off: it then only waits. An error, a port in use say, is no reason to
// end the node, which works without its page: warn and go on. status may be nil.
func (m *Metrics) Serve(ctx context.Context, addr string, status func() []Status) error {
	if off(addr) {
		<-ctx.Done()
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("serve metrics and status page on %s (set another canal.metrics.pull.port, or 0 for none): %w", addr, err)
	}
	return m.serve(ctx, listener, status)
}

func (m *Metrics) serve(ctx context.Context, listener net.Listener, status func() []Status) error {
	server := &http.Server{
		Handler:           m.Handler(status),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve metrics and status page: %w", err)
	case <-ctx.Done():
	}
	// Answers take milliseconds: whoever is still connected after a second is
	// cut off rather than waited for.
	stop, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(stop) != nil {
		_ = server.Close() // what it says, Serve has said
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics and status page: %w", err)
	}
	return nil
}

func off(addr string) bool {
	if addr == "" {
		return true
	}
	_, port, err := net.SplitHostPort(addr)
	n, numErr := strconv.Atoi(port)
	return err == nil && numErr == nil && n <= 0
}

// Handler gives the pages that Serve serves.
func (m *Metrics) Handler(status func() []Status) http.Handler {
	m.mu.Lock()
	m.status = status
	m.mu.Unlock()
	private := http.NewServeMux()
	private.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		// One bad series must not hide the others. OpenMetrics stays off: it
		// would add _total to Canal's counters.
		ErrorHandling: promhttp.ContinueOnError,
	}))
	private.HandleFunc("GET /status", m.serveStatus)
	private.HandleFunc("GET /{$}", m.servePage)
	if m.Pprof {
		private.HandleFunc("/debug/pprof/", loopbackOnly(pprof.Index))
		private.HandleFunc("/debug/pprof/profile", loopbackOnly(pprof.Profile))
		private.HandleFunc("/debug/pprof/trace", loopbackOnly(pprof.Trace))
		private.HandleFunc("/debug/pprof/symbol", loopbackOnly(pprof.Symbol))
	}
	public := http.NewServeMux()
	public.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	public.HandleFunc("GET /readyz", m.serveReady)
	public.Handle("/", m.authenticate(private))
	return public
}

func (m *Metrics) serveReady(w http.ResponseWriter, _ *http.Request) {
	if m.Ready != nil {
		if err := m.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// authenticate asks for User and Password where they are set. Hashes are
// compared, so that the time taken tells nothing, not even a length.
func (m *Metrics) authenticate(next http.Handler) http.Handler {
	if m.User == "" && m.Password == "" {
		return next
	}
	want := sha256.Sum256([]byte(m.User + "\x00" + m.Password))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		got := sha256.Sum256([]byte(user + "\x00" + password))
		if !ok || subtle.ConstantTimeCompare(want[:], got[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="canal-relay", charset="UTF-8"`)
			http.Error(w, "name and password wanted", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopbackOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !from.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are served to the loopback interface only", http.StatusForbidden)
			return
		}
		next(w, r)
	}
}

// report joins what the caller of Serve tells with what was counted.
func (m *Metrics) report() []Status {
	list, states := m.known()
	states = slices.Clone(states)
	for i := range states {
		for _, d := range list {
			if d.name == states[i].Destination {
				states[i].Figures = d.figures()
			}
		}
	}
	return states
}

func (d *Destination) figures() Figures {
	f := Figures{
		LagSeconds:    d.Lag().Seconds(),
		RowsPerSecond: d.Rate(),
		Terms:         d.terms.Load(),
		LastRead:      clock(d.lastRead.Load()),
		LastAcked:     clock(d.lastAck.Load()),
		LastSaved:     clock(d.lastSave.Load()),
	}
	if t := d.now(); t != nil {
		f.Rows = t.acked.rows.Load()
		acked := t.acked.bytes.Load()
		f.InFlightBytes = max(0, t.put.bytes.Load()-acked)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f.PositionTime = d.savedAt
	f.Unusual = maps.Clone(d.unusual)
	return f
}

func clock(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

func (m *Metrics) serveStatus(w http.ResponseWriter, _ *http.Request) {
	list := m.report()
	if list == nil {
		list = []Status{}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // an error means that the client has gone
		Version      string   `json:"version"`
		Destinations []Status `json:"destinations"`
	}{m.Version, list})
}

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"ago": ago, "short": short}).Parse(pageText))

func (m *Metrics) servePage(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	err := page.Execute(&text, struct {
		Version string
		List    []Status
		Now     time.Time
	}{m.Version, m.report(), time.Now()})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = text.WriteTo(w) // an error means that the client has gone
}

// ago tells how long ago t was, in the largest unit that fits.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return short(now.Sub(t).Seconds()) + " ago"
}

// short writes seconds for people.
func short(seconds float64) string {
	switch {
	case seconds < 1:
		return "0 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 172800:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", seconds/86400)
}
