//go:build stack

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"

	"github.com/canal-relay/canal-relay/deploy/local"
)

var scale = flag.Int("scale", 1, "size of the stack tests: 10 is 600,000 rows in the failover test")

// world is one destination on real servers, with nodes of the built binary.
type world struct {
	*testing.T
	local.Stack
	server, name string // database server; name of database, topic and destination
	conf         local.Conf
	nodes        []*local.Node // those that may be active
	started      []*local.Node // all of them; the nth has the folder node<n>
	from         local.Mark
	dir          string
}

func newWorld(t *testing.T, server string, instance map[string]string) *world {
	t.Helper()
	stack, err := local.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Stack: stack, server: server, dir: t.TempDir()}
	w.name = strings.ToLower(strings.NewReplacer("/", "_", "TestStack", "").Replace(t.Name())) + fmt.Sprint(rand.IntN(1e6))
	addr, err := stack.Server(server)
	if err != nil {
		t.Fatal(err)
	}
	conn := w.admin()
	w.exec(conn, "CREATE DATABASE "+w.name+" CHARACTER SET utf8mb4", "USE "+w.name)
	if w.from, err = local.End(conn); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{
		"canal.instance.master.address": addr, "canal.instance.dbUsername": stack.User, "canal.instance.dbPassword": stack.Password,
		"canal.instance.master.journal.name": w.from.File, "canal.instance.master.position": fmt.Sprint(w.from.Offset),
		"canal.instance.filter.regex": w.name + `\..*`, "canal.mq.topic": w.name, "canal.mq.partition": "0"}
	for k, v := range instance {
		keys[k] = v
	}
	w.conf = local.Conf{Server: map[string]string{"canal.zkServers": stack.ZooKeeper, "kafka.bootstrap.servers": cmp.Or(stack.Kafka, "none:1")},
		Destinations: map[string]map[string]string{w.name: keys}}
	t.Cleanup(func() {
		for _, n := range w.started {
			_ = n.Stop(syscall.SIGKILL, 30*time.Second)
		}
		if conn, err := stack.Admin(server); err == nil { // a new one: the test may have restarted the server
			_ = local.Exec(conn, "DROP DATABASE IF EXISTS "+w.name)
			_ = conn.Close()
		}
		if stack.Kafka != "" {
			_ = stack.DeleteTopic(context.Background(), w.name)
		}
	})
	return w
}

func (w *world) admin() *client.Conn {
	w.Helper()
	conn, err := w.Admin(w.server)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = conn.Close() })
	w.exec(conn, "SET SESSION sort_buffer_size = 16777216") // rows with large values are read in order
	return conn
}

func (w *world) exec(conn *client.Conn, statements ...string) {
	w.Helper()
	if err := local.Exec(conn, statements...); err != nil {
		w.Fatal(err)
	}
}

// start starts one more node, on a folder of its own. Its log is shown when the test fails.
func (w *world) start() *local.Node {
	w.Helper()
	dir := filepath.Join(w.dir, fmt.Sprint("node", len(w.started)))
	log, err := os.Create(dir + ".log")
	if err != nil {
		w.Fatal(err)
	}
	node := w.startOn(dir, log)
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("log of node %s:\n%s", node.Address, w.logOf(node))
		}
	})
	return node
}

// startOn starts a node on a folder, which must be no other running node's: both would read what was last written there.
func (w *world) startOn(dir string, log io.Writer) *local.Node {
	w.Helper()
	node, err := local.StartNode(os.Getenv("CANAL_RELAY_BIN"), dir, w.conf, log)
	if err != nil {
		w.Fatal(err)
	}
	w.nodes, w.started = append(w.nodes, node), append(w.started, node)
	return node
}

// logOf is the end of a node's log.
func (w *world) logOf(n *local.Node) []byte {
	text, _ := os.ReadFile(n.Dir + ".log")
	return tailOf(text, 6000)
}

func tailOf(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

func (w *world) active(ctx context.Context) *local.Node {
	w.Helper()
	var alive []*local.Node
	for _, n := range w.nodes {
		select {
		case <-n.Done():
		default:
			alive = append(alive, n)
		}
	}
	node, err := local.WaitActive(ctx, w.name, alive...)
	if err != nil {
		w.Fatal(err)
	}
	return node
}

// TestStackFailover: two nodes, 60,000 rows inserted in transactions of 100, 10,000 updates, 5,000 deletes and DDL, while
// the active node is killed, killed again, its dump is cut, and it is stopped in good order: every change is in the
// topic, in order, and nothing is sent again.
func TestStackFailover(t *testing.T) {
	for _, server := range []string{"mysql", "mariadb"} {
		t.Run(server, func(t *testing.T) {
			w := newWorld(t, server, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			w.start()
			w.start()
			conn := w.admin()
			w.exec(conn, "USE "+w.name,
				"CREATE TABLE acct (id INT PRIMARY KEY, n INT NOT NULL, name VARCHAR(30), amount DECIMAL(10,2), at DATETIME)")
			var writer sync.WaitGroup
			faultsOver := make(chan struct{})
			writer.Go(func() { w.write(conn, 60_000*(*scale), faultsOver) })
			w.fault(ctx, func(n *local.Node) { _ = n.Stop(syscall.SIGKILL, 30*time.Second) })
			w.cutDumps()
			w.fault(ctx, func(n *local.Node) { _ = n.Stop(syscall.SIGKILL, 30*time.Second) })
			w.fault(ctx, func(n *local.Node) {
				if err := n.Stop(syscall.SIGTERM, 30*time.Second); err != nil {
					t.Errorf("SIGTERM: %v", err)
				}
			})
			close(faultsOver)
			writer.Wait()
			w.exec(conn, "CREATE TABLE finished (id INT PRIMARY KEY)")
			changes, repeats := w.prove(ctx, conn)
			t.Logf("%d changes, %d sent twice", changes, repeats)
			w.nothingTwice(repeats)
		})
	}
}

// nothingTwice: a topic was read back at each take-over. On a machine that is too busy for that repeats are allowed, and said.
func (w *world) nothingTwice(repeats int) {
	w.Helper()
	if repeats > 0 && !w.late() {
		w.Errorf("%d changes were sent twice", repeats)
	}
}

const tooLate = "the end of a topic cannot be read"

// late reports whether a node said that it could not read a topic back in the second that it has for that. What stands there
// behind the stored position is then sent again.
func (w *world) late() bool {
	w.Helper()
	logs, err := filepath.Glob(filepath.Join(w.dir, "node*.log"))
	w.must(err)
	return slices.ContainsFunc(logs, func(path string) bool {
		text, err := os.ReadFile(path)
		w.must(err)
		return bytes.Contains(text, []byte(tooLate))
	})
}

// same reports whether the topic has what it should have: with repeats where a node was late.
func (w *world) same(got, want []string) bool {
	w.Helper()
	return slices.Equal(got, want) || w.late() && slices.Equal(firsts(got), firsts(want))
}

// firsts are the texts that were not there before.
func firsts(texts []string) (some []string) {
	for _, text := range texts {
		if !slices.Contains(some, text) {
			some = append(some, text)
		}
	}
	return some
}

// patient lets the nodes keep what they own while the machine stands still for a while. It is for tests in which no node is
// killed or cut off: a lost lease would only be noise there.
func (w *world) patient() { w.conf.Server["canal.relay.session.timeout"] = "30s" }

// fault does something to the active node, once it is at work, and starts another one in its place.
func (w *world) fault(ctx context.Context, do func(*local.Node)) {
	node := w.active(ctx)
	for w.acked(ctx, node) < 5000 {
		time.Sleep(10 * time.Millisecond)
		node = w.active(ctx)
	}
	began := time.Now()
	do(node)
	w.start()
	w.active(ctx)
	w.Logf("taken over %v after the fault began", time.Since(began).Round(time.Millisecond))
}

// acked is the number of rows that Kafka acknowledged in a node's term.
func (w *world) acked(ctx context.Context, node *local.Node) int {
	body, err := node.Status(ctx)
	if err != nil {
		return 0
	}
	var all struct {
		Destinations []struct {
			Destination string
			Rows        int
		}
	}
	if err := json.Unmarshal(body, &all); err != nil {
		w.Fatal(err)
	}
	for _, d := range all.Destinations {
		if d.Destination == w.name {
			return d.Rows
		}
	}
	return 0
}

// cutDumps kills every dump session on the server.
func (w *world) cutDumps() {
	conn := w.admin()
	for {
		r, err := conn.Execute("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
		if err != nil {
			w.Fatal(err)
		}
		for i := range r.RowNumber() {
			id, _ := r.GetInt(i, 0)
			_, _ = conn.Execute(fmt.Sprintf("KILL %d", id))
		}
		if r.RowNumber() > 0 {
			w.Logf("%d dump sessions cut", r.RowNumber())
			return
		}
		time.Sleep(10 * time.Millisecond) // the owner is about to open one
	}
}

// write inserts rows in transactions of 100, changes every sixth and deletes every twelfth, with a DDL now and then:
// so many rows, and on until enough is closed.
func (w *world) write(conn *client.Conn, rows int, enough <-chan struct{}) {
	var q strings.Builder
	for id := 0; ; id += 100 {
		select {
		case <-enough:
			if id >= rows {
				return
			}
		default:
		}
		q.Reset()
		q.WriteString("INSERT INTO acct (id, n, name, amount, at) VALUES ")
		for i := id; i < id+100; i++ {
			if i > id {
				q.WriteByte(',')
			}
			fmt.Fprintf(&q, "(%d, 0, 'owner %d', %d.50, '2026-11-30 10:00:%02d')", i, i, i%1000, i%60)
		}
		statements := []string{q.String()}
		if id%600 == 0 {
			statements = append(statements, fmt.Sprintf("UPDATE acct SET n = n + 1 WHERE id BETWEEN %d AND %d", id, id+99))
		}
		if id%1200 == 0 {
			statements = append(statements, fmt.Sprintf("DELETE FROM acct WHERE id BETWEEN %d AND %d", id, id+99))
		}
		if id%15_000 == 0 && id > 0 {
			statements = append(statements, fmt.Sprintf("ALTER TABLE acct ADD COLUMN c%d INT NULL DEFAULT 7", id), fmt.Sprintf("ALTER TABLE acct DROP COLUMN c%d", id))
		}
		if err := local.Exec(conn, statements...); err != nil {
			w.Error(err)
			return
		}
	}
}
