package scan

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canal-relay/canal-relay/cmd/internal/config"
)

// folder is a configuration under change.
type folder struct {
	*testing.T
	dir     string
	clock   time.Time // of the last change
	scanner *Scanner
}

const (
	serverText   = "canal.serverMode = kafka\ncanal.destinations = shop\ncanal.auto.scan = true\ncanal.register.ip = 192.0.2.1\nkafka.bootstrap.servers = 127.0.0.1:9092\n"
	instanceText = "canal.instance.master.address = 127.0.0.1:3306\ncanal.mq.topic = shop\n"
)

func noEnv(string) (string, bool) { return "", false }

func newFolder(t *testing.T, server string) *folder {
	f := &folder{T: t, dir: t.TempDir(), clock: time.Now().Add(-24 * time.Hour)}
	f.write("canal.properties", server)
	f.write("shop/instance.properties", instanceText)
	node, _, scanner, err := Open(t.Context(), f.dir, noEnv, true)
	if err != nil {
		t.Fatal(err)
	}
	if f.scanner = scanner; scanner == nil {
		f.scanner = New(f.dir, noEnv, NewFolder(f.dir), node)
	}
	return f
}

// write writes a file that was changed a minute after the one before.
func (f *folder) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
	f.clock = f.clock.Add(time.Minute)
	f.touch(name, f.clock)
}

func (f *folder) touch(name string, at time.Time) {
	f.Helper()
	if err := os.Chtimes(filepath.Join(f.dir, name), at, at); err != nil {
		f.Fatal(err)
	}
}

// look looks and checks which destinations there are, and which are refused.
func (f *folder) look(want string) State {
	f.Helper()
	s := f.scanner.Look(f.Context())
	var got []string
	for name := range s.Instances {
		got = append(got, name)
	}
	for name := range s.Refused {
		got = append(got, "-"+name)
	}
	slices.Sort(got)
	if strings.Join(got, " ") != want {
		f.Errorf("found %q, want %q (server: %s, refused: %v)", got, want, s.Server, s.Refused)
	}
	return s
}

func TestDestinationsComeChangeAndGo(t *testing.T) {
	f := newFolder(t, serverText)
	first := f.look("shop").Instances["shop"]
	f.write("crm/instance.properties", instanceText)
	f.write("notes/readme.txt", "no destination")
	if s := f.look("crm shop"); s.Instances["shop"] != first {
		t.Error("shop is another one although it has not changed")
	}
	f.write("shop/instance.properties", instanceText+"canal.mq.partition = 3\n")
	second := f.look("crm shop").Instances["shop"]
	if second.Same(first) || second.Route.Partition != 3 {
		t.Error("the change of shop was not found")
	}
	f.write("shop/instance.properties", "# a comment\n"+instanceText+"canal.mq.partition = 3\n")
	if s := f.look("crm shop"); s.Instances["shop"] != second {
		t.Error("a comment makes shop another one")
	}
	if err := os.RemoveAll(filepath.Join(f.dir, "crm")); err != nil {
		t.Fatal(err)
	}
	f.look("crm shop") // it may be back in a moment
	f.look("shop")
	if err := os.Remove(filepath.Join(f.dir, "shop", config.InstanceFile)); err != nil {
		t.Fatal(err)
	}
	f.look("shop")
	f.look("")
	f.write("shop/instance.properties", instanceText)
	f.look("shop")
}

// What cannot work leaves what runs alone, and is tried when it is mended.
func TestBrokenDestination(t *testing.T) {
	f := newFolder(t, serverText)
	first := f.look("shop").Instances["shop"]
	f.write("shop/instance.properties", instanceText+"canal.instance.filter.regex = (\n")
	f.write("crm/instance.properties", "canal.mq.topic = crm\n")
	s := f.look("-crm -shop shop")
	if s.Instances["shop"] != first || !strings.Contains(s.Refused["shop"], "instance.properties:3: canal.instance.filter.regex") {
		t.Errorf("shop: %v", s.Refused)
	}
	f.look("-crm -shop shop") // not forgotten
	f.write("shop/instance.properties", "")
	f.look("-crm -shop shop")
	f.write("shop/instance.properties", instanceText)
	f.write("crm/instance.properties", instanceText)
	if s := f.look("crm shop"); s.Instances["shop"] != first {
		t.Error("shop is another one although it is as it was")
	}
}

func TestServerChanges(t *testing.T) {
	f := newFolder(t, serverText)
	f.write("crm/instance.properties", instanceText+"canal.relay.memory = 8MiB\n")
	s := f.look("crm shop")
	shop, crm := s.Instances["shop"], s.Instances["crm"]
	f.write("canal.properties", serverText+"canal.relay.memory = 16MiB\n")
	s = f.look("crm shop")
	if s.Instances["crm"] != crm || s.Instances["shop"].Same(shop) || s.Instances["shop"].Relay.Memory != 16<<20 {
		t.Error("a global key must change those destinations that have none of their own")
	}
	shop = s.Instances["shop"]
	f.write("canal.properties", serverText+"canal.relay.memory = 16MiB\ncanal.port = 11119\ncanal.relay.session.timeout = 9s\ncanal.zkServers = zk:2181\n")
	if s = f.look("crm shop"); !slices.Equal(s.Restart, []string{"canal.port", "canal.relay.session.timeout", "canal.zkServers"}) || s.Instances["shop"] != shop {
		t.Errorf("restart for %q; shop changed: %v", s.Restart, s.Instances["shop"] != shop)
	}
	for _, bad := range []string{"canal.serverMode = tcp\n", serverText + "canal.relay.memroy = 1\n", serverText + "x = \\u12\n"} {
		f.write("canal.properties", bad)
		s = f.look("crm shop")
		if !strings.Contains(s.Server, "canal.properties:") || s.Instances["shop"] != shop {
			t.Errorf("%q: %q", bad, s.Server)
		}
		f.write("crm/instance.properties", instanceText+"canal.relay.memory = 9MiB\n# "+bad[:9]) // goes on to be followed
		if s = f.look("crm shop"); s.Instances["crm"].Relay.Memory != 9<<20 || s.Server == "" {
			t.Errorf("crm is not followed while canal.properties is refused: %q", s.Server)
		}
	}
	f.write("canal.properties", serverText)
	if s = f.look("crm shop"); s.Server != "" || len(s.Restart) > 0 {
		t.Errorf("mended: %q, %q", s.Server, s.Restart)
	}
	if err := os.Rename(f.dir, f.dir+"-away"); err != nil {
		t.Fatal(err)
	}
	for range 2 * gone {
		if s = f.look("crm shop"); s.Server == "" {
			t.Error("nothing is said of a folder that is gone")
		}
	}
	if err := os.Rename(f.dir+"-away", f.dir); err != nil {
		t.Fatal(err)
	}
	f.look("crm shop")
}

func TestLazy(t *testing.T) {
	f := newFolder(t, serverText+"canal.instance.global.lazy = true\ncanal.instance.crm.lazy = false\n")
	f.write("crm/instance.properties", instanceText)
	s := f.look("crm shop")
	if !s.Instances["shop"].Lazy || s.Instances["crm"].Lazy {
		t.Error("shop must be lazy, crm not")
	}
	crm := s.Instances["crm"]
	f.write("canal.properties", serverText)
	if s = f.look("crm shop"); s.Instances["shop"].Lazy || s.Instances["crm"] != crm {
		t.Error("shop must not be lazy any more, crm be left alone")
	}
}

// A destination that is named, and has no directory yet, is none until it has.
func TestNamedWithoutDirectory(t *testing.T) {
	f := newFolder(t, strings.Replace(serverText, "= shop", "= shop,later", 1))
	f.look("shop")
	f.look("shop")
	f.write("later/instance.properties", instanceText)
	f.look("later shop")
}

// With many destinations only files are read that have changed: one whose
// content is another, with size and time as before, is not seen.
func TestManyDestinations(t *testing.T) {
	f := newFolder(t, serverText)
	for i := range 500 {
		f.write(fmt.Sprintf("d%03d/instance.properties", i), instanceText)
	}
	before := f.scanner.Look(t.Context())
	for i := range 500 {
		path := filepath.Join(f.dir, fmt.Sprintf("d%03d", i), config.InstanceFile)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(instanceText, "shop", "SHOP")), 0o644); err != nil {
			t.Fatal(err)
		}
		f.touch(filepath.Join(fmt.Sprintf("d%03d", i), config.InstanceFile), info.ModTime())
	}
	f.write("d250/instance.properties", instanceText+"canal.mq.partition = 1\n")
	began := time.Now()
	after := f.scanner.Look(t.Context())
	t.Logf("a look at 501 destinations took %v", time.Since(began))
	for name, i := range before.Instances {
		if changed := after.Instances[name] != i; changed != (name == "d250") {
			t.Errorf("%s changed: %v", name, changed)
		}
	}
}

// A folder that is empty, as the place where a volume was mounted, is not one whose destinations were removed.
func TestEmptyFolder(t *testing.T) {
	f := newFolder(t, serverText)
	f.look("shop")
	for _, name := range []string{"canal.properties", "shop"} {
		if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 * gone {
		if s := f.look("shop"); !strings.Contains(s.Server, "canal.properties: no such file") {
			t.Errorf("server: %q", s.Server)
		}
	}
	f.write("canal.properties", serverText)
	f.write("shop/instance.properties", instanceText)
	if s := f.look("shop"); s.Server != "" {
		t.Errorf("server: %q", s.Server)
	}
}

// canal.auto.scan=false takes a restart: until then what the scan has found goes on and is followed.
func TestScanSwitchedOff(t *testing.T) {
	f := newFolder(t, serverText)
	f.write("crm/instance.properties", instanceText)
	crm := f.look("crm shop").Instances["crm"]
	f.write("canal.properties", strings.Replace(serverText, "scan = true", "scan = false", 1))
	for range 2 * gone {
		if s := f.look("crm shop"); s.Instances["crm"] != crm || !slices.Equal(s.Restart, []string{"canal.auto.scan"}) {
			t.Errorf("restart for %v, crm changed: %v", s.Restart, s.Instances["crm"] != crm)
		}
	}
	f.write("more/instance.properties", instanceText)
	f.look("crm more shop")
}

// A new destination waits until its file is written; what the node was started with goes on meanwhile.
func TestFreshDestination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that nothing becomes older meanwhile
		f := newFolder(t, serverText)
		node := f.scanner.node
		f.touch("shop/instance.properties", time.Now())
		f.write("crm/instance.properties", instanceText)
		f.touch("crm/instance.properties", time.Now().Add(time.Hour)) // clocks that differ do not hold it back
		f.write("half/instance.properties", instanceText)
		f.touch("half/instance.properties", time.Now())
		if s := f.look("crm shop"); s.Instances["shop"] != node.Instance("shop") || len(s.Refused) > 0 {
			t.Errorf("shop has changed, or refused: %v", s.Refused)
		}
		f.touch("half/instance.properties", time.Now().Add(-2*settle))
		f.touch("shop/instance.properties", time.Now().Add(-2*settle))
		if s := f.look("crm half shop"); s.Instances["shop"] != node.Instance("shop") {
			t.Error("shop has changed")
		}
		f.touch("half/instance.properties", time.Now())
		for range 2 * gone {
			f.look("crm half shop")
		}
	})
}

// A destination whose directory cannot be looked into is not one that was removed.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	f := newFolder(t, serverText)
	f.write("crm/instance.properties", instanceText)
	crm := f.look("crm shop").Instances["crm"]
	dir := filepath.Join(f.dir, "crm")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("crm", dir); err != nil { // a loop fails for root, too
		t.Fatal(err)
	}
	for range 2 * gone {
		if s := f.look("-crm crm shop"); s.Instances["crm"] != crm || !strings.Contains(s.Refused["crm"], "crm") {
			t.Errorf("refused: %v", s.Refused)
		}
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	f.look("-crm crm shop") // it may be back in a moment
	f.look("shop")
}

// A directory whose name ZooKeeper does not take concerns nobody else.
func TestOddDirectory(t *testing.T) {
	f := newFolder(t, serverText)
	f.look("shop")
	f.write("bad\xff/instance.properties", instanceText)
	f.write("crm/instance.properties", instanceText)
	for range 2 {
		if s := f.look("-bad\xff crm shop"); s.Server != "" || !strings.Contains(s.Refused["bad\xff"], "cannot be the name") {
			t.Errorf("server: %q, refused: %v", s.Server, s.Refused)
		}
	}
	if err := os.RemoveAll(filepath.Join(f.dir, "bad\xff")); err != nil {
		t.Fatal(err)
	}
	f.look("crm shop")
}

// A folder as Kubernetes mounts one: each change is another directory behind a link.
func TestMountedFolder(t *testing.T) {
	f := newFolder(t, serverText)
	f.look("shop")
	version := func(name, server string, destinations map[string]string) {
		t.Helper()
		f.write("..data-"+name+"/canal.properties", server)
		for d, text := range destinations {
			f.write("..data-"+name+"/"+d+"/instance.properties", text)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Symlink("..data-"+name, filepath.Join(f.dir, "..tmp")))
		must(os.Rename(filepath.Join(f.dir, "..tmp"), filepath.Join(f.dir, "..data")))
		for _, d := range append([]string{"canal.properties"}, slices.Sorted(maps.Keys(destinations))...) {
			if info, err := os.Lstat(filepath.Join(f.dir, d)); err == nil && info.Mode()&os.ModeSymlink != 0 {
				continue
			}
			must(os.RemoveAll(filepath.Join(f.dir, d)))
			must(os.Symlink("..data/"+d, filepath.Join(f.dir, d)))
		}
	}
	version("1", serverText, map[string]string{"shop": instanceText, "crm": instanceText})
	crm := f.look("crm shop").Instances["crm"]
	version("2", serverText, map[string]string{"shop": instanceText + "canal.mq.partition = 2\n", "crm": instanceText})
	if s := f.look("crm shop"); s.Instances["crm"] != crm || s.Instances["shop"].Route.Partition != 2 {
		t.Error("shop has not changed, or crm has")
	}
	version("3", serverText, map[string]string{"crm": instanceText})
	f.look("crm shop")
	if s := f.look("crm"); s.Instances["crm"] != crm {
		t.Error("crm has changed")
	}
}

// A file that is being written is left alone for a moment.
func TestFreshFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that nothing becomes older meanwhile
		f := newFolder(t, serverText)
		first := f.look("shop").Instances["shop"]
		f.write("shop/instance.properties", instanceText+"canal.mq.partition = 1\n")
		f.touch("shop/instance.properties", time.Now())
		if f.look("shop").Instances["shop"] != first {
			t.Error("a file that was written a moment ago was read")
		}
		f.touch("shop/instance.properties", time.Now().Add(-2*settle))
		if f.look("shop").Instances["shop"] == first {
			t.Error("the file was not read after that")
		}
	})
}

func TestNoScan(t *testing.T) {
	f := newFolder(t, serverText)
	f.write("canal.properties", strings.Replace(serverText, "scan = true", "scan = false", 1))
	f.write("crm/instance.properties", instanceText)
	node, _, scanner, err := Open(t.Context(), f.dir, noEnv, true)
	if err != nil || scanner != nil || len(node.Instances) != 1 {
		t.Errorf("%v, scanner %v, node %+v", err, scanner, node)
	}
}

// TestNamedFiles: what settings name is followed as the settings are: a secret or a key store that was changed makes the
// destination another one, but for those that are read again at each login; those of the node are named.
func TestNamedFiles(t *testing.T) {
	f := newFolder(t, serverText)
	f.write("tsdb.txt", "one\n")
	f.write("db.txt", "one\n")
	f.write("http.txt", "one\n")
	f.write("canal.properties", serverText+"canal.relay.http.user = ops\ncanal.relay.secret.canal.relay.http.password.file = http.txt\n")
	f.write("shop/instance.properties", instanceText+"canal.instance.tsdb.url = jdbc:mysql://db:3306/canal\ncanal.relay.secret.canal.instance.tsdb.dbPassword.file = tsdb.txt\n"+
		"canal.relay.secret.canal.instance.dbPassword.file = db.txt\n")
	first := f.look("shop").Instances["shop"]
	f.touch("tsdb.txt", f.clock.Add(time.Hour))
	f.write("db.txt", "two\n")
	if s := f.look("shop"); s.Instances["shop"] != first {
		t.Error("shop is another one although nothing has changed that it keeps")
	}
	f.write("tsdb.txt", "two\n")
	second := f.look("shop").Instances["shop"]
	if second.Same(first) || second.History.MySQL.Password != "two" {
		t.Error("the new password of the schema store was not found")
	}
	if s := f.look("shop"); s.Instances["shop"] != second {
		t.Error("it is another one at each look")
	}
	if err := os.Remove(filepath.Join(f.dir, "tsdb.txt")); err != nil {
		t.Fatal(err)
	}
	if s := f.look("-shop shop"); s.Instances["shop"] != second || !strings.Contains(s.Refused["shop"], "tsdb.txt") {
		t.Errorf("without its file: %v", s.Refused)
	}
	f.look("-shop shop")
	f.write("tsdb.txt", "three\n")
	if s := f.look("shop"); s.Instances["shop"].History.MySQL.Password != "three" {
		t.Error("the file that is back was not read")
	}
	if s := f.look("shop"); !slices.Contains(s.Restart, "canal.relay.http.user") || slices.Contains(s.Restart, "canal.relay.cluster") {
		t.Errorf("restart: %v", s.Restart)
	}
	before := f.look("shop").Restart
	f.write("http.txt", "two\n")
	if s := f.look("shop"); !slices.Contains(s.Restart, "canal.relay.http.password") || s.Server != "" {
		t.Errorf("restart: %v after %v", s.Restart, before)
	}
}
