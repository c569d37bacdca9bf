// Package admin reads a configuration from Canal Admin over its HTTP calls.
package admin

import (
	"context"
	"crypto/md5" //nolint:gosec // it is how the two compare texts, not a secret
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/properties"
)

const (
	timeout = 5 * time.Second // of one call, as Canal's
	maxBody = 16 << 20        // bytes of an answer
	success = 20000           // code of an answer; everything else is a failure
)

// ErrUnknown says that Canal Admin does not know this node.
var ErrUnknown = errors.New("Canal Admin does not know this node") //nolint:staticcheck // a name begins it

// Client is Canal Admin as a source of texts. Its methods are called one at a
// time. What it answers with a failure, or not at all, changes nothing.
type Client struct {
	config config.Admin
	local  func(context.Context) (*config.Text, error)
	http   *http.Client

	server    held
	instances map[string]*held
}

// held is a text that was received.
type held struct {
	md5  string // of its content; empty for none yet
	body []byte // in the form of a properties file
	text *config.Text
}

// New returns a client that asks nothing yet. local is the canal.properties
// beside the node, whose keys outdo those of Canal Admin.
func New(c config.Admin, local func(context.Context) (*config.Text, error)) *Client {
	return &Client{
		config: c, local: local, instances: map[string]*held{},
		// What identifies the node must not go to where an answer points.
		http: &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// answer is what Canal Admin answers, as far as Canal looks at it.
type answer struct {
	Code    int     `json:"code"`
	Message *string `json:"message"`
	Data    *struct {
		Content *string `json:"content"`
	} `json:"data"`
}

// Server returns canal.properties. The first call has the node registered, if
// that is configured.
func (c *Client) Server(ctx context.Context) (*config.Text, error) {
	top, err := c.local(ctx)
	if err != nil {
		return nil, err
	}
	register := "0"
	q := c.node()
	q.Set("md5", c.server.md5)
	if c.config.Register {
		register = "1"
		q.Set("cluster", c.config.Cluster)
		q.Set("name", c.config.Name)
	} else {
		q.Set("cluster", "")
		q.Set("name", "")
	}
	q.Set("register", register)
	a, err := c.ask(ctx, "/api/v1/config/server_polling?"+q.Encode())
	if err != nil {
		return nil, err
	}
	changed := c.server.take(a)
	if c.server.md5 == "" {
		return nil, fmt.Errorf("%w, %s with admin port %d: add it in its console, or set canal.admin.register.auto=true", ErrUnknown, c.config.IP, c.config.Port)
	}
	if changed || c.server.text.Top != top {
		c.server.text = &config.Text{Content: c.server.body, Top: top, From: config.FromAdmin + config.ServerFile}
	}
	return c.server.text, nil
}

// Names lists the destinations that are to run on this node. None at all is
// believed only when it comes as an empty text: a node that Canal Admin has
// forgotten gets ErrUnknown.
func (c *Client) Names(ctx context.Context) ([]string, error) {
	q := c.node()
	q.Set("md5", "")
	a, err := c.ask(ctx, "/api/v1/config/instances_polling?"+q.Encode())
	if err != nil {
		return nil, err
	}
	if a.Data == nil || a.Data.Content == nil {
		return nil, fmt.Errorf("list destinations: %w any more, %s with admin port %d: what runs goes on", ErrUnknown, c.config.IP, c.config.Port)
	}
	names := properties.List(*a.Data.Content, ",")
	listed := make(map[string]*held, len(names))
	for _, name := range names {
		listed[name] = c.instances[name]
		if listed[name] == nil {
			listed[name] = &held{}
		}
	}
	c.instances = listed
	return names, nil
}

// Instance returns the instance.properties of a destination.
func (c *Client) Instance(ctx context.Context, name string) (*config.Text, error) {
	h := c.instances[name]
	if h == nil {
		h = &held{}
		c.instances[name] = h
	}
	a, err := c.ask(ctx, "/api/v1/config/instance_polling/"+url.PathEscape(name)+"?md5="+h.md5)
	if err != nil {
		return nil, err
	}
	if h.take(a) {
		h.text = &config.Text{Content: h.body, From: config.FromAdmin + name}
	}
	if h.md5 == "" {
		return nil, fmt.Errorf("Canal Admin lists destination %s and has no configuration for it: write one in its console", name) //nolint:staticcheck // a name begins it
	}
	return h.text, nil
}

// take takes what an answer brings. Nothing, null and an empty text all say that
// there is nothing new.
func (h *held) take(a *answer) (changed bool) {
	if a.Data == nil || a.Data.Content == nil || *a.Data.Content == "" {
		return false
	}
	content := *a.Data.Content
	sum := md5.Sum([]byte(content)) //nolint:gosec // see the import
	h.md5, h.body = hex.EncodeToString(sum[:]), properties.Escape(content)
	return true
}

func (c *Client) node() url.Values {
	return url.Values{"ip": {c.config.IP}, "port": {strconv.Itoa(c.config.Port)}}
}

// ask makes one call.
func (c *Client) ask(ctx context.Context, path string) (*answer, error) {
	call, _, _ := strings.Cut(path, "?")
	a, err := c.call(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("ask Canal Admin at %s for %s: %w", c.config.URL, call, err)
	}
	return a, nil
}

func (c *Client) call(ctx context.Context, path string) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.URL+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("user", c.config.User)
	req.Header.Set("passwd", c.config.Password.Reveal())
	resp, err := c.http.Do(req)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) { // it would show the whole address again
			err = e.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered with HTTP status %s", resp.Status)
	case len(body) > maxBody:
		return nil, fmt.Errorf("its answer has more than %d MiB", maxBody>>20)
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("its answer is not one of Canal Admin's: %w", err)
	}
	if a.Code != success {
		message := "no message"
		if a.Message != nil {
			message = *a.Message
		}
		return nil, fmt.Errorf("it refuses with code %d: %s", a.Code, message)
	}
	return &a, nil
}
