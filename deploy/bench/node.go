package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"syscall"
	"time"

	"github.com/canal-relay/canal-relay/deploy/local"
)

// node is a fresh node with a folder, topics and a log of its own.
type node struct {
	*local.Node
	topic string
	log   *os.File
	clean []func() error
}

// start runs a node with one active destination, whose name is its topic's, and
// which reads the binlog from a mark on; more are idle ones.
func (b *bench) start(ctx context.Context, name, mode string, from local.Mark, more int) (*node, error) {
	n := &node{topic: fmt.Sprintf("bench-%s-%d", name, time.Now().UnixNano())}
	if err := b.launch(ctx, n, mode, from, more); err != nil {
		if n.log != nil {
			err = fmt.Errorf("%w (its log: %s)", err, n.log.Name())
			n.log = nil
		}
		return nil, errors.Join(err, n.end())
	}
	return n, nil
}

func (b *bench) launch(ctx context.Context, n *node, mode string, from local.Mark, more int) error {
	stack, after := b.stack, context.WithoutCancel(ctx)
	dir, err := os.MkdirTemp("", "canal-relay-bench")
	if err != nil {
		return err
	}
	n.clean = append(n.clean, func() error { return os.RemoveAll(dir) })
	if err := stack.CreateTopic(ctx, n.topic, 1); err != nil {
		return fmt.Errorf("create topic %s: %w", n.topic, err)
	}
	for _, of := range []string{n.topic, n.topic + "-positions", n.topic + "-schema"} {
		n.clean = append(n.clean, func() error { return stack.DeleteTopic(after, of) })
	}
	server := map[string]string{"canal.zkServers": stack.ZooKeeper, "kafka.bootstrap.servers": stack.Kafka,
		"canal.relay.http.pprof": fmt.Sprint(b.profile != ""), "canal.relay.delivery": mode, "canal.relay.cluster": n.topic}
	maps.Copy(server, b.settings)
	conf := local.Conf{Server: server, Destinations: map[string]map[string]string{n.topic: b.instance(n.topic, `bench\..*`, from)}}
	for i := range more {
		name := fmt.Sprintf("%s-idle-%d", n.topic, i)
		conf.Destinations[name] = b.instance(n.topic, `nowhere\..*`, from)
	}
	if n.log, err = os.CreateTemp("", "canal-relay-bench-*.log"); err != nil {
		return err
	}
	if n.Node, err = local.StartNode(b.bin, dir, conf, n.log); err != nil {
		return err
	}
	for destination := range conf.Destinations {
		if _, err := local.WaitActive(ctx, destination, n.Node); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) instance(topic, tables string, from local.Mark) map[string]string {
	return map[string]string{
		"canal.instance.master.address": b.stack.MySQL, "canal.instance.dbUsername": b.stack.User, "canal.instance.dbPassword": b.stack.Password,
		"canal.instance.master.journal.name": from.File, "canal.instance.master.position": fmt.Sprint(from.Offset),
		"canal.instance.filter.regex": tables, "canal.mq.topic": topic, "canal.mq.partition": "0"}
}

// stop ends the node in good order.
func (n *node) stop() error {
	if err := n.Stop(syscall.SIGTERM, 20*time.Second); err != nil {
		return fmt.Errorf("stop the node: %w (its log: %s)", err, n.log.Name())
	}
	return nil
}

// end kills the node if it runs, and removes what was made for it. The log stays
// when the node did not end in good order.
func (n *node) end() error {
	var err error
	if n.Node != nil {
		err = n.Stop(syscall.SIGKILL, time.Second)
	}
	if n.log != nil {
		if err == nil {
			err = os.Remove(n.log.Name())
		}
		err = errors.Join(err, n.log.Close())
	}
	for _, f := range n.clean {
		err = errors.Join(err, f())
	}
	return err
}
