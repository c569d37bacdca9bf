package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/cmd/internal/alarm"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/relay/filter"
	"github.com/canal-relay/canal-relay/relay/position"
)

func (p *program) serveCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node (the default command)",
		Long: `Run a node until SIGTERM or SIGINT: it campaigns for every destination of the
configuration, and reads and produces for those that it is elected for.

What the files alone show to be wrong ends it with exit code 2 before a server
is touched. What needs a server is that destination's state: it is shown on the
page, in /status, in the metrics and in the log, and tried again.`,
		Example: "  canal-relay serve --conf /etc/canal-relay",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.serve(cmd.Context(), dir)
		},
	}
	confFlag(cmd, &dir)
	return cmd
}

// confFlag adds the flag that every command has.
func confFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "conf", "conf", "folder with canal.properties and a folder for each destination")
}

func (p *program) serve(ctx context.Context, dir string) error {
	node, findings, err := config.Load(dir, p.env)
	if err != nil {
		return usage(err)
	}
	n := newNode(node, logger(p.stderr, node.LogJSON))
	n.report(findings)
	if err := n.run(ctx); err != nil {
		return failed(err)
	}
	return nil
}

func logger(w io.Writer, json bool) *slog.Logger {
	if json {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// node is a running process: what it shares between its destinations.
type node struct {
	config  *config.Node
	log     *slog.Logger
	metrics *metrics.Metrics
	zk      *zookeeper.Client // nil with static election
	alarm   *alarm.Alarm      // nil without a webhook

	destinations []*destination
}

// destination is one destination on this node.
type destination struct {
	instance *config.Instance
	monitor  *ha.Monitor
	metrics  *metrics.Destination
	cursor   *notedCursor
}

func newNode(c *config.Node, log *slog.Logger) *node {
	n := &node{config: c, log: log, metrics: metrics.New()}
	n.metrics.Version, n.metrics.Pprof = version, c.Pprof
	n.metrics.User, n.metrics.Password = c.HTTPUser, c.HTTPPassword.Reveal()
	n.metrics.Ready = n.ready
	if c.Webhook != "" {
		n.alarm = alarm.New(c.Webhook.Reveal(), log)
	}
	if c.ZooKeeper != "" {
		n.zk = zookeeper.New(zookeeperConfig(c), log)
	}
	return n
}

func zookeeperConfig(c *config.Node) zookeeper.Config {
	zk := zookeeper.DefaultConfig()
	zk.Servers, zk.ID, zk.SessionTimeout = c.ZooKeeper, c.Identity, c.SessionTimeout
	zk.Auth, zk.TLS = c.ZooKeeperAuth.Reveal(), c.ZooKeeperTLS
	zk.Reserve = ha.DefaultConfig().For(c.SessionTimeout).Reserve()
	return zk
}

// report says once what becomes of the keys that are not simply honoured.
func (n *node) report(findings []config.Finding) {
	honoured := 0
	for _, f := range findings {
		if f.Verdict == keys.Honoured {
			honoured++
			continue
		}
		n.log.Warn("configuration", "where", f.Where, "key", f.Key, "verdict", string(f.Verdict), "note", f.Note)
	}
	n.log.Info("node starts", "version", version, "identity", n.config.Identity, "destinations", len(n.config.Instances), "keys honoured", honoured)
}

// run runs the node until the context ends: the destinations first let go of
// what they own, then the session ends with which they owned it.
//
// A term that does not stop in time ends the process at once, without waiting
// for anybody: it may still write, and only the end of the process prevents
// that before another node owns its destination. The session is left to expire.
func (n *node) run(ctx context.Context) error {
	if err := n.build(); err != nil {
		return err
	}
	debug.SetGCPercent(gcPercent)
	session, endSession := context.WithCancel(context.WithoutCancel(ctx))
	defer endSession()
	var around, monitors errgroup.Group
	around.Go(func() error { n.web(session); return nil })
	if n.alarm != nil {
		around.Go(func() error { n.alarm.Run(session); return nil })
	}
	if n.zk != nil {
		around.Go(func() error { return n.zk.Run(session) })
	}
	stuck := make(chan error, len(n.destinations))
	for _, d := range n.destinations {
		monitors.Go(func() error {
			err := d.monitor.Run(ctx)
			if errors.Is(err, ha.ErrExitTimeout) {
				stuck <- fmt.Errorf("destination %s: %w", d.instance.Name, err)
			}
			return err
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- monitors.Wait() }()
	select {
	case err := <-stuck:
		return err
	case err := <-ended:
		endSession()
		return errors.Join(err, around.Wait())
	}
}

// gcPercent trades some CPU for memory: a relay's heap is mostly the bytes that it is bounded by.
const gcPercent = 50

// web serves the pages; a port that cannot be had is no reason to end the node.
func (n *node) web(ctx context.Context) {
	if err := n.metrics.Serve(ctx, n.config.HTTP, n.status); err != nil {
		n.log.Warn("no metrics and no status page", "error", err)
	}
}

func (n *node) build() error {
	for i := range n.config.Instances {
		d, err := n.destination(&n.config.Instances[i])
		if err != nil {
			return fmt.Errorf("destination %s: %w", n.config.Instances[i].Name, err)
		}
		n.destinations = append(n.destinations, d)
	}
	return nil
}

func (n *node) destination(i *config.Instance) (*destination, error) {
	d := &destination{instance: i, metrics: n.metrics.Destination(i.Name)}
	log := n.log.With("destination", i.Name)
	for key, list := range map[string]string{"regex": i.Filter.Regex, "black.regex": i.Filter.BlackRegex} {
		if torn := filter.Torn(list); torn != "" {
			log.Warn("configuration", "key", "canal.instance.filter."+key, "note", tornText(torn))
		}
	}
	routing := i.Starter.Routing
	if i.ExactlyOnce != nil {
		i.ExactlyOnce.Routing = routing
	}
	var elector ha.Elector = ha.Static{}
	d.cursor = &notedCursor{Cursor: position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, routing)}
	if n.zk != nil {
		pauses := zookeeper.DefaultElectorConfig()
		pauses.TakeoverDelay = i.TakeoverDelay
		elector = n.zk.Elector(i.Name, pauses)
		d.cursor.Cursor = &importedCursor{
			Cursor: n.zk.Cursor(i.Name, zookeeper.CursorConfig{GTIDOn: i.Relay.GTID, Routing: routing}),
			file:   position.NewFile(i.MetaFile, i.Name, i.Relay.GTID, routing), path: i.MetaFile, log: log}
		i.Kafka.Allowed = func() bool { return n.zk.Holds(i.Name) }
		if i.ExactlyOnce != nil {
			i.ExactlyOnce.Identity = n.zk.Identity
		}
	}
	s, err := newStarter(n.config, i, d.cursor, d.metrics, log)
	if err != nil {
		return nil, err
	}
	d.monitor = ha.NewMonitor(i.Name, elector, s, i.HA, n.log)
	if n.alarm != nil {
		d.monitor.Changed = func(role ha.Role, reason string) {
			n.alarm.Tell(alarm.Change{Node: n.config.Identity, Cluster: n.config.Cluster, Destination: i.Name,
				State: string(role), Reason: reason, Time: time.Now()})
		}
	}
	return d, nil
}

// ready tells why the node could not take work; a standby is ready.
func (n *node) ready() error {
	if n.zk != nil && !n.zk.Connected() {
		return errors.New("there is no ZooKeeper session")
	}
	if n.zk != nil {
		if err := n.zk.Shared(); err != nil {
			return err
		}
	}
	for _, d := range n.destinations {
		if role, _, _ := d.monitor.State(); role == ha.Stopped {
			return fmt.Errorf("destination %s is not watched yet", d.instance.Name)
		}
	}
	return nil
}

// status is what the page and /status show.
func (n *node) status() []metrics.Status {
	all := make([]metrics.Status, 0, len(n.destinations))
	for _, d := range n.destinations {
		role, since, reason := d.monitor.State()
		s := metrics.Status{Destination: d.instance.Name, State: metrics.State(role), Since: since, Reason: reason}
		if role == ha.Active {
			s.Owner, s.Position = n.config.Identity, d.cursor.String()
		}
		all = append(all, s)
	}
	return all
}
