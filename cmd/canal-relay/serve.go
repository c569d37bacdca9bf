package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/canal-relay/canal-relay/cmd/internal/alarm"
	"github.com/canal-relay/canal-relay/cmd/internal/assembly"
	"github.com/canal-relay/canal-relay/cmd/internal/config"
	"github.com/canal-relay/canal-relay/cmd/internal/config/keys"
	"github.com/canal-relay/canal-relay/cmd/internal/config/scan"
	"github.com/canal-relay/canal-relay/cmd/internal/flags"
	"github.com/canal-relay/canal-relay/cmd/internal/kept"
	"github.com/canal-relay/canal-relay/cmd/internal/pausing"
	"github.com/canal-relay/canal-relay/ha"
	"github.com/canal-relay/canal-relay/ha/zookeeper"
	"github.com/canal-relay/canal-relay/metrics"
	"github.com/canal-relay/canal-relay/relay/filter"
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
	flags.Conf(cmd, &dir)
	return cmd
}

func (p *program) serve(ctx context.Context, dir string) error {
	node, findings, scanner, err := scan.Open(ctx, dir, p.env, true)
	if err != nil {
		return usage(err)
	}
	n := newNode(node, logger(p.stderr, node.LogJSON))
	n.scanner = scanner
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

	scanner      *scan.Scanner // nil: the configuration is not looked at again
	destinations *supervisor
}

// destination is one destination on this node.
type destination struct {
	instance *config.Instance
	monitor  *ha.Monitor // nil where the destination is lazy
	elector  ha.Elector
	metrics  *metrics.Destination
	cursor   *assembly.Cursor
	paused   atomic.Pointer[zookeeper.Pause] // of the running term
	kept     atomic.Pointer[kept.Kept]       // for how long the source keeps the stored position
	watch    func(context.Context, chan<- *zookeeper.Pause) error
	log      *slog.Logger
	cancel   context.CancelCauseFunc
}

// run watches the destination until the context ends. A lazy one is only shown.
func (d *destination) run(ctx context.Context) error {
	if d.monitor != nil {
		return d.monitor.Run(ctx)
	}
	r, ok := d.elector.(ha.Registrar)
	if !ok {
		return nil
	}
	if err := r.Register(ctx); err != nil {
		return fmt.Errorf("register for the destination: %w", err)
	}
	<-ctx.Done()
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.instance.HA.ResignTimeout)
	defer cancel()
	return r.Unregister(leaving)
}

func newNode(c *config.Node, log *slog.Logger) *node {
	n := &node{config: c, log: log, metrics: metrics.New(), destinations: newSupervisor(log)}
	n.destinations.build, n.destinations.reload, n.destinations.forget = n.destination, n.reload, n.metrics.Forget
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
	zk.Auth, zk.AuthAgain = c.ZooKeeperAuth.Reveal(), c.ZooKeeperAuthAgain
	zk.TLS, zk.TLSAgain = c.ZooKeeperTLS, c.ZooKeeperTLSAgain
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
	monitors := n.destinations
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := monitors.apply(ctx, scan.First(n.config)); err != nil {
		stop()
		monitors.running.Wait()
		return err
	}
	debug.SetGCPercent(gcPercent)
	session, endSession := context.WithCancel(context.WithoutCancel(ctx))
	defer endSession()
	var around errgroup.Group
	around.Go(func() error { n.web(session); return nil })
	if n.alarm != nil {
		around.Go(func() error { n.alarm.Run(session); return nil })
	}
	if n.zk != nil {
		around.Go(func() error { return n.zk.Run(session) })
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if n.scanner != nil {
			monitors.watch(ctx, n.scanner, n.config.Scan)
		} else {
			<-ctx.Done()
		}
		monitors.running.Wait()
	}()
	select {
	case err := <-monitors.stuck:
		return err
	case <-ended:
		endSession()
		return around.Wait()
	}
}

// gcPercent trades some CPU for memory: a relay's heap is mostly the bytes that it is bounded by.
const gcPercent = 36

// web serves the pages; a port that cannot be had is no reason to end the node.
func (n *node) web(ctx context.Context) {
	if err := n.metrics.Serve(ctx, n.config.HTTP, n.status); err != nil {
		n.log.Warn("no metrics and no status page", "error", err)
	}
}

// destination builds a destination that does not run yet.
func (n *node) destination(i *config.Instance) (*destination, error) {
	d := &destination{instance: i, metrics: n.metrics.Destination(i.Name), elector: ha.Static{}, log: n.log.With("destination", i.Name)}
	if n.zk != nil {
		pauses := zookeeper.DefaultElectorConfig()
		pauses.TakeoverDelay, pauses.Lazy = i.TakeoverDelay, i.Lazy
		d.elector = n.zk.Elector(i.Name, pauses)
		d.watch = n.zk.Pauses(i.Name).Watch
	}
	if i.Lazy {
		return d, nil
	}
	s, err := n.starter(d, i)
	if err != nil {
		return nil, err
	}
	d.monitor = ha.NewMonitor(i.Name, d.elector, s, i.HA, n.log)
	if n.alarm != nil {
		d.monitor.Changed = func(role ha.Role, reason string) {
			n.alarm.Tell(alarm.Change{Node: n.config.Identity, Cluster: n.config.Cluster, Destination: i.Name,
				State: string(role), Reason: reason, Time: time.Now()})
		}
	}
	return d, nil
}

// reload gives a destination the starter of another configuration. It keeps the
// running node.
func (n *node) reload(d *destination, i *config.Instance) error {
	s, err := n.starter(d, i)
	if err != nil {
		return err
	}
	if e, ok := d.elector.(*zookeeper.Elector); ok {
		e.Delay(i.TakeoverDelay)
	}
	d.monitor.Reload(s)
	return nil
}

// starter builds what runs the terms of a destination with a configuration.
func (n *node) starter(d *destination, i *config.Instance) (ha.Starter, error) {
	for key, list := range map[string]string{"regex": i.Filter.Regex, "black.regex": i.Filter.BlackRegex} {
		if torn := filter.Torn(list); torn != "" {
			d.log.Warn("configuration", "key", "canal.instance.filter."+key, "note", tornText(torn))
		}
	}
	routing := i.Starter.Routing
	if i.ExactlyOnce != nil {
		i.ExactlyOnce.Routing = routing
	}
	cursor := assembly.NewCursor(n.zk, i, d.log)
	if n.zk != nil {
		i.Kafka.Allowed = func() bool { return n.zk.Holds(i.Name) }
		if i.ExactlyOnce != nil {
			i.ExactlyOnce.Identity = n.zk.Identity
		}
	}
	s, err := assembly.NewStarter(n.config, i, cursor, d.metrics, d.log)
	if err != nil {
		return nil, err
	}
	d.cursor = cursor
	look := func(ctx context.Context) {
		k := kept.Of(ctx, i, cursor.Last())
		d.kept.Store(&k)
	}
	return &pausing.Starter{Starter: s, Watch: d.watch, Shown: &d.paused, Drain: i.HA.DrainTimeout, Look: look, Log: d.log}, nil
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
	var err error
	n.destinations.each(func(name string, d *destination, _ string) {
		if d == nil || d.monitor == nil {
			return
		}
		if role, _, _ := d.monitor.State(); role == ha.Stopped && err == nil {
			err = fmt.Errorf("destination %s is not watched yet", name)
		}
	})
	return err
}

// status is what the page and /status show.
func (n *node) status() []metrics.Status {
	all := []metrics.Status{}
	n.destinations.each(func(name string, d *destination, refused string) {
		s := metrics.Status{Destination: name, Refused: refused, Restart: n.destinations.restart}
		switch {
		case d == nil:
			s.State, s.Reason = metrics.Failed, "it has never run with a configuration that can work"
		case d.monitor == nil:
			s.State, s.Reason = metrics.Stopped, lazyNote
		default:
			n.describe(d, &s)
		}
		all = append(all, s)
	})
	return all
}

const lazyNote = "it is lazy: known here and not run, until canal.instance.global.lazy, or canal.instance.<name>.lazy, is false"

func (n *node) describe(d *destination, s *metrics.Status) {
	role, since, reason := d.monitor.State()
	s.State, s.Since, s.Reason = metrics.State(role), since, reason
	if role != ha.Active {
		return
	}
	s.Owner, s.Position = n.config.Identity, d.cursor.String()
	k := d.kept.Load()
	if k != nil {
		s.KeptUntil = k.Until
	}
	if p := d.paused.Load(); p != nil {
		s.State, s.Since, s.Reason = metrics.Paused, p.Since, p.String()
		if k != nil {
			s.Reason += "; " + k.String()
		}
	}
}
