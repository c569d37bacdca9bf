//go:build stack

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// TestStackFromCanal: each way of the README's "Coming from Canal", with a stand-in that leaves in ZooKeeper and in the topic
// what Canal was seen to leave there: our nodes stand by while it owns the destination, go on at its cursor, hand over to it
// and take over from it, and leave a cursor of its own form when they go.
func TestStackFromCanal(t *testing.T) {
	for server, gtidon := range map[string]string{"mysql": "true", "mariadb": "false"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server, map[string]string{"canal.instance.gtidon": gtidon, "canal.relay.takeover.delay": "200ms"}) // Canal takes what it gave up back after five seconds
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			conn := w.admin()
			w.exec(conn, "USE "+w.name, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
			canal := w.canal(conn, gtidon == "true")
			canal.run()
			saved := canal.here()
			canal.save(saved)
			w.exec(conn, "INSERT INTO t VALUES (3)")
			canal.sends("1", "2", "3") // the last is behind the cursor
			w.start()
			w.standsByCanal(canal)
			w.exec(conn, "INSERT INTO t VALUES (4)")

			// Switch: it goes, and what it sent behind its cursor is sent again.
			canal.stop()
			w.active(ctx)
			w.exec(conn, "INSERT INTO t VALUES (5)")
			w.wantIDs(ctx, "1", "2", "3", "3", "4", "5")

			// Mixed: it waits beside us, and has its turn by a release and by a kill.
			canal.run()
			w.releases(w.nodes[0].Address)
			canal.awaits(ctx)
			w.exec(conn, "INSERT INTO t VALUES (6)")
			canal.save(canal.here())
			canal.sends("6")
			w.releases(canal.address)
			w.active(ctx)
			w.exec(conn, "INSERT INTO t VALUES (7)")
			w.wantIDs(ctx, "1", "2", "3", "3", "4", "5", "6", "7")
			w.cursorIsCanals(ctx, canal)
			canal.stop()
			canal.waits = 0 // what follows does not depend on it
			canal.run()
			_ = w.nodes[0].Stop(syscall.SIGKILL, 30*time.Second)
			canal.awaits(ctx)
			w.cursorIsCanals(ctx, canal) // where it goes on: nothing is sent twice
			w.start()
			canal.stop()
			w.active(ctx)
			w.exec(conn, "INSERT INTO t VALUES (8)")
			w.wantIDs(ctx, "1", "2", "3", "3", "4", "5", "6", "7", "8")

			// Roll back: we go, and leave what it goes on with.
			w.stop(w.nodes[1])
			w.cursorIsCanals(ctx, canal)
			canal.run()
			canal.awaits(ctx)
			canal.stop()
		})
	}
}

// canalNode is a stand-in for a node of Canal: what it has in ZooKeeper and its rules there.
type canalNode struct {
	*world
	source  *client.Conn
	gtid    bool // its cursors have GTIDs
	address string
	waits   time.Duration // before it takes what another one gave up: less than Canal, so that it comes in time on a busy machine
	conn    *zk.Conn
	ended   chan struct{}
}

func (w *world) canal(source *client.Conn, gtid bool) *canalNode {
	w.Helper()
	port, err := local.FreePort()
	w.must(err)
	c := &canalNode{world: w, source: source, gtid: gtid, waits: 2 * time.Second, address: fmt.Sprintf("127.0.0.1:%d", port)}
	w.Cleanup(func() {
		if c.conn != nil {
			c.stop()
		}
	})
	return c
}

func (c *canalNode) path(node string) string {
	return "/otter/canal/destinations/" + c.name + "/" + node
}

func (c *canalNode) make(path, data string, flags int32) error {
	for i := range path {
		if i > 0 && path[i] == '/' {
			if _, err := c.conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
				return err
			}
		}
	}
	_, err := c.conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	return err
}

// run starts it: it registers, and owns the destination at once if nobody does, else a while after its owner has gone. Asked to
// let go, by active false in the running node, it deletes that.
func (c *canalNode) run() {
	c.Helper()
	c.conn, c.ended = c.zookeeper(), make(chan struct{})
	c.must(c.make("/otter/canal/cluster/"+c.address, "", zk.FlagEphemeral))
	c.must(c.make(c.path("cluster/"+c.address), "", zk.FlagEphemeral))
	running, own, waits := c.path("running"), `{"active":true,"address":"`+c.address+`"}`, c.waits
	if err := c.make(running, own, zk.FlagEphemeral); err != nil && err != zk.ErrNodeExists {
		c.Fatal(err)
	}
	go func(conn *zk.Conn) {
		defer close(c.ended)
		pause := waits
		for {
			data, stat, changed, err := conn.GetW(running)
			switch {
			case err == zk.ErrNoNode:
				time.Sleep(pause)
				pause = waits
				_ = c.make(running, own, zk.FlagEphemeral)
				continue
			case err != nil:
				return // stopped
			case stat.EphemeralOwner == conn.SessionID() && strings.Contains(string(data), `"active":false`):
				_ = conn.Delete(running, -1)
				pause = 5 * time.Second
				continue
			}
			if event := <-changed; event.Err != nil {
				return
			}
		}
	}(c.conn)
}

// stop ends it, and its session.
func (c *canalNode) stop() {
	c.conn.Close()
	<-c.ended
	c.conn = nil
}

// awaits waits until it owns the destination.
func (c *canalNode) awaits(ctx context.Context) {
	c.Helper()
	c.until(ctx, "Canal's turn", func() bool {
		data, _, err := c.conn.Get(c.path("running"))
		return err == nil && string(data) == `{"active":true,"address":"`+c.address+`"}`
	})
}

// here is where it stands when it has read everything: at the last transaction's end, which is the start of its XID event.
func (c *canalNode) here() local.Mark {
	c.Helper()
	end, err := local.End(c.source)
	c.must(err)
	const xid = 19 + 8 + 4 // header, number, checksum
	end.Offset -= xid
	return end
}

// gtids is what the server has executed.
func (c *canalNode) gtids() string {
	c.Helper()
	query := map[string]string{"mysql": "SELECT @@global.gtid_executed", "mariadb": "SELECT @@global.gtid_binlog_pos"}[c.server]
	r, err := c.source.Execute(query)
	c.must(err)
	text, err := r.GetString(0, 0)
	c.must(err)
	return strings.ReplaceAll(text, "\n", "")
}

// save writes the cursor, as it does every second.
func (c *canalNode) save(at local.Mark) {
	c.Helper()
	addr, err := c.Server(c.server)
	c.must(err)
	_, port, err := net.SplitHostPort(addr)
	c.must(err)
	gtid := ""
	if c.gtid {
		gtid = c.gtids()
	}
	r, err := c.source.Execute("SELECT @@server_id")
	c.must(err)
	server, err := r.GetInt(0, 0)
	c.must(err)
	text := fmt.Sprintf(`{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":%s}},`+
		`"postion":{"gtid":"%s","included":false,"journalName":"%s","position":%d,"serverId":%d,"timestamp":%d}}`,
		port, gtid, at.File, at.Offset, server, time.Now().Unix()*1000)
	path := cursorPath(c.name)
	if err := c.make(path, text, 0); err == zk.ErrNodeExists {
		_, err = c.conn.Set(path, []byte(text), -1)
		c.must(err)
	} else {
		c.must(err)
	}
}

// sends produces the messages of rows, one each, without headers.
func (c *canalNode) sends(ids ...string) {
	c.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Kafka), kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(-1))
	c.must(err)
	defer cl.Close()
	for i, id := range ids {
		value := fmt.Sprintf(`{"data":[{"id":"%s"}],"database":"%s","es":%d,"gtid":"","id":%d,"isDdl":false,"mysqlType":{"id":"int"},"old":null,"pkNames":["id"],"sql":"","sqlType":{"id":4},"table":"t","ts":%d,"type":"INSERT"}`,
			id, c.name, time.Now().Unix()*1000, i+1, time.Now().UnixMilli())
		c.must(cl.ProduceSync(c.Context(), &kgo.Record{Topic: c.name, Partition: 0, Value: []byte(value)}).FirstErr())
	}
}

// standsByCanal: the guide's checks before a switch. Nothing is wrong, Canal is the owner, our node a standby.
func (w *world) standsByCanal(c *canalNode) {
	w.Helper()
	if stdout, stderr, code := w.operator("check"); code != 0 {
		w.Errorf("check: exit code %d\n%s%s", code, stdout, stderr)
	}
	var all []struct {
		Owner    string
		Standbys []string
		Foreign  bool
		place
	}
	w.until(w.Context(), "our node as a standby", func() bool {
		w.answer(&all, "status", "--destination", w.name)
		return all[0].Owner == c.address && slices.Contains(all[0].Standbys, w.nodes[0].Address)
	})
	if file, offset, _ := w.cursor(); all[0].File != file || uint64(all[0].Offset) != offset || !all[0].Foreign {
		w.Errorf("status shows %+v, the cursor is %s:%d and Canal's", all[0], file, offset)
	}
}

// releases hands over by the command, whoever owns the destination.
func (w *world) releases(owner string) {
	w.Helper()
	var done struct{ From string }
	w.answer(&done, "release", "--destination", w.name)
	if done.From != owner {
		w.Errorf("released from %q, want %q", done.From, owner)
	}
}

var canalsForm = regexp.MustCompile(`^\{"@type":"com\.alibaba\.otter\.canal\.protocol\.position\.LogPosition","identity":\{"slaveId":-1,"sourceAddress":\{"address":"[^"]+","port":\d+\}\},` +
	`"postion":\{"gtid":"[^"]*","included":false,"journalName":"[^"]+","position":\d+,"serverId":\d+,"timestamp":\d{10}000\}\}$`)

// cursorIsCanals waits until the cursor says that everything was sent, in the form in which Canal writes it.
func (w *world) cursorIsCanals(ctx context.Context, c *canalNode) {
	w.Helper()
	conn := w.zookeeper()
	defer conn.Close()
	var text []byte
	w.until(ctx, "a cursor behind everything", func() bool {
		at, gtid := c.here(), ""
		if c.gtid {
			gtid = c.gtids()
		}
		text, _, _ = conn.Get(cursorPath(w.name))
		return strings.Contains(string(text), fmt.Sprintf(`"gtid":"%s","included":false,"journalName":"%s","position":%d,`, gtid, at.File, at.Offset))
	})
	if !canalsForm.Match(text) || !json.Valid(text) {
		w.Errorf("the cursor is %s", text)
	}
	children, _, err := conn.Children(c.path("1001")) // Canal's client and nothing beside its cursor
	w.must(err)
	if !slices.Equal(children, []string{"cursor"}) {
		w.Errorf("below 1001 stand %q", children)
	}
}
