package scan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// console is a Canal Admin with one server and its destinations.
type console struct {
	mu        sync.Mutex
	unknown   bool
	broken    bool
	server    string
	instances map[string]string
	asked     []string
}

func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.URL.RequestURI())
	if c.broken {
		fmt.Fprint(w, `{"code":50000,"message":"database is away","data":null}`)
		return
	}
	var content *string
	switch name := strings.TrimPrefix(r.URL.Path, "/api/v1/config/"); name {
	case "server_polling":
		content = &c.server
	case "instances_polling":
		var names []string
		for name := range c.instances {
			names = append(names, name)
		}
		text := strings.Join(names, ",")
		content = &text
	default:
		if text, known := c.instances[strings.TrimPrefix(name, "instance_polling/")]; known {
			content = &text
		}
	}
	text, _ := json.Marshal(content)
	if c.unknown || content == nil {
		fmt.Fprint(w, `{"code":20000,"message":null,"data":null}`)
		return
	}
	fmt.Fprintf(w, `{"code":20000,"message":null,"data":{"content":%s}}`, text)
}

// TestAdmin follows Canal Admin, and its failures stop nothing.
func TestAdmin(t *testing.T) {
	c := &console{server: "canal.serverMode = kafka\ncanal.auto.scan = true\nkafka.bootstrap.servers = k:9092\ncanal.relay.memory = 8MiB\n",
		instances: map[string]string{"shop": instanceText + "canal.relay.memory = 4MiB\n", "crm": instanceText}}
	s := httptest.NewServer(c)
	defer s.Close()
	f := &folder{T: t, dir: t.TempDir()}
	f.write("canal.properties", "canal.register.ip = 192.0.2.1\ncanal.admin.manager = "+strings.TrimPrefix(s.URL, "http://")+
		"\ncanal.admin.user = admin\ncanal.admin.passwd = 4ACF\ncanal.admin.register.auto = true\ncanal.admin.register.name = node-1\nkafka.acks = all\n")
	node, _, scanner, err := Open(t.Context(), f.dir, noEnv, true)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.asked[0], "register=1") || !strings.Contains(c.asked[0], "name=node-1") || len(node.Instances) != 2 {
		t.Errorf("asked %s, found %v", c.asked[0], node.Instances)
	}
	if m := node.Instance("shop").Relay.Memory; m != 8<<20 {
		t.Errorf("memory of shop is %d: keys of the server outdo those of a destination in this mode", m)
	}
	f.scanner = scanner
	shop := f.look("crm shop").Instances["shop"]
	if !shop.Same(node.Instance("shop")) {
		t.Error("the first look finds another configuration than the node was started with")
	}
	change := func(do func()) { c.mu.Lock(); defer c.mu.Unlock(); do() }
	for name, fail := range map[string]func(on bool){
		"broken":  func(on bool) { c.broken = on },
		"unknown": func(on bool) { c.unknown = on },
	} {
		change(func() { fail(true) })
		for range 2 * gone {
			if s := f.look("crm shop"); s.Server == "" || s.Instances["shop"] != shop {
				t.Errorf("%s: nothing is said, or shop is another one", name)
			}
		}
		change(func() { fail(false) })
		if s := f.look("crm shop"); s.Server != "" || s.Instances["shop"] != shop {
			t.Errorf("%s, mended: %s", name, s.Server)
		}
	}
	change(func() { c.instances["shop"] = instanceText + "canal.mq.partition = 2\n" })
	if s := f.look("crm shop"); s.Instances["shop"].Route.Partition != 2 {
		t.Error("the change of shop was not found")
	}
	change(func() { c.instances["shop"] = "canal.mq.topic = shop\n" })
	if s := f.look("-shop crm shop"); !strings.Contains(s.Refused["shop"], "Canal Admin, shop") {
		t.Errorf("refused: %q", s.Refused)
	}
	change(func() { delete(c.instances, "shop") })
	f.look("-shop crm shop")
	f.look("crm")
	change(func() { clear(c.instances) })
	f.look("crm")
	if s := f.look(""); s.Server != "" {
		t.Errorf("an empty list of a server that knows us: %s", s.Server)
	}
}

func TestAdminAtStart(t *testing.T) {
	c := &console{unknown: true}
	s := httptest.NewServer(c)
	defer s.Close()
	dir := t.TempDir()
	text := "canal.register.ip = 192.0.2.1\ncanal.admin.manager = " + s.URL + "\ncanal.admin.passwd = 4ACF\n"
	if err := os.WriteFile(filepath.Join(dir, "canal.properties"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(t.Context(), dir, noEnv)
	if err == nil || !strings.Contains(err.Error(), "192.0.2.1 with admin port 11110: add it in its console") {
		t.Errorf("got %v", err)
	}
	c.unknown = false
	c.server = "canal.serverMode = kafka\nkafka.bootstrap.servers = k:9092\ncanal.destinations = shop\n"
	c.instances = map[string]string{"shop": instanceText, "crm": instanceText}
	node, _, err := Load(t.Context(), dir, noEnv)
	if err != nil || len(node.Instances) != 1 || node.Instances[0].Name != "shop" {
		t.Errorf("without a scan destinations are those of canal.destinations: %v, %v", node, err)
	}
}
