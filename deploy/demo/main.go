// Demo shows the relay at work on real servers: two nodes, changes of all
// kinds, the messages as a consumer reads them, the active node killed while
// changes go on, and the proof that every change arrived, in order.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/canal-relay/canal-relay/deploy/local"
)

const (
	destination = "demo"
	topic       = "demo"
)

func main() {
	bin := flag.String("bin", "bin/canal-relay", "the relay's binary")
	dir := flag.String("dir", ".stack/demo/relay", "where the nodes' configuration and logs go")
	keep := flag.Bool("keep", false, "leave the nodes running at the end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &demo{bin: *bin, dir: *dir, keep: *keep}
	if err := d.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type demo struct {
	bin, dir string
	keep     bool
	stack    local.Stack
	server   string // mysql or mariadb
	nodes    []*local.Node
	kept     bool // everything went well and is to be left running
}

func (d *demo) run(ctx context.Context) error {
	if err := d.servers(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	defer d.end()
	conn, err := d.stack.Admin(d.server)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := local.Exec(conn, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop"); err != nil {
		return err
	}
	from, err := local.End(conn)
	if err != nil {
		return err
	}
	if err := d.startNodes(ctx, from); err != nil {
		return err
	}
	say("Applying DDL and a few hundred changes of all kinds to %s.", d.server)
	if err := firstChanges(conn); err != nil {
		return err
	}
	if err := d.showMessages(ctx); err != nil {
		return err
	}
	if err := d.killActive(ctx); err != nil {
		return err
	}
	if err := d.prove(ctx, from); err != nil {
		return err
	}
	d.kept = d.keep
	return nil
}

// servers reads the stack's addresses; a Kafka that cannot be had is replaced by an in-process broker.
func (d *demo) servers() error {
	var err error
	if d.stack, err = local.FromEnv(); err != nil {
		return err
	}
	d.server = "mysql"
	if d.stack.MySQL == "" {
		d.server = "mariadb"
	}
	if d.stack.Kafka == "" {
		say("Kafka cannot be had here: an in-process stand-in (kfake) serves instead.")
		broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation())
		if err != nil {
			return err
		}
		d.stack.Kafka = broker.ListenAddrs()[0]
	}
	return nil
}

func (d *demo) startNodes(ctx context.Context, from local.Mark) error {
	addr, err := d.stack.Server(d.server)
	if err != nil {
		return err
	}
	conf := local.Conf{
		Server: map[string]string{"canal.zkServers": d.stack.ZooKeeper, "kafka.bootstrap.servers": d.stack.Kafka},
		Destinations: map[string]map[string]string{destination: {
			"canal.instance.master.address": addr, "canal.instance.dbUsername": d.stack.User, "canal.instance.dbPassword": d.stack.Password,
			"canal.instance.master.journal.name": from.File, "canal.instance.master.position": fmt.Sprint(from.Offset),
			"canal.instance.filter.regex": `shop\..*`, "canal.mq.topic": topic, "canal.mq.partition": "0"}},
		Detached: d.keep,
	}
	say("Starting two nodes of the relay for the destination %q.", destination)
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(d.dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(d.dir, name+".log"))
		if err != nil {
			return err
		}
		defer log.Close()
		node, err := local.StartNode(d.bin, dir, conf, log)
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, node)
		if err := os.WriteFile(filepath.Join(d.dir, name+".pid"), fmt.Appendln(nil, node.PID()), 0o644); err != nil {
			return err
		}
		fmt.Printf("    node %s: status page http://%s/, metrics http://%s/metrics, log %s\n", name, node.HTTP, node.HTTP, log.Name())
	}
	active, err := local.WaitActive(ctx, destination, d.nodes...)
	if err != nil {
		return err
	}
	fmt.Printf("    active: %s; the other one stands by\n", active.Address)
	return nil
}

// end stops the nodes, or tells where they are if they are to be kept.
func (d *demo) end() {
	if d.kept {
		d.tell()
		return
	}
	for _, n := range d.nodes {
		_ = n.Stop(syscall.SIGTERM, 15*time.Second)
	}
}

// killActive kills the active node with SIGKILL in the middle of changes and waits until the other one took over.
func (d *demo) killActive(ctx context.Context) error {
	active, err := local.WaitActive(ctx, destination, d.nodes...)
	if err != nil {
		return err
	}
	other := d.nodes[0]
	if other == active {
		other = d.nodes[1]
	}
	say("Killing the active node %s with SIGKILL while changes go on.", active.Address)
	writing := make(chan error, 1)
	stop := make(chan struct{})
	go func() { writing <- d.writeOn(stop) }()
	time.Sleep(300 * time.Millisecond) // so that it dies in the middle of something
	began := time.Now()
	_ = active.Stop(syscall.SIGKILL, time.Second)
	if _, err := local.WaitActive(ctx, destination, other); err != nil {
		return err
	}
	fmt.Printf("    active now: %s, after %.1f s\n", other.Address, time.Since(began).Seconds())
	close(stop)
	return <-writing
}

// tell says what is still running.
func (d *demo) tell() {
	for _, n := range d.nodes {
		select {
		case <-n.Done():
		default:
			say("Still running: status page http://%s/, metrics http://%s/metrics", n.HTTP, n.HTTP)
		}
	}
	addr, _ := d.stack.Server(d.server)
	fmt.Printf("    %s %s (user root, no password, database shop), Kafka %s (topic %s), ZooKeeper %s\n",
		d.server, addr, d.stack.Kafka, topic, d.stack.ZooKeeper)
}

func say(format string, args ...any) { fmt.Printf("==> "+format+"\n", args...) }
