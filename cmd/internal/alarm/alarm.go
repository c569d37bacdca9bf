package alarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

const (
	waiting = 256 // changes that may wait while the receiver is slow
	timeout = 5 * time.Second
	tries   = 4
	pause   = time.Second // before the second try; twice as long before each further one
)

// Change is the body of a call, in JSON.
type Change struct {
	Node        string    `json:"node"` // ip:port
	Cluster     string    `json:"cluster"`
	Destination string    `json:"destination"`
	State       string    `json:"state"`            // standby, active, failed or stopped
	Reason      string    `json:"reason,omitempty"` // of failed: the error
	Time        time.Time `json:"time"`
}

// Alarm calls a webhook with each change, in order, one at a time. The address
// may hold a secret, and is in no log.
type Alarm struct {
	address string
	client  http.Client
	queue   chan Change
	log     *slog.Logger
}

// New returns an Alarm for a URL. It does no I/O.
func New(address string, l *slog.Logger) *Alarm {
	return &Alarm{address: address, client: http.Client{Timeout: timeout}, queue: make(chan Change, waiting), log: l}
}

// Tell queues a change. It never waits: a change too many is logged and dropped.
func (a *Alarm) Tell(c Change) {
	select {
	case a.queue <- c:
	default:
		a.log.Warn("too many changes wait for the alarm webhook, one was dropped", "destination", c.Destination, "state", c.State)
	}
}

// Run calls until the context ends, and then once more for each change that
// waits, for as long as one call may take.
func (a *Alarm) Run(ctx context.Context) {
	defer a.client.CloseIdleConnections()
	for {
		select {
		case c := <-a.queue:
			a.deliver(ctx, c)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
			defer cancel()
			for len(a.queue) > 0 && last.Err() == nil {
				if err := a.call(last, <-a.queue); err != nil {
					a.log.Warn("the alarm webhook was not told", "error", err)
				}
			}
			return
		}
	}
}

// deliver calls until it is heard, a few times.
func (a *Alarm) deliver(ctx context.Context, c Change) {
	for n := range tries {
		err := a.call(ctx, c)
		if err == nil {
			return
		}
		if ctx.Err() != nil { // once more without it
			a.Tell(c)
			return
		}
		if n == tries-1 {
			a.log.Warn("the alarm webhook was not told", "destination", c.Destination, "state", c.State, "error", err)
			return
		}
		select {
		case <-time.After(pause << n):
		case <-ctx.Done():
		}
	}
}

func (a *Alarm) call(ctx context.Context, c Change) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address, bytes.NewReader(body))
	if err != nil {
		return errors.New("canal.relay.alarm.webhook is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(request)
	if err != nil {
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = inner.Err // without the address
		}
		return fmt.Errorf("call: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be used again
	if response.StatusCode >= 300 {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
