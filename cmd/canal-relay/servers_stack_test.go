//go:build stack

package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// servers does something to servers of the stack: restart, kill, up, pause, resume.
func (w *world) servers(command string, names ...string) {
	w.Helper()
	script := strings.Fields(os.Getenv("CANAL_RELAY_STACK_SCRIPT"))
	if len(script) == 0 {
		w.Fatal("CANAL_RELAY_STACK_SCRIPT is not set: it is the stack's own command, with its --name")
	}
	args := append(append(script[1:], command), names...)
	if out, err := exec.Command(script[0], args...).CombinedOutput(); err != nil {
		w.Fatalf("stack %s %v: %v\n%s", command, names, err, out)
	}
}

// purged names a binlog file that the server had once.
func (w *world) purged() string {
	w.Helper()
	conn := w.admin()
	before, err := local.End(conn)
	w.must(err)
	w.exec(conn, "FLUSH BINARY LOGS")
	w.fromHere(conn)
	w.until(w.Context(), "the purge of "+before.File, func() bool { // MariaDB keeps what a crash may need a little longer
		w.exec(conn, "PURGE BINARY LOGS TO '"+w.from.File+"'")
		r, err := conn.Execute("SHOW BINARY LOGS")
		w.must(err)
		first, err := r.GetString(0, 0)
		w.must(err)
		return first == w.from.File
	})
	return before.File
}

// fromHere lets the destination begin at the present end of the binlog.
func (w *world) fromHere(conn *client.Conn) {
	w.Helper()
	var err error
	w.from, err = local.End(conn)
	w.must(err)
	keys := w.conf.Destinations[w.name]
	keys["canal.instance.master.journal.name"], keys["canal.instance.master.position"] = w.from.File, fmt.Sprint(w.from.Offset)
}

// laterServer is an address where the database server answers only after listen was called.
func (w *world) laterServer() (addr string, listen func()) {
	port, err := local.FreePort()
	w.must(err)
	addr = fmt.Sprint("127.0.0.1:", port)
	server, err := w.Server(w.server)
	w.must(err)
	return addr, func() {
		l, err := net.Listen("tcp", addr)
		w.must(err)
		w.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				from, err := l.Accept()
				if err != nil {
					return
				}
				to, err := net.Dial("tcp", server)
				if err != nil {
					_ = from.Close()
					continue
				}
				go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
				go func() { _, _ = io.Copy(from, to); _ = from.Close() }()
			}
		}()
	}
}

func (w *world) account(user, password, rights string) {
	w.Helper()
	conn := w.admin()
	w.exec(conn, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password), fmt.Sprintf("GRANT %s ON *.* TO '%s'@'%%'", rights, user))
	w.Cleanup(func() { _ = local.Exec(conn, "DROP USER '"+user+"'@'%'") })
}

func (w *world) widen(topic string) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.Kafka))
	w.must(err)
	defer cl.Close()
	answers, err := kadm.NewClient(cl).UpdatePartitions(w.Context(), 4, topic)
	w.must(err)
	w.must(answers.Error())
}

func (w *world) zookeeper() *zk.Conn {
	w.Helper()
	conn, _, err := zk.Connect([]string{w.ZooKeeper}, 30*time.Second, zk.WithLogInfo(false))
	w.must(err)
	return conn
}

func cursorPath(destination string) string {
	return "/otter/canal/destinations/" + destination + "/1001/cursor"
}

// putCursor writes a destination's cursor node; an empty text deletes it.
func (w *world) putCursor(destination, text string) {
	w.Helper()
	conn := w.zookeeper()
	defer conn.Close()
	path := cursorPath(destination)
	for i := range path {
		if i > 0 && path[i] == '/' {
			if _, err := conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && err != zk.ErrNodeExists {
				w.Fatal(err)
			}
		}
	}
	_ = conn.Delete(path, -1)
	if text != "" {
		_, err := conn.Create(path, []byte(text), 0, zk.WorldACL(zk.PermAll))
		w.must(err)
	}
}

// canalCursor is the end of the binlog as Canal would write it.
func (w *world) canalCursor() string {
	end, err := local.End(w.admin())
	w.must(err)
	addr, err := w.Server(w.server)
	w.must(err)
	_, port, err := net.SplitHostPort(addr)
	w.must(err)
	return fmt.Sprintf(`{"@type":"com.alibaba.otter.canal.protocol.position.LogPosition","identity":{"slaveId":-1,"sourceAddress":{"address":"localhost","port":%s}},`+
		`"postion":{"gtid":"","included":false,"journalName":"%s","position":%d,"serverId":1,"timestamp":1700000000000}}`, port, end.File, end.Offset)
}
