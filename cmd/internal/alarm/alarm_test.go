package alarm

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDelivered: also what the receiver refused at first, in order.
func TestDelivered(t *testing.T) {
	heard := make(chan Change, 10)
	refusals := 1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c Change
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		if refusals > 0 {
			refusals--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		heard <- c
	}))
	defer server.Close()
	a := New(server.URL+"/hook?token=s3cret", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { a.Run(ctx); close(ended) }()
	for _, state := range []string{"active", "failed"} {
		a.Tell(Change{Node: "10.0.0.1:11111", Destination: "example", State: state, Reason: "why", Time: time.Unix(1700000000, 0)})
	}
	for _, state := range []string{"active", "failed"} {
		if c := <-heard; c.State != state || c.Destination != "example" || c.Reason != "why" || c.Node != "10.0.0.1:11111" {
			t.Errorf("heard %+v", c)
		}
	}
	// What waits at the end is told still.
	cancel()
	<-ended
	a.Tell(Change{State: "stopped"})
	a.Run(ctx)
	close(heard)
	last := ""
	for c := range heard { // what was under way is told again
		last = c.State
	}
	if last != "stopped" {
		t.Errorf("heard %s last", last)
	}
}

// TestSecretAddress: the log of a webhook that is away does not show its address.
func TestSecretAddress(t *testing.T) {
	var log bytes.Buffer
	a := New("http://127.0.0.1:1/hook-s3cret", slog.New(slog.NewTextHandler(&log, nil)))
	a.Tell(Change{State: "failed"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Run(ctx)
	if text := log.String(); !strings.Contains(text, "not told") || strings.Contains(text, "s3cret") {
		t.Errorf("log: %s", text)
	}
}
