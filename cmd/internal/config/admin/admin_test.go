package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
)

// exchange is one that a real Canal Admin 1.1.8 had.
type exchange struct {
	Note    string            `json:"note"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Status  int               `json:"status"`
	Body    string            `json:"body"`
}

func exchanges(t *testing.T) (all []exchange) {
	f, err := os.Open("testdata/canal-admin.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// standIn answers with an exchange, which must have been asked for in the same way.
type standIn struct {
	*testing.T
	*httptest.Server
	next  exchange
	asked []string
}

func newStandIn(t *testing.T) *standIn {
	s := &standIn{T: t}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.URL.RequestURI())
	want, err := url.Parse(s.next.Path)
	if err != nil {
		s.Error(err)
	}
	if s.next.Path != "" && (r.Method != http.MethodGet || r.URL.Path != want.Path || r.URL.Query().Encode() != want.Query().Encode()) {
		s.Errorf("%s: asked %s, want %s", s.next.Note, r.URL, want)
	}
	for name, value := range s.next.Headers {
		if r.Header.Get(name) != value {
			s.Errorf("%s: header %s is %q, want %q", s.next.Note, name, r.Header.Get(name), value)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.next.Status)
	fmt.Fprint(w, s.next.Body)
}

// content is what an exchange brings.
func (e exchange) content(t *testing.T) string {
	var a answer
	if err := json.Unmarshal([]byte(e.Body), &a); err != nil {
		t.Fatal(err)
	}
	if a.Data == nil || a.Data.Content == nil {
		return ""
	}
	return *a.Data.Content
}

func local(text string) func(context.Context) (*config.Text, error) {
	t := &config.Text{Content: []byte(text)}
	return func(context.Context) (*config.Text, error) { return t, nil }
}

// Every recorded exchange is asked for as Canal does, and its answer understood.
func TestRecordedExchanges(t *testing.T) {
	s := newStandIn(t)
	for _, e := range exchanges(t) {
		if e.Headers["user"] == "" {
			continue // we always send them
		}
		u, err := url.Parse(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		c := New(config.Admin{URL: s.URL, User: e.Headers["user"], Password: config.Secret(e.Headers["passwd"]), IP: "127.0.0.1", Register: q.Get("register") == "1",
			Cluster: q.Get("cluster"), Name: q.Get("name")}, local(""))
		if _, err := fmt.Sscan(q.Get("port"), &c.config.Port); err != nil && q.Has("port") {
			t.Fatal(err)
		}
		s.next = e
		refused := strings.Contains(e.Body, `"code":50000`)
		before := &config.Text{}
		var got string
		switch u.Path {
		case "/api/v1/config/server_polling":
			c.server = held{md5: q.Get("md5"), text: before}
			var text *config.Text
			if text, err = c.Server(t.Context()); text != nil {
				got = string(text.Content)
			}
			if unknown := strings.Contains(e.Note, "unknown server"); unknown != errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %v", e.Note, err)
			}
		case "/api/v1/config/instances_polling":
			var names []string
			names, err = c.Names(t.Context())
			got = strings.Join(names, ",")
		default:
			name := strings.TrimPrefix(u.Path, "/api/v1/config/instance_polling/")
			c.instances[name] = &held{md5: q.Get("md5"), text: before}
			var text *config.Text
			if text, err = c.Instance(t.Context(), name); text != nil {
				got = string(text.Content)
			}
			refused = refused || e.Note == "unknown instance"
		}
		switch {
		case refused:
			if err == nil || strings.Contains(err.Error(), e.Headers["passwd"]) {
				t.Errorf("%s: %v", e.Note, err)
			}
		case got != e.content(t):
			t.Errorf("%s: got %q (%v), want %q", e.Note, got, err, e.content(t))
		}
		t.Logf("%s: %v", e.Note, err)
	}
	if len(s.asked) < 15 {
		t.Errorf("only %d exchanges", len(s.asked))
	}
}

// ok answers with a content, null without one.
func ok(content ...string) exchange {
	data := "null"
	if len(content) > 0 {
		text, _ := json.Marshal(content[0])
		data = fmt.Sprintf(`{"content":%s}`, text)
	}
	return exchange{Status: 200, Body: `{"code":20000,"message":null,"data":` + data + `}`}
}

// While nothing has changed, the same text is returned; the keys of the local
// file outdo those of Canal Admin, and text beyond ASCII is read as UTF-8.
func TestUnchanged(t *testing.T) {
	s := newStandIn(t)
	c := New(config.Admin{URL: s.URL, Port: 11110}, local("canal.port = 1\n"))
	s.next = ok("canal.port = 2\nkafka.acks = é")
	first, err := c.Server(t.Context())
	if err != nil || string(first.Content) != "canal.port = 2\nkafka.acks = \\u00e9" || first.Top == nil {
		t.Fatalf("%+v, %v", first, err)
	}
	s.next = ok()
	if again, err := c.Server(t.Context()); again != first || err != nil {
		t.Errorf("unchanged, and another one: %v", err)
	}
	if md5 := "md5=" + c.server.md5; len(c.server.md5) != 32 || !strings.Contains(s.asked[1], md5) {
		t.Errorf("asked %s, want %s in it", s.asked[1], md5)
	}
	s.next = ok("a = 1")
	shop, err := c.Instance(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	s.next = exchange{Status: 200, Body: `{"code":20000,"data":{"content":null,"contentMd5":"x"}}`}
	if again, err := c.Instance(t.Context(), "shop"); again != shop || err != nil {
		t.Errorf("unchanged, and another one: %v", err)
	}
}

// However it fails, a failure is an error, and never a list without names.
func TestFailures(t *testing.T) {
	s := newStandIn(t)
	c := New(config.Admin{URL: s.URL, User: "admin", Password: "hush", Port: 11110}, local(""))
	s.next = ok("shop,crm")
	if names, err := c.Names(t.Context()); err != nil || !slices.Equal(names, []string{"shop", "crm"}) {
		t.Fatal(names, err)
	}
	for name, e := range map[string]exchange{
		"unknown":       ok(),
		"null":          {Status: 200, Body: `{"code":20000,"data":{"content":null}}`},
		"refused":       {Status: 200, Body: `{"code":50014,"message":"token","data":null}`},
		"empty":         {Status: 200},
		"html":          {Status: 200, Body: "<html>"},
		"gateway":       {Status: 502, Body: `{"code":20000,"data":{"content":""}}`},
		"without code":  {Status: 200, Body: `{"data":{"content":""}}`},
		"redirect":      {Status: 302},
		"another shape": {Status: 200, Body: `{"code":20000,"data":[]}`},
		"too much":      {Status: 200, Body: `"` + strings.Repeat("x", maxBody) + `"`},
	} {
		s.next = e
		if names, err := c.Names(t.Context()); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %q, %v", name, names, err)
		}
		if text, err := c.Server(t.Context()); err == nil {
			t.Errorf("%s: %q", name, text.Content)
		}
	}
	s.next = ok("")
	if names, err := c.Names(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("none on purpose: %q, %v", names, err)
	}
	s.Close()
	if _, err := c.Names(t.Context()); err == nil || !strings.Contains(err.Error(), "ask Canal Admin at "+s.URL+" for /api/v1/config/instances_polling") {
		t.Errorf("away: %v", err)
	}
}
