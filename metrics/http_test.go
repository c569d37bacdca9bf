package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func get(h http.Handler, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestProbes(t *testing.T) {
	m := New()
	h := m.Handler(nil)
	for _, path := range []string{"/healthz", "/readyz"} {
		if w := get(h, path); w.Code != 200 || w.Body.String() != "ok\n" {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	m.Ready = func() error { return errors.New("the ZooKeeper session is down") }
	if w := get(h, "/readyz"); w.Code != 503 || !strings.Contains(w.Body.String(), "session is down") {
		t.Errorf("not ready: %d %q", w.Code, w.Body)
	}
	if w := get(h, "/healthz"); w.Code != 200 {
		t.Errorf("a node that is not ready yet is not alive: %d", w.Code)
	}
	if w := get(h, "/nothing"); w.Code != 404 {
		t.Errorf("unknown page: %d", w.Code)
	}
}

func TestBasicAuth(t *testing.T) {
	m := New()
	m.User, m.Password = "ops", "s3cret"
	h := m.Handler(nil)
	for _, tc := range []struct {
		path, user, password string
		want                 int
	}{
		{"/metrics", "", "", 401}, {"/status", "ops", "wrong", 401}, {"/", "other", "s3cret", 401},
		{"/metrics", "ops", "s3cret", 200}, {"/status", "ops", "s3cret", 200}, {"/", "ops", "s3cret", 200},
		{"/healthz", "", "", 200}, {"/readyz", "", "", 200},
	} {
		w := get(h, tc.path, func(r *http.Request) {
			if tc.user != "" {
				r.SetBasicAuth(tc.user, tc.password)
			}
		})
		if w.Code != tc.want {
			t.Errorf("%s as %q: %d, want %d", tc.path, tc.user, w.Code, tc.want)
		}
		if strings.Contains(w.Body.String(), "s3cret") {
			t.Errorf("%s shows the password", tc.path)
		}
	}
}

// TestNothingCanBeDoneOverHTTP is the field case SE-03: there is no endpoint that
// stops, resets or changes anything, with credentials or without, and where they
// are asked for nothing but the probes is served without them.
func TestNothingCanBeDoneOverHTTP(t *testing.T) {
	paths := []string{"/", "/status", "/metrics", "/healthz", "/readyz", "/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/cmdline", "/debug/pprof/heap",
		"/stop", "/start", "/release", "/reload", "/pause", "/api/v1/config", "/-/quit", "/-/reload"}
	for _, user := range []string{"", "ops"} {
		m := New()
		if m.Pprof = true; user != "" {
			m.User, m.Password = user, "s3cret"
		}
		h := m.Handler(states)
		for _, path := range paths {
			for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "CONNECT", "GET"} {
				for _, password := range []string{"", "admin", "s3cret"} {
					w := get(h, path, func(r *http.Request) {
						r.Method, r.RemoteAddr = method, "192.0.2.1:5"
						if password != "" {
							r.SetBasicAuth("ops", password)
						}
					})
					probe := path == "/healthz" || path == "/readyz"
					page := probe || path == "/" || path == "/status" || path == "/metrics"
					if served := w.Code < 300; served != (method == "GET" && page && (probe || user == "" || password == "s3cret")) {
						t.Errorf("%s %s, password %q of %q: %d", method, path, password, user, w.Code)
					}
				}
			}
		}
	}
}

func TestPprof(t *testing.T) {
	m := New()
	if w := get(m.Handler(nil), "/debug/pprof/"); w.Code != 404 {
		t.Errorf("off: %d", w.Code)
	}
	m.Pprof = true
	h := m.Handler(nil)
	from := func(addr string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = addr } }
	for addr, want := range map[string]int{"127.0.0.1:5": 200, "[::1]:5": 200, "[::ffff:127.0.0.1]:5": 200, "192.0.2.1:5": 403} {
		if w := get(h, "/debug/pprof/", from(addr)); w.Code != want {
			t.Errorf("from %s: %d, want %d", addr, w.Code, want)
		}
	}
}

func states() []Status {
	return []Status{
		{Destination: "bench", State: Active, Since: time.Now().Add(-time.Hour), Owner: "192.0.2.7:11111", Position: "binlog.000003:1234",
			LastError: "reset by peer", LastErrorAt: time.Now().Add(-3 * time.Minute)},
		{Destination: "shop", State: Failed, Reason: `column <b>"x"</b>`},
	}
}

func TestStatus(t *testing.T) {
	m := New()
	m.Version = "1.2.3"
	work(m)
	w := get(m.Handler(states), "/status")
	var got struct {
		Version      string
		Destinations []Status
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Destinations) != 2 {
		t.Fatalf("%v: %s", err, w.Body)
	}
	d := got.Destinations[0]
	if got.Version != "1.2.3" || d.Rows != 10 || d.InFlightBytes != 400 || d.Unusual["reconnect"] != 2 || d.LagSeconds <= 0 || d.Terms != 1 {
		t.Errorf("%+v", got)
	}
	if w := get(New().Handler(nil), "/status"); !strings.Contains(w.Body.String(), `"destinations":[]`) {
		t.Errorf("without destinations: %s", w.Body)
	}
}

func TestPage(t *testing.T) {
	m := New()
	work(m)
	w := get(m.Handler(states), "/")
	body := w.Body.String()
	for _, want := range []string{"bench", "active", "60 min ago", "binlog.000003:1234", "192.0.2.7:11111", "Last error, 3 min ago: reset by peer",
		"failed", `column &lt;b&gt;&#34;x&#34;&lt;/b&gt;`, `http-equiv="refresh"`, "width=device-width", "</html>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "<script") {
		t.Error("the page has a script")
	}
	if w := get(New().Handler(nil), "/"); !strings.Contains(w.Body.String(), "No destination is configured") {
		t.Errorf("without destinations: %s", w.Body)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	m := New()

	// A port in use ends Serve at once, with the port and the key in the message.
	err = m.Serve(t.Context(), addr, nil)
	if err == nil || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "canal.metrics.pull.port") {
		t.Fatalf("port in use: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.serve(ctx, listener, nil) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "ok\n" {
		t.Errorf("%q, %v", body, err)
	}
	resp.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestServeOff(t *testing.T) {
	for _, addr := range []string{"", ":0", ":-1", "127.0.0.1:-5"} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- New().Serve(ctx, addr, nil) }()
		select {
		case err := <-ended:
			t.Errorf("%q: ended with %v", addr, err)
		default:
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

func TestShort(t *testing.T) {
	for seconds, want := range map[float64]string{0.4: "0 s", 1: "1 s", 119: "119 s", 600: "10 min", 7200: "2.0 h", 172800: "2 days"} {
		if got := short(seconds); got != want {
			t.Errorf("%v = %s, want %s", seconds, got, want)
		}
	}
}
