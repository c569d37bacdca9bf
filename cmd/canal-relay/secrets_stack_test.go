//go:build stack

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestStackSecrets is the field case SE-01: recognisable secrets stand wherever one can stand, right ones and wrong ones, and a node,
// every command and the ZooKeeper tree are searched for them.
func TestStackSecrets(t *testing.T) {
	w := newWorld(t, "mysql", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const planted = "Pl4nted"
	sealed, public := druid(t, planted+"Source")
	wrong, wrongPublic := druid(t, planted+"Wrong")
	w.account(w.name, planted+"Source", "SELECT, REPLICATION SLAVE, REPLICATION CLIENT")
	w.account("store"+w.name, planted+"Store", "ALL")
	scram(t, w.Kafka, w.name, planted+"Kafka")
	stores := t.TempDir()
	private(t, os.Getenv("CANAL_RELAY_KAFKA_STORE"), stores)
	maps.Copy(w.conf.Server, map[string]string{
		"canal.zkServers": w.ZooKeeper + "/secrets/" + w.name, "canal.relay.zookeeper.auth": "relay:" + planted + "ZooKeeper",
		"kafka.bootstrap.servers": os.Getenv("CANAL_RELAY_KAFKA_SASL_SSL"), "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "SCRAM-SHA-256",
		"kafka.sasl.jaas.config":    `x.ScramLoginModule required username="` + w.name + `" password="` + planted + `Kafka";`,
		"kafka.ssl.truststore.type": "PKCS12", "kafka.ssl.truststore.location": filepath.Join(stores, "ca.p12"), "kafka.ssl.truststore.password": storePassword,
		"kafka.ssl.keystore.location": filepath.Join(stores, "client.jks"), "kafka.ssl.keystore.password": storePassword, "kafka.ssl.key.password": keyPassword,
		"canal.relay.http.user": "ops", "canal.relay.http.password": planted + "Page", "canal.admin.passwd": planted + "Admin",
		"canal.relay.alarm.webhook": "http://ops:" + planted + "User@127.0.0.1:1/" + planted + "Hook?token=" + planted + "Token",
		"canal.auto.scan":           "true", "canal.auto.scan.interval": "1",
	})
	source := w.conf.Destinations[w.name]
	maps.Copy(source, map[string]string{"canal.instance.dbUsername": w.name, "canal.instance.dbPassword": sealed, "canal.instance.enableDruid": "true", "canal.instance.pwdPublicKey": public,
		"canal.instance.tsdb.url": "jdbc:mysql://" + w.MySQL + "/" + w.name + "?password=" + planted + "Parameter", "canal.instance.tsdb.dbUsername": "store" + w.name,
		"canal.instance.tsdb.dbPassword": planted + "Store"})
	for name, change := range map[string]map[string]string{
		"login": {"canal.instance.dbPassword": wrong, "canal.instance.pwdPublicKey": wrongPublic},
		"store": {"canal.instance.tsdb.dbPassword": planted + "WrongStore"},
	} {
		other := maps.Clone(source)
		maps.Copy(other, change)
		w.conf.Destinations[w.name+name] = other
	}
	conn := w.admin()
	w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	node := w.start()
	get := func(path, password string) string {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+node.HTTP+path, nil)
		w.must(err)
		request.SetBasicAuth("ops", password)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return ""
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		w.must(err)
		return string(text)
	}
	status := func(what, pattern string) {
		want := regexp.MustCompile(pattern)
		w.until(ctx, what, func() bool { return want.MatchString(get("/status", planted+"Page")) })
	}
	status("an active destination", fmt.Sprintf(`"destination":%q,"state":"active"`, w.name))
	status("a refused login", fmt.Sprintf(`"destination":"%slogin","state":"failed","reason":"(?:[^"\\]|\\.)*Access denied`, w.name))
	status("a refused login to the store", fmt.Sprintf(`"destination":"%sstore","state":"failed","reason":"(?:[^"\\]|\\.)*Access denied`, w.name))
	w.wantIDs(ctx, "1")

	// A new configuration that cannot work is refused by name.
	bad := filepath.Join(node.Dir, w.name+"store", "instance.properties")
	text := string(must(os.ReadFile(bad)))
	w.must(os.WriteFile(bad, []byte(text+"canal.instance.pwdPublicKey = NoKey\ncanal.instance.dbPassword = "+planted+"NotSealed\n"), 0o644))
	status("a refused configuration", `"refused":"(?:[^"\\]|\\.)*canal.instance.dbPassword`)
	server := filepath.Join(node.Dir, "canal.properties")
	text = string(must(os.ReadFile(server)))
	w.must(os.WriteFile(server, []byte(text+"canal.relay.alarm.webhook = "+planted+"NoURL\nkafka.ssl.keystore.password = "+planted+"Stores\n"), 0o644))
	status("a refused canal.properties", `"refused":"(?:[^"\\]|\\.)*canal.relay.alarm.webhook`)

	all := map[string]string{"log": "", "401": get("/", "wrong"), "/": get("/", planted+"Page"), "/status": get("/status", planted+"Page"), "/metrics": get("/metrics", planted+"Page")}
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"config"}, {"config", "--json"}, {"explain", w.name + ".t"}} { // of the refused configuration
		all["refused: "+strings.Join(args, " ")] = w.said(args...)
	}
	w.must(os.WriteFile(server, []byte(text), 0o644))
	w.must(os.WriteFile(bad, must(os.ReadFile(filepath.Join(node.Dir, w.name, "instance.properties"))), 0o644))
	for _, args := range [][]string{{"check"}, {"check", "--json"}, {"config"}, {"config", "--json", "--set"}, {"explain", w.name + ".t", "--json"}, {"status"}, {"status", "--json"},
		{"cursor", "show"}, {"cursor", "show", "--json"}, {"cursor", "export"}, {"tail", "--limit", "1", "--from", w.at(w.from)}, {"tail"},
		{"pause", "--json"}, {"resume"}, {"audit"}, {"release"}, {"cursor", "set", "latest", "--reason", "a test", "--release"}} {
		switch args[0] {
		case "check", "config", "explain":
		default:
			args = append(args, "--destination", w.name+map[bool]string{true: "login"}[len(args) == 1 && args[0] == "tail"])
		}
		if args[0] == "explain" {
			args = append(args, "--destination", w.name)
		}
		all[strings.Join(args, " ")] = w.said(args...)
	}
	w.tree(all, "/secrets/"+w.name, planted+"ZooKeeper")
	w.stop(node)
	all["log"] = w.log(0)
	for where, text := range all {
		for _, secret := range []string{planted, sealed, wrong, storePassword} {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s shows %s", where, text[max(0, i-200):min(len(text), i+60)])
			}
		}
	}
	for _, want := range []string{"the alarm webhook was not told", "configuration of a destination is refused", "Access denied"} {
		if !strings.Contains(all["log"], want) {
			t.Errorf("the log has not seen: %s", want)
		}
	}
	t.Logf("%d texts searched", len(all))
}

// said is everything that a command prints.
func (w *world) said(args ...string) string {
	w.Helper()
	out, errs, code := w.operator(args...)
	if out+errs == "" {
		w.Errorf("%q says nothing, exit code %d", args, code)
	}
	return out + errs
}

// tree adds every node of ZooKeeper below a path: name, data and who may do what.
func (w *world) tree(all map[string]string, path, password string) {
	w.Helper()
	conn := w.zookeeper()
	defer conn.Close()
	w.must(conn.AddAuth("digest", []byte("relay:"+password)))
	var walk func(path string)
	walk = func(path string) {
		data, _, err := conn.Get(path)
		if err == zk.ErrNoNode {
			return // an ephemeral one
		}
		w.must(err)
		acl, _, err := conn.GetACL(path)
		w.must(err)
		all["ZooKeeper "+path] = fmt.Sprintf("%s %s %v", path, data, acl)
		children, _, err := conn.Children(path)
		w.must(err)
		for _, child := range children {
			walk(path + "/" + child)
		}
	}
	walk(path)
}

// druid encrypts a password as Druid's tools do.
func druid(t *testing.T, password string) (sealed, public string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block := append([]byte{0, 1}, strings.Repeat("\xff", key.Size()-len(password)-3)+"\x00"+password...)
	block = new(big.Int).Exp(new(big.Int).SetBytes(block), key.D, key.N).FillBytes(block)
	return base64.StdEncoding.EncodeToString(block), base64.StdEncoding.EncodeToString(der)
}
